"""What the built-in model knows is its world, not our drawing code: scenes of another program are answered as truly."""

from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import aclosing

import pytest

from bench.accuracy import answered, opened
from bench.accuracy_scenes import RecordedScene
from bench.accuracy_tally import Answered, difference, tables
from featcache.fill import Encoder
from models.builtin.wording import Asked, Tongue
from models.decoder import Decoder
from tests.support.judged_scenes import foreign_scene, own_scene

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(240)]

SCENES = 30
LENGTHS = (1, 1, 1, 1, 1, 2)
WITHIN = 0.05


async def asked_about(
    make: Callable[[int], RecordedScene], *, decoder: Decoder, encoder: Encoder
) -> list[Answered]:
    """Return the judged answers about scenes of one maker; what to ask is the same for each maker."""
    found: list[Answered] = []
    async with aclosing(answered(make, SCENES, LENGTHS, decoder=decoder, encoder=encoder)) as scenes:
        async for _, some in scenes:
            found += some
    return found


def strata(answers: list[Answered], usual: set[tuple[Asked, str]]) -> Counter[tuple[Asked, bool]]:
    """Return how many answers there are of each kind, apart for what can be answered without looking and the rest."""
    return Counter((answer.kind, (answer.kind, answer.answer) in usual) for answer in answers)


def usual_answers(answers: list[Answered]) -> set[tuple[Asked, str]]:
    """Return the most frequent true answer of each kind and language."""
    counts: dict[tuple[Asked, Tongue], Counter[str]] = defaultdict(Counter)
    for answer in answers:
        counts[answer.kind, answer.tongue][answer.answer] += 1
    return {(kind, found.most_common(1)[0][0]) for (kind, _), found in counts.items()}


def shares(answers: list[Answered], *, like: list[Answered]) -> tuple[int, int]:
    """Return (right, asked), each stratum weighed as often as it stands in ``like``, so that ease does not count."""
    usual = usual_answers([*answers, *like])
    right = strata([answer for answer in answers if answer.exact], usual)
    asked = strata(answers, usual)
    weights = {stratum: count for stratum, count in strata(like, usual).items() if asked[stratum]}
    share = sum(count * right[stratum] / asked[stratum] for stratum, count in weights.items())
    return round(share / sum(weights.values()) * len(answers)), len(answers)


async def test_scenes_of_another_program_are_answered_within_five_points_of_our_own() -> None:
    """Judged so that chance does not fail it: the 95 % interval of the difference has to lie wholly above 5 points.

    Scenes, questions and greedy answers are the same in each run, so a result changes only with weights or code.
    """
    async with opened() as (decoder, encoder):
        foreign = await asked_about(foreign_scene, decoder=decoder, encoder=encoder)
        own = await asked_about(own_scene, decoder=decoder, encoder=encoder)
    print(f"another program's\n\n{tables(foreign)}\n\nour own\n\n{tables(own)}")
    assert min(len(foreign), len(own)) > 150
    ours, theirs = shares(own, like=foreign), shares(foreign, like=foreign)
    low, high = difference(ours, theirs)
    print(
        f"ours {ours[0]} of {ours[1]}, theirs {theirs[0]} of {theirs[1]}: {100 * low:.1f} to {100 * high:.1f}"
    )
    assert low <= WITHIN
