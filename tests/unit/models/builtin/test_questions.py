from collections import Counter
from random import Random

from models.builtin.questions import clock_of, draw_conversations, draw_pack, draw_question
from models.builtin.scenes import scene_truth
from models.builtin.watched import UsedMoment, Watched
from models.builtin.wording import Asked, Tongue
from models.builtin.world import SECOND_US
from tests.support.toy_scenes import thing, watched


def _scene(seed: int, frames: int) -> Watched:
    times = [number * SECOND_US for number in range(frames)]
    truth = scene_truth(seed, 16 * SECOND_US)
    return Watched(truth, [UsedMoment(t_us, f"[09:10:{t_us // SECOND_US:02d}]") for t_us in times])


def test_a_pack_holds_different_questions_of_many_kinds_in_both_languages_without_empty_slots() -> None:
    kinds: Counter[Asked] = Counter()
    tongues: Counter[Tongue] = Counter()
    unseen = total = 0
    for seed in range(60):
        pack = draw_pack(Random(seed), _scene(seed, 8), 11)
        assert len({question.text for question in pack}) == len(pack) >= 8
        for question in pack:
            assert "{" not in question.text + question.answer
            kinds[question.kind] += 1
            tongues[question.tongue] += 1
            unseen += "not see" in question.answer or "没看到" in question.answer
            total += 1
    assert set(kinds) == set(Asked)
    assert min(tongues.values()) > 200
    assert unseen >= 0.10 * total


def test_a_single_frame_is_asked_about_what_one_frame_can_tell() -> None:
    packs = [draw_pack(Random(seed), _scene(seed, 1), 11) for seed in range(20)]
    kinds = {question.kind for pack in packs for question in pack}
    assert kinds.isdisjoint({Asked.WAY, Asked.MOVED})


def test_it_in_a_follow_up_stands_behind_what_it_means() -> None:
    packs = [draw_pack(Random(seed), _scene(seed, 8), 11) for seed in range(20)]
    follow_ups = [question for pack in packs for question in pack if question.history]
    assert follow_ups
    assert all("it" in q.text.lower().split() or "it?" in q.text or "它" in q.text for q in follow_ups)


def test_the_same_chance_gives_the_same_question() -> None:
    seen = watched(thing(1))
    first, again = (draw_question(Random(5), seen, Asked.SEE, Tongue.EN) for _ in range(2))
    assert first == again


def test_at_a_time_means_the_newest_used_frame_that_is_not_after_that_second() -> None:
    late = watched(thing(1), thing(2, "blue", "square", at=(0.1, 0.1), comes_s=2.5), frames_s=(0, 2, 2.4, 3))
    told = {}
    for seed in range(400):
        question = draw_question(Random(seed), late, Asked.SEE, Tongue.EN)
        if question and " at 14" in question.text:
            told[clock_of(question.text)] = "blue" in question.answer
    assert told == {"14:03:00": False, "14:03:01": False, "14:03:02": False, "14:03:03": True}


def test_conversations_hold_every_question_once() -> None:
    pack = draw_pack(Random(1), _scene(1, 8), 11)
    sizes = set()
    for seed in range(20):
        talks = draw_conversations(Random(seed), pack)
        assert sorted(question.text for talk in talks for question in talk) == sorted(q.text for q in pack)
        sizes |= {len(talk) for talk in talks}
    assert sizes == {1, 2, 3, 4, 5}
