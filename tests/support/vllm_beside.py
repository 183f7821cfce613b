"""The engine of this process beside vLLM: the same questions about the same published frames, for comparison.

    asking = Asking("What is there?", now_us, camera_id)
    async with beside(served.redis_url, camera_id) as own:
        said = await own.ask(asking)                       # by the product's own prompt, features read from Redis
        heard = await ask(service.url, asking.wire())      # by vLLM
        assert heard.text == said.text

It computes in float32. ``own.prompt_of(asking)`` is what either decoder reads.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from bench.accuracy import opened
from core.clock import ServiceClock
from core.ids import CameraId, IdSource
from core.meter import NullMeter
from core.spans import Span
from featcache.fill import Encoder
from featcache.redis_reader import RedisReader
from featcache.redis_settings import RedisSettings
from featcache.window import FrameInfo
from models.chat import Cells, Rendered, render
from models.decoder import Decoder
from models.opening import read_builtin
from models.prompt import Prompt
from models.text import ChatText
from qa import Asker, AskParts, AskSettings
from qa.answers import AnswerDone, AnswerStarted, Question, UsedFrame
from qa.hear import hear
from qa.look import fetch
from qa.looks import look_at_all
from qa.measured import word_answer
from qa.show import Shown
from tests.support.asking import Json, rfc3339
from tests.support.qa_stage import FakeCameras, FakeConversations

UTC = ZoneInfo("UTC")
PATIENT = AskSettings(first_word_limit_s=120, stall_limit_s=120)
"""A busy machine is no reason for a measured answer where words are compared."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A question as both sides get it: its words, what is "now", and a span marked on the time line."""

    text: str
    now_us: int
    camera_id: CameraId
    span: Span | None = None

    def wire(self) -> Json:
        """Return it as a program sends it to the service."""
        asked: Json = {"cameras": [self.camera_id], "text": self.text, "asked_at": rfc3339(self.now_us)}
        if self.span is not None:
            asked["window"] = {"from": rfc3339(self.span.start_us), "to": rfc3339(self.span.end_us)}
        return asked


@dataclass(frozen=True, slots=True)
class Said:
    """A whole answer of the engine in this process."""

    started: AnswerStarted
    done: AnswerDone

    @property
    def text(self) -> str:
        return self.done.text

    @property
    def refs(self) -> list[str]:
        return [frame.ref for frame in self.started.frames]


@dataclass(frozen=True, slots=True)
class Beside:
    """Answers questions about published cameras, whose zone is UTC. Made by ``beside``."""

    reader: RedisReader
    decoder: Decoder
    encoder: Encoder
    cameras: FakeCameras
    text: ChatText
    ids: IdSource = field(default_factory=IdSource)

    async def ask(self, asking: Asking) -> Said:
        """Return the answer of this process, from the features that Redis holds."""
        async with aclosing(Asker(self._parts(), PATIENT).ask(self._question(asking))) as answer:
            values = [value async for value in answer]
        started, done = values[0], values[-1]
        assert isinstance(started, AnswerStarted)
        assert isinstance(done, AnswerDone)
        return Said(started, done)

    async def frames(self, asking: Asking) -> tuple[UsedFrame, ...]:
        """Return the frames that a question uses, without an answer."""
        return (await self._shown(asking)).frames

    async def prompt_of(self, asking: Asking) -> Prompt:
        """Return what a decoder reads of a question."""
        return (await self._shown(asking)).prompt()

    async def index(self, camera_id: CameraId, span: Span) -> tuple[FrameInfo, ...]:
        """Return the published frames of a span."""
        return await self.reader.index(camera_id, span)

    def rendered(self, prompt: Prompt) -> Rendered:
        """Return a prompt as tokens: whose they are, ours or vLLM's, a contract test compares."""
        cells = [Cells(f.grid[1] // 2, f.grid[2] // 2) for f in prompt.frames if f.grid is not None]
        return render(prompt, cells, text=self.text.encoder, tokens=self.text.tokens)

    async def _shown(self, asking: Asking) -> Shown:
        heard = await hear(self._question(asking), self._parts(), PATIENT)
        seen = await look_at_all(heard, self.reader, profile=self.decoder.profile)
        stored = await fetch(seen.chosen, self.reader, profile=self.decoder.profile)
        return Shown(heard, seen, self.decoder.profile.reads, stored)

    def _question(self, asking: Asking) -> Question:
        return Question(
            self.ids.request(), asking.text, asking.now_us, (asking.camera_id,), window=asking.span
        )

    def _parts(self) -> AskParts:
        return AskParts(
            window=self.reader,
            cameras=self.cameras,
            conversations=FakeConversations(),
            decoder=lambda: self.decoder,
            word_measured=word_answer,
            clock=ServiceClock(),
            ids=self.ids,
        )


@asynccontextmanager
async def beside(redis_url: str, *cameras: CameraId) -> AsyncIterator[Beside]:
    """Run the built-in model in this process, over what was published of these cameras."""
    reader = RedisReader(RedisSettings(url=redis_url), meter=NullMeter())
    text = ChatText.load(read_builtin())
    try:
        async with opened() as (decoder, encoder):
            yield Beside(reader, decoder, encoder, FakeCameras(*cameras, zone=UTC), text)
    finally:
        await reader.aclose()
