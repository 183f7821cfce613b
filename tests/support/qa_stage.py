"""A stage for asking: one camera, a window in memory, a clock that moves when told, and whatever decoder a test brings.

stage = await Stage.open()
await stage.frames(count=15, step_us=SECOND_US)
answer = await stage.ask("what happened?")
assert answer.done.outcome is Outcome.OK
"""

from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from core.cameras import Camera, Source
from core.clock import ManualClock
from core.ids import CameraId, ConversationId, Incarnation, RequestId
from core.meter import NullMeter, TallyMeter
from core.records import Record
from core.spans import Span
from featcache.errors import UnknownCamera
from featcache.pool import MemoryPool
from featcache.settings import Settings
from featcache.window import FrameInfo
from models.decoder import Decoder
from qa import Asker, AskParts, AskSettings, Evidence
from qa.answers import Answer, AnswerDelta, AnswerDone, AnswerStarted, ExplicitWindow, Language, Question
from qa.language import language_of
from qa.when import When, read_when
from store.conversations import StoredTurn
from store.errors import UnknownConversation
from tests.support.windows import features_of, stored

BERLIN = ZoneInfo("Europe/Berlin")
GATE, YARD = CameraId("gate"), CameraId("yard")
LIFE = Incarnation("life1")
SECOND_US = 1_000_000
NOW = "2026-11-30 15:04:30"  # a Monday


def local_us(text: str, zone: ZoneInfo = BERLIN) -> int:
    """Return a wall time, such as "2026-11-30 14:03:05", as µs."""
    return round(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1_000_000)


def when(text: str, now: str = NOW, zone: ZoneInfo = BERLIN) -> When:
    """Return what a question in any language says about time."""
    return read_when(text, language=language_of(text), now_us=local_us(now, zone), zone=zone)


def spanning(start: str, end: str) -> Span:
    """Return a span of wall times in Berlin, of the day of ``NOW`` where no date is written."""
    full = [at if len(at) > 8 else f"{NOW[:10]} {at}" for at in (start, end)]
    return Span(local_us(full[0]), local_us(full[1]))


class FakeCameras:
    """Passes for the registry, as far as asking needs it."""

    def __init__(self, *ids: CameraId, zone: ZoneInfo = BERLIN) -> None:
        self._cameras = {
            camera_id: Camera(camera_id, str(camera_id), Source("rtsp://host/1"), zone, LIFE, 0)
            for camera_id in ids
        }

    def list(self) -> tuple[Camera, ...]:
        return tuple(self._cameras.values())

    def get(self, camera_id: CameraId) -> Camera:
        if camera_id not in self._cameras:
            raise UnknownCamera(camera_id)
        return self._cameras[camera_id]


class FakeConversations:
    """Keeps turns in a list; ``fail_with`` makes it refuse to store."""

    def __init__(self) -> None:
        self.turns: list[StoredTurn] = []
        self.fail_with: Exception | None = None

    async def append(self, turn: StoredTurn) -> None:
        if self.fail_with is not None:
            raise self.fail_with
        self.turns.append(turn)

    async def last(self, conversation: ConversationId, *, count: int = 8) -> tuple[StoredTurn, ...]:
        found = [turn for turn in self.turns if turn.conversation == conversation]
        if not found:
            raise UnknownConversation(conversation)
        return tuple(found[-count:])


@dataclass(frozen=True, slots=True)
class FakeMeasured:
    sentences: tuple[str, ...]
    frames: tuple[FrameInfo, ...]


