"""Questions of the accuracy bench asked twice: of the engine in this process, and of a vLLM that reads the same frames by id.

async with recorded(redis_url, scenes=10) as asked:          # scenes encoded, published, our own engine's answers
    compared = await asked.compare(vllm.url)                 # Compared(same, asked, different)
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from random import Random
from uuid import uuid4

from bench.accuracy import kinds_of, opened
from bench.accuracy_asking import LIFE, SceneAsker
from bench.accuracy_scenes import CAMERA, own_scene
from bench.accuracy_tally import Answered
from core.clock import ServiceClock
from core.meter import NullMeter
from core.spans import Span
from featcache.redis import RedisWindow
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from models.decoder import Decoder
from models.openai_settings import OpenAISettings
from models.opening import read_builtin
from models.vllm import VllmDecoder
from models.vllm_settings import VllmSettings
from tests.support.vllm_beside import PATIENT

_EVER = Span(0, 1 << 60)
_TOGETHER = 8
_SPARE = 3
"""Some drawn questions turn out to have no one answer, so more are drawn than asked."""


@dataclass(frozen=True, slots=True)
class Compared:
    """How many answers have the same words, and the others: question, our own engine's answer, vLLM's."""

    asked: int
    same: int
    true: int
    own_true: int
    different: tuple[tuple[str, str, str], ...]

    def __str__(self) -> str:
        lines = (f"{text}  {own!r}  {other!r}" for text, own, other in self.different)
        counts = (
            f"{self.same} of {self.asked} word for word, {self.true} true, our own engine {self.own_true}"
        )
        return "\n".join([*lines, counts])


@dataclass(frozen=True, slots=True)
class Recorded:
    """Scenes with the answers of the engine in this process."""

    scenes: Sequence[SceneAsker]
    own: Sequence[Answered]
    most: int

    async def compare(self, url: str) -> Compared:
        """Ask a vLLM at this address, without ``/v1``, the same questions."""
        decoder = VllmDecoder(
            VllmSettings(OpenAISettings(url)), clock=ServiceClock(), checkpoint=read_builtin()
        )
        await decoder.start()
        try:
            others = await _answers(self.scenes, decoder, most=self.most)
        finally:
            await decoder.aclose()
        pairs = list(zip(self.own, others, strict=True))
        assert all(own.text == other.text and own.frames == other.frames for own, other in pairs)
        different = tuple(
            (own.text, own.given, other.given) for own, other in pairs if own.given != other.given
        )
        return Compared(
            len(pairs),
            len(pairs) - len(different),
            sum(other.true for other in others),
            sum(own.true for own in self.own),
            different,
        )


@asynccontextmanager
async def recorded(redis_url: str, *, scenes: int, questions: int) -> AsyncIterator[Recorded]:
    """Draw scenes, encode and publish them, and ask our own engine.

    They are published under the bench's own camera, each scene at a time of its own: one test of a run uses it.
    """
    window = RedisWindow(
        RedisSettings(url=redis_url), settings=Settings(retention_us=1 << 55), meter=NullMeter()
    )
    await window.open_camera(CAMERA, LIFE)
    askers: list[SceneAsker] = []
    try:
        async with opened() as (decoder, encoder):
            for number in range(scenes):
                scene = await asyncio.to_thread(own_scene, number)
                asker = await SceneAsker.open(scene, decoder=decoder, encoder=encoder)
                infos = await asker.parts.window.index(CAMERA, _EVER)
                for frame in await asker.parts.window.fetch([info.ref for info in infos]):
                    await window.put(frame, incarnation=LIFE)
                askers.append(asker)
            own = await _answers(askers, decoder, most=questions)
        assert len(own) == questions
        yield Recorded(askers, own, questions)
        await window.delete_camera(CAMERA)
    finally:
        await window.aclose()


async def _answers(scenes: Sequence[SceneAsker], decoder: Decoder, *, most: int) -> list[Answered]:
    """Return the answers of a decoder; the same questions in the same order for each that reads the same frames."""
    room, run = asyncio.Semaphore(_TOGETHER), uuid4().hex

    async def one(number: int, at: int, asker: SceneAsker) -> list[Answered]:
        async with room:
            speaking = replace(
                asker,
                decoder=decoder,
                parts=replace(asker.parts, decoder=lambda: decoder),
                settings=PATIENT,
            )
            kinds = kinds_of(number, (1,) * per_scene)[at]
            name = f"{run}.{number}.{at}"  # no conversation goes on from another decoder's
            return await speaking.converse(Random(f"words {number}.{at}"), kinds, name)

    per_scene = -(-most // len(scenes)) + _SPARE
    wanted = [(n, at, asker) for n, asker in enumerate(scenes) for at in range(per_scene)]
    answers = await asyncio.gather(*(one(*each) for each in wanted))
    return [answer for some in answers for answer in some][:most]
