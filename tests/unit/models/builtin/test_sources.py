from core.ids import CameraId, make_frame_ref
from models.builtin.answering import Target, true_answer
from models.builtin.packing import PackedRow, pack
from models.builtin.questions import WORDS, AskedQuestion
from models.builtin.sources import SOURCE_KINDS, sources_of
from models.builtin.things import ThingColour, ThingShape
from models.builtin.vocabulary import build_tokenizer
from models.builtin.watched import UsedMoment, Watched
from models.builtin.wording import Asked, Tongue
from models.chat import Cells, ChatTokens
from models.prompt import FramePart
from tests.support.toy_scenes import SECOND, thing, watched

CELLS = Cells(2, 4)
TOKENIZER = build_tokenizer()
TOKENS = ChatTokens(1, 2, 3, 4, 5)
GOES = thing(1, "blue", "square", at=(0.6, 0.8), leaves_s=1.5)
COMES = thing(2, "green", "cross", at=(0.1, 0.1), to=(0.9, 0.1), comes_s=0.5, moves_s=(1, 3))
SCENE = watched(GOES, COMES, frames_s=(0, 1, 2, 3))
GREEN_CROSS = Target(ThingColour.GREEN, ThingShape.CROSS)


class _Text:
    def encode(self, text: str) -> list[int]:
        ids: list[int] = TOKENIZER.encode(text, add_special_tokens=False).ids
        return ids