class FakeWording:
    """Words a measured answer of two sentences that names the first frame given, and keeps what it was handed."""

    def __init__(self) -> None:
        self.evidence: list[tuple[Evidence, Language]] = []

    def __call__(self, evidence: Evidence, language: Language) -> FakeMeasured:
        self.evidence.append((evidence, language))
        if not evidence.frames:
            return FakeMeasured(("Nothing moved.",), ())
        first = evidence.frames[0]
        at = datetime.fromtimestamp(first.t_us // SECOND_US, evidence.zone)
        return FakeMeasured((f"Something moved at [{at:%H:%M:%S}].", "It left."), (first,))


@dataclass(frozen=True, slots=True)
class Answered:
    """One whole answer."""

    started: AnswerStarted
    deltas: tuple[AnswerDelta, ...]
    done: AnswerDone

    @property
    def text(self) -> str:
        return "".join(delta.text for delta in self.deltas)


@dataclass(slots=True)
class Stage:
    """Everything around an ``Asker``. ``decoder`` may be set, changed and taken away at any time."""

    window: MemoryPool
    clock: ManualClock
    cameras: FakeCameras
    decoder: Decoder | None = None
    settings: AskSettings = field(default_factory=AskSettings)
    conversations: FakeConversations = field(default_factory=FakeConversations)
    wording: FakeWording = field(default_factory=FakeWording)
    meter: TallyMeter = field(default_factory=TallyMeter)
    encoded: dict[RequestId, int] = field(default_factory=dict)
    seq: int = 0
    asked: int = 0

    @classmethod
    async def open(cls, *cameras: CameraId, decoder: Decoder | None = None, now: str = NOW) -> "Stage":
        """Return a stage with an empty window; one camera, ``gate``, if none is named."""
        ids = cameras or (GATE,)
        window = MemoryPool(Settings(), meter=NullMeter())
        for camera_id in ids:
            await window.open_camera(camera_id, LIFE)
        return cls(window, ManualClock(local_us(now)), FakeCameras(*ids), decoder)

    @property
    def now_us(self) -> int:
        return self.clock.now_us()

    async def frames(
        self,
        *,
        count: int = 15,
        step_us: int = SECOND_US,
        until_us: int | None = None,
        motion: float = 0.1,
        features: bool = False,
        camera_id: CameraId = GATE,
    ) -> list[int]:
        """Store frames, the last one a step before ``until_us`` (now); return their times."""
        end_us = self.now_us if until_us is None else until_us
        times = [end_us - (count - at) * step_us for at in range(count)]
        for t_us in times:
            frame = stored(
                t_us,
                camera_id=camera_id,
                seq=self.seq,
                motion=motion,
                jpeg=b"jpeg %d" % self.seq,
                features=features_of(seed=self.seq) if features else None,
            )
            await self.window.put(frame, incarnation=LIFE)
            self.seq += 1
        return times

    async def record(self, record: Record, camera_id: CameraId = GATE) -> None:
        await self.window.put_record(camera_id, record, incarnation=LIFE)

    def parts(self) -> AskParts:
        return AskParts(
            window=self.window,
            cameras=self.cameras,
            conversations=self.conversations,
            decoder=lambda: self.decoder,
            word_measured=self.wording,
            clock=self.clock,
            meter=self.meter,
            encoded_for=lambda request: self.encoded.get(request, 0),
        )

    def asker(self) -> Asker:
        return Asker(self.parts(), self.settings)

    def question(
        self,
        text: str = "what happened?",
        *,
        cameras: tuple[CameraId, ...] = (),
        window: ExplicitWindow | None = None,
        asked_at_us: int | None = None,
        conversation: ConversationId | None = None,
        max_tokens: int | None = None,
    ) -> Question:
        self.asked += 1
        return Question(
            RequestId(f"req_{self.asked}"),
            text,
            self.now_us,
            cameras,
            window,
            asked_at_us,
            conversation,
            max_tokens,
        )

    async def ask(self, question: "Question | str" = "what happened?") -> Answered:
        """Ask, and return the whole answer, having checked that it comes in the right order."""
        asked = self.question(question) if isinstance(question, str) else question
        values: list[Answer] = []
        async with aclosing(self.asker().ask(asked)) as answer:
            values = [value async for value in answer]
        started, *deltas, done = values
        assert isinstance(started, AnswerStarted)
        assert isinstance(done, AnswerDone)
        told = tuple(delta for delta in deltas if isinstance(delta, AnswerDelta))
        assert len(told) == len(deltas)
        return Answered(started, told, done)
