"""How true the built-in model is: fresh scenes, every kind of question, through the product's own encoder and decoder.

    own_scene (a process of its own) ──▶ ask_about: window, prompt, answers, judged ──▶ tables, figures with intervals

Scenes come from seeds that training refuses. Answers are compared letter by letter; beside that stands the share that is
true where the order of listed things and times within a second, or within the gap between used frames, do not count.
"""

import asyncio
import multiprocessing
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from random import Random

from bench.accuracy_asking import ask_about
from bench.accuracy_scenes import RecordedScene, own_scene
from bench.accuracy_tally import Answered, Shown, figures, tables
from bench.report import Figure
from bench.rig import PartMissing
from core.clock import ServiceClock
from core.meter import NullMeter
from featcache.fill import Encoder
from livelens.answering import EngineEncoder
from models import BuiltinModel, Engine, LocalModel, ModelNotLoadable, open_decoder
from models.builtin.architecture import FRAME_TOKENS, WINDOW_TOKENS
from models.builtin.watched import UsedMoment, Watched
from models.builtin.wording import Asked
from models.decoder import Decoder

SCENES, QUICK_SCENES = 2_000, 45
LEAST_ASKED, LEAST_SHARE = 120, 0.5
_LENGTHS, _QUICK_LENGTHS = (1, 1, 1, 2, 3), (1, 1, 1, 1, 1, 1, 1, 2, 2, 4)
"""Questions of each conversation about one scene."""

_AHEAD, _AT_ONCE = 6, 3


async def measure(
    *,
    quick: bool,
    scenes: int | None = None,
    folder: Path | None = None,
    tell: Callable[[str], None] = print,
) -> list[Figure]:
    """Return the judged shares; everything else is told as text.

    Args:
        scenes: How many; by default 2,000, in the quick form 45, with more questions about each.
        folder: Another checkpoint than the product's built-in model.
    Raises:
        PartMissing: the model cannot be loaded, or a full run did not ask enough of everything.
    """
    count = scenes or (QUICK_SCENES if quick else SCENES)
    lengths = _QUICK_LENGTHS if count < SCENES // 4 else _LENGTHS
    began = time.monotonic()
    answers: list[Answered] = []
    shown = Shown()
    async with opened(folder) as (decoder, encoder):
        asked = answered(own_scene, count, lengths, decoder=decoder, encoder=encoder)
        async with aclosing(asked) as scenes_asked:
            async for scene, some in scenes_asked:
                _show(shown, scene)
                answers += some
    least, what = shown.least_share()
    tell(f"{len(answers)} questions about {count} scenes in {time.monotonic() - began:.0f} s\n")
    tell(f"{tables(answers)}\n\nscenes showed\n{shown.told()}\nleast: {what}, {least:.2f} of an even share\n")
    if count >= SCENES:
        _check_spread(answers, least, what)
    return figures(answers)


@asynccontextmanager
async def opened(folder: Path | None = None) -> AsyncIterator[tuple[Decoder, Encoder]]:
    """Run the built-in model, or a checkpoint like it, in this process. Raises PartMissing."""
    choice = (
        BuiltinModel()
        if folder is None
        else LocalModel(str(folder), frame_tokens=FRAME_TOKENS, window_tokens=WINDOW_TOKENS)
    )
    with ThreadPoolExecutor(2, thread_name_prefix="pictures") as executor:
        try:
            engine = await asyncio.to_thread(
                open_decoder, choice, executor=executor, clock=ServiceClock(), meter=NullMeter()
            )
            assert isinstance(engine, Engine), "both choices are local models"
            await engine.start()
        except ModelNotLoadable as error:
            raise PartMissing(str(error)) from error
        try:
            version = engine.profile.encoder_version or ""
            yield engine, EngineEncoder(engine, version, str(engine.profile.frame_tokens), executor)
        finally:
            await engine.aclose()


def kinds_of(number: int, lengths: tuple[int, ...]) -> list[list[Asked]]:
    """Return the kinds to ask about a scene, by conversation: over all scenes each about equally often."""
    deck = _deck(number)
    return [[next(deck) for _ in range(length)] for length in lengths]


async def answered(
    make: Callable[[int], RecordedScene],
    count: int,
    lengths: tuple[int, ...],
    *,
    decoder: Decoder,
    encoder: Encoder,
) -> AsyncGenerator[tuple[RecordedScene, list[Answered]], None]:
    """Yield scenes 0 to ``count`` - 1 with their answers, in order; scenes are made ahead while others are asked about.

    Args:
        make: Makes a scene from its number, in a process of its own: a function of a module.
        lengths: Questions of each conversation about a scene.
    """
    loop = asyncio.get_running_loop()
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int, made: asyncio.Future[RecordedScene]) -> tuple[RecordedScene, list[Answered]]:
        scene = await made
        async with room:
            kinds = kinds_of(number, lengths)
            some = await ask_about(scene, kinds, name=str(number), decoder=decoder, encoder=encoder)
        return scene, some

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        async with asyncio.TaskGroup() as group:
            waiting: list[asyncio.Task[tuple[RecordedScene, list[Answered]]]] = []
            for number in range(count):
                made = loop.run_in_executor(pool, make, number)
                waiting.append(group.create_task(one(number, made), name=f"scene:{number}"))
                if len(waiting) >= _AHEAD:
                    yield await waiting.pop(0)
            for task in waiting:
                yield await task


def _deck(number: int) -> Iterator[Asked]:
    random = Random(f"kinds {number}")
    while True:
        kinds = list(Asked)
        random.shuffle(kinds)
        yield from kinds


def _show(shown: Shown, scene: RecordedScene) -> None:
    """Count what a scene's last frame shows."""
    if not scene.shots:
        return
    truth = scene.truth
    last = Watched(truth, [UsedMoment(scene.shots[-1].t_us - scene.start_us, "")])
    things = last.things()
    shown.objects[len(things)] += 1
    shown.colours.update(thing.colour for thing in things)
    shown.shapes.update(thing.shape for thing in things)
    shown.grounds[truth.ground] += 1
    shown.sizes[truth.width_px, truth.height_px] += 1


def _check_spread(answers: list[Answered], least: float, what: str) -> None:
    asked = {kind: sum(a.kind is kind and a.judged for a in answers) for kind in Asked}
    seldom = min(asked, key=lambda kind: asked[kind])
    if asked[seldom] < LEAST_ASKED:
        raise PartMissing(f"{LEAST_ASKED} questions of each kind: {seldom} was asked {asked[seldom]} times")
    if least < LEAST_SHARE:
        raise PartMissing(f"half an even share of everything: {what} has {least:.2f}")