def _offsets(text: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = TOKENIZER.encode(text, add_special_tokens=False).offsets
    return found


def _asked(
    kind: Asked, target: Target, seen: Watched = SCENE, *, tongue: Tongue = Tongue.EN
) -> AskedQuestion:
    answer = true_answer(kind, target, seen, WORDS[tongue])
    assert answer is not None
    return AskedQuestion(kind, tongue, target, "?", answer, last=len(seen.moments) - 1)


def _read(*questions: AskedQuestion) -> tuple[PackedRow, list[dict[str, list[tuple[str, int]]]]]:
    """Return the row, and by question and kind the words with the places that they are read from."""
    parts = [FramePart(m.label, make_frame_ref(CameraId("toy"), m.t_us)) for m in SCENE.moments]
    row = pack(parts, [(q,) for q in questions], [CELLS] * len(parts), text=_Text(), tokens=TOKENS)
    found: list[dict[str, list[tuple[str, int]]]] = [{} for _ in questions]
    for place, kind, origin in zip(*sources_of(SCENE, CELLS, questions, row, _offsets), strict=True):
        if not row.asked[place]:
            continue
        word = TOKENIZER.decode([int(row.wanted[place])]).strip()
        found[row.asked[place] - 1].setdefault(SOURCE_KINDS[kind], []).append((word, int(origin)))
    return row, found


def test_each_change_is_read_with_its_time_from_the_cell_where_it_shows() -> None:
    row, (found,) = _read(_asked(Asked.HAPPENED, Target()))
    came, left = row.frames[1], row.frames[2]
    assert [pair for pair in found["thing"] if pair[0] in ("green", "cross", "blue", "square")] == [
        ("green", came.start),
        ("cross", came.start),
        ("blue", left.start + 6),
        ("square", left.start + 6),
    ]
    assert found["second"] == [("01", came.start), ("02", left.start + 6)]
    assert found["minute"] == [("03", came.start), ("03", left.start + 6)]
    assert [origin for _, origin in found["tenth"]] == [came.start, left.start + 6]


def test_what_is_seen_is_read_from_the_cells_of_the_frame_that_counts_as_the_last() -> None:
    row, (now, before) = _read(
        _asked(Asked.SEE, Target()), _asked(Asked.SEE, Target(), SCENE.until(1), tongue=Tongue.ZH)
    )
    assert {origin for _, origin in now["thing"]} == {row.frames[3].start + 3}
    assert next(origin for _, origin in before["thing"]) == row.frames[1].start
    assert {origin for _, origin in before["thing"]} == {row.frames[1].start, row.frames[1].start + 6}


def test_a_way_is_read_where_the_thing_was_seen_last_and_a_place_where_it_is() -> None:
    row, (way, moved, place) = _read(
        _asked(Asked.WAY, GREEN_CROSS), _asked(Asked.MOVED, Target()), _asked(Asked.WHERE, GREEN_CROSS)
    )
    for found in (way, moved, place):
        assert {origin for _, origin in found["thing"]} == {row.frames[3].start + 3}


def test_the_time_of_the_last_picture_is_read_right_before_the_question() -> None:
    row, (found,) = _read(_asked(Asked.TIME, Target()))
    stem = int((row.groups == 0).sum()) - 1
    assert "thing" not in found
    assert found["second"] == [("03", stem)]


def test_when_something_came_is_read_from_the_frame_that_first_shows_it() -> None:
    row, (came, left) = _read(_asked(Asked.APPEARED, GREEN_CROSS), _asked(Asked.LEFT, GREEN_CROSS))
    assert came["second"] == [("01", row.frames[1].start)]
    assert {origin for _, origin in came["thing"]} == {row.frames[1].start}
    assert {origin for _, origin in left["thing"]} == {row.frames[3].start + 3}  # "It is still there."
    assert "second" not in left


def test_how_many_is_read_right_before_the_question_and_what_is_not_there_from_nowhere() -> None:
    row, (absent, reds, count) = _read(
        _asked(Asked.WHERE, Target(ThingColour.RED, ThingShape.CIRCLE)),
        _asked(Asked.HOW_MANY, Target(colour=ThingColour.RED)),
        _asked(Asked.HOW_MANY, Target()),
    )
    stem = int((row.groups == 0).sum()) - 1
    assert (absent, reds) == ({}, {})
    assert {origin for _, origin in count["thing"]} == {stem}


def test_every_cell_finds_the_second_and_the_tenth_in_its_frames_label() -> None:
    labels = ["[14:03:09]", "[2026-01-01 00:00:10.7]"]
    seen = Watched(SCENE.truth, [UsedMoment(n * SECOND, label) for n, label in enumerate(labels)])
    parts = [FramePart(m.label, make_frame_ref(CameraId("toy"), m.t_us)) for m in seen.moments]
    asked = _asked(Asked.TIME, Target(), seen)
    row = pack(parts, [(asked,)], [CELLS] * 2, text=_Text(), tokens=TOKENS)
    found: dict[str, set[tuple[int, str]]] = {}
    for place, kind, origin in zip(*sources_of(seen, CELLS, [asked], row, _offsets), strict=True):
        if SOURCE_KINDS[kind].startswith("label_"):
            frame = next(n for n, frame in enumerate(row.frames) if frame.start <= place < frame.end)
            word = TOKENIZER.decode([int(row.ids[origin])])
            found.setdefault(SOURCE_KINDS[kind], set()).add((frame, word))
    assert found == {"label_second": {(0, "09"), (1, "10")}, "label_tenth": {(0, "]"), (1, "7")}}


def test_a_change_finds_the_one_before_it_and_the_first_one_the_rows_first_token() -> None:
    row, _ = _read(_asked(Asked.HAPPENED, Target()))
    found = sources_of(SCENE, CELLS, [_asked(Asked.HAPPENED, Target())], row, _offsets)
    mine = found.kinds == SOURCE_KINDS.index("change_before")
    came, left = row.frames[1].start, row.frames[2].start + 6
    assert list(zip(found.places[mine], found.origins[mine], strict=True)) == [(came, 0), (left, came)]


def test_a_thing_here_or_gone_finds_itself_in_the_frame_before() -> None:
    asked = _asked(Asked.HAPPENED, Target())
    row, _ = _read(asked)
    found = sources_of(SCENE, CELLS, [asked], row, _offsets)
    mine = found.kinds == SOURCE_KINDS.index("thing_then")
    first, second, third, fourth = (frame.start for frame in row.frames)
    assert dict(zip(found.places[mine].tolist(), found.origins[mine].tolist(), strict=True)) == {
        second: second - 1,  # the cross is new
        second + 6: first + 6,
        third + 2: second,
        third + 6: second + 6,  # where the square was
        fourth + 3: third + 2,
    }


def test_a_thing_finds_the_one_before_it_in_its_frame_and_the_first_one_what_stands_before_the_frame() -> (
    None
):
    asked = _asked(Asked.HAPPENED, Target())
    row, _ = _read(asked)
    found = sources_of(SCENE, CELLS, [asked], row, _offsets)
    mine = found.kinds == SOURCE_KINDS.index("thing_before")
    in_second = [
        (int(place), int(origin))
        for place, origin in zip(found.places[mine], found.origins[mine], strict=True)
        if row.frames[1].start <= place < row.frames[1].end
    ]
    first = row.frames[1].start
    assert in_second == [(first, first - 1), (first + 6, first)]
