"""How many answers differ where features are kept at 8 bit: the built-in model is asked the same twice.

    own_scene ─▶ window of 16-bit features ─▶ answers ─┐
             └─▶ window of int8 features   ─▶ answers ─┴▶ the share that differs, letter by letter

Scenes, questions and asking are those of the accuracy bench; each question stands alone, so that no earlier answer changes a later one.
A whole run asks a third time, at 16 bit: what differs then is chance (answers computed in other company).
"""

import asyncio
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from random import Random

from bench.accuracy import opened
from bench.accuracy_asking import SceneAsker
from bench.accuracy_scenes import RecordedScene, own_scene
from bench.accuracy_tally import Answered, wilson
from bench.report import Figure
from featcache.fill import Encoder
from featcache.narrow import NarrowEncoder
from models.builtin.wording import Asked
from models.decoder import Decoder

QUESTIONS, QUICK_QUESTIONS = 1_000, 200
EACH = 18
"""Questions about one scene."""

TOGETHER = 8
"""Questions at a time."""

_PATIENCE_S = 300.0
"""An answer that is given up on a busy machine would be counted as one that differs."""

_FIRST_SCENE = 3_000
"""Beyond those that the accuracy bench asks about."""


async def measure(*, quick: bool) -> list[Figure]:
    """Return the share of answers that differ, and how many are true at 16 and at 8 bit. Raises PartMissing."""
    wanted = QUICK_QUESTIONS if quick else QUESTIONS
    wide: list[Answered] = []
    narrow: list[Answered] = []
    again: list[Answered] = []
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        async with opened() as (decoder, encoder):
            number = _FIRST_SCENE
            making = loop.run_in_executor(pool, own_scene, number)
            while len(wide) < wanted:
                scene = await making
                making = loop.run_in_executor(pool, own_scene, number + 1)
                kinds = kinds_of(number)
                for answers, reader in ((wide, encoder), (narrow, NarrowEncoder(encoder)), (again, encoder)):
                    if answers is not again or not quick:
                        answers += await _answers(scene, kinds, str(number), decoder=decoder, encoder=reader)
                number += 1
            await making
    return figures(wide, narrow, again)


async def _answers(
    scene: RecordedScene, kinds: Sequence[Sequence[Asked]], name: str, *, decoder: Decoder, encoder: Encoder
) -> list[Answered]:
    """Return the answers about one scene, in the order of ``kinds``; what has no true answer is not asked."""
    if not scene.shots:
        return []
    asker = await SceneAsker.open(scene, decoder=decoder, encoder=encoder)
    asker.settings = replace(asker.settings, first_word_limit_s=_PATIENCE_S, stall_limit_s=_PATIENCE_S)
    room = asyncio.Semaphore(TOGETHER)

    async def one(number: int, some: Sequence[Asked]) -> list[Answered]:
        async with room:
            return await asker.converse(Random(f"int8 {name} {number}"), some, f"int8.{name}.{number}")

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(one(number, some), name=f"ask:{number}") for number, some in enumerate(kinds)
        ]
    return [answer for task in tasks for answer in task.result()]


def kinds_of(number: int) -> list[list[Asked]]:
    """Return what is asked about a scene, every kind as often as any other within one."""
    random = Random(f"int8 {number}")
    kinds: list[Asked] = []
    while len(kinds) < EACH:
        some = list(Asked)
        random.shuffle(some)
        kinds += some
    return [[kind] for kind in kinds[:EACH]]


def figures(wide: Sequence[Answered], narrow: Sequence[Answered], again: Sequence[Answered]) -> list[Figure]:
    """Return the rows; ``again`` may be empty. Raises ValueError where not the same was asked."""
    found = [differing("int8.differ", wide, narrow)]
    if again:
        found.append(differing("int8.differ_by_chance", wide, again))
    for name, answers in (("16bit", wide), ("8bit", narrow)):
        true = sum(answer.true for answer in answers)
        n = len(answers)
        found.append(Figure(f"int8.true.{name}", true / max(1, n), "share", wilson(true, n), n))
    return found


def differing(name: str, one: Sequence[Answered], other: Sequence[Answered]) -> Figure:
    """Return the share of questions whose two answers differ, with its 95 % interval (Wilson)."""
    if [answer.text for answer in one] != [answer.text for answer in other]:
        raise ValueError(f"{name}: not the same questions")
    n = len(one)
    differ = sum(a.given != b.given for a, b in zip(one, other, strict=True))
    return Figure(name, differ / max(1, n), "share", wilson(differ, n), n)
