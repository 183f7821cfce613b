"""Stand-ins for everything the edges use, and a server that runs them for whoever works on the page.

.venv/bin/python -m tests.support.web_fakes --port 8080
"""

import argparse
import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit, urlunsplit
from zoneinfo import ZoneInfo

from fastapi import FastAPI

from core.cameras import Camera, CameraState, Credentials, ProbeReport, Source, StateReport, Transport
from core.channel import Channel, Overflow
from core.clock import Clock, ServiceClock
from core.errors import ErrorKind, ServiceError
from core.ids import CameraId, ConversationId, IdSource, Incarnation
from core.records import EpochClock
from core.spans import Span
from featcache.errors import UnknownCamera
from featcache.pool import MemoryPool
from featcache.settings import Settings as PoolSettings
from featcache.window import FrameInfo
from models.decoder import Finish, Usage
from qa.answers import (
    Answer,
    AnswerDelta,
    AnswerDone,
    AnswerStarted,
    AnswerUsage,
    Citation,
    Coverage,
    LastWindow,
    Outcome,
    Question,
    Timings,
    UsedFrame,
)
from qa.chat_values import ChatDone, ChatModel, ChatPiece, ChatQuestion, ChatValue
from qa.labels import local_time, time_label
from web.app import create_app
from web.metrics import ExportedMeter
from web.ports import CameraPatch, CameraStatus, NewCamera, Ports
from web.server import Server, listen
from web.settings import WebSettings

BERLIN = ZoneInfo("Europe/Berlin")
GATE = CameraId("gate")


class FakeCameraExists(ServiceError):
    code = "camera_exists"
    kind = ErrorKind.CONFLICT

    def __init__(self, camera_id: CameraId) -> None:
        super().__init__(f"there is a camera {camera_id!r} already")


class FakeSourceRefused(ServiceError):
    code = "source_refused"
    kind = ErrorKind.INVALID


def parse_source(
    url: str, *, username: str | None, password: str | None, transport: Transport, loop: bool
) -> Source:
    """Split a login out of the address, as the real parser does."""
    parts = urlsplit(url)
    if parts.scheme not in ("rtsp", "rtsps", "file"):
        raise FakeSourceRefused("the address must begin with rtsp://, rtsps:// or file:")
    login, _, netloc = parts.netloc.rpartition("@")
    name, _, secret = login.partition(":")
    name, secret = username or unquote(name), password or unquote(secret)
    credentials = Credentials(name, secret) if name or secret else None
    return Source(urlunsplit(parts._replace(netloc=netloc)), credentials, transport, loop)


class FakeRegistry:
    """Cameras in memory; ``set_state`` is what ingest would report, ``broken`` is raised by ``changes``."""

    def __init__(self, clock: Clock, window: MemoryPool) -> None:
        self._clock = clock
        self._window = window
        self._cameras: dict[CameraId, Camera] = {}
        self._statuses: dict[CameraId, CameraStatus] = {}
        self._listeners: set[Channel[tuple[CameraId, CameraStatus | None]]] = set()
        self.probed: list[Source] = []
        self.broken: Exception | None = None

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def list(self) -> tuple[Camera, ...]:
        return tuple(self._cameras[name] for name in sorted(self._cameras))

    def get(self, camera_id: CameraId) -> Camera:
        if camera_id not in self._cameras:
            raise UnknownCamera(camera_id)
        return self._cameras[camera_id]

    def status(self, camera_id: CameraId) -> CameraStatus:
        self.get(camera_id)
        return self._statuses[camera_id]

    async def add(self, new: NewCamera) -> Camera:
        if new.id in self._cameras:
            raise FakeCameraExists(new.id)
        now_us = self._clock.now_us()
        life = Incarnation(f"life-{new.id}-{now_us}")
        camera = Camera(new.id, new.name, new.source, new.zone, life, now_us, new.enabled)
        await self._window.open_camera(new.id, life)
        self._cameras[new.id] = camera
        state = CameraState.CONNECTING if new.enabled else CameraState.DISABLED
        self._statuses[new.id] = CameraStatus(StateReport(state, now_us), (), 0.0, None, "measured")
        self._tell(new.id)
        return camera

    async def update(self, camera_id: CameraId, patch: CameraPatch) -> Camera:
        camera = self.get(camera_id)
        changed = {
            name: getattr(patch, name)
            for name in ("name", "source", "zone", "enabled")
            if getattr(patch, name) is not None
        }
        self._cameras[camera_id] = replace(camera, **changed)
        self._tell(camera_id)
        return self._cameras[camera_id]

    async def remove(self, camera_id: CameraId) -> int:
        self.get(camera_id)
        del self._cameras[camera_id], self._statuses[camera_id]
        self._tell(camera_id)
        return await self._window.delete_camera(camera_id)

    async def probe(self, source: Source) -> ProbeReport:
        self.probed.append(source)
        return ProbeReport(True, "h264", 1280, 720, 25.0, jpeg=b"\xff\xd8probe\xff\xd9")

    def set_status(self, camera_id: CameraId, status: CameraStatus) -> None:
        self._statuses[camera_id] = status
        self._tell(camera_id)

    def set_state(self, camera_id: CameraId, state: CameraState) -> None:
        old = self._statuses[camera_id]
        report = replace(old.report, state=state, since_us=self._clock.now_us(), clock=EpochClock.MEDIA)
        self.set_status(camera_id, replace(old, report=report))

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[Channel[tuple[CameraId, CameraStatus | None]]]:
        if self.broken is not None:
            raise self.broken
        channel: Channel[tuple[CameraId, CameraStatus | None]] = Channel(64, Overflow.DROP_OLDEST)
        self._listeners.add(channel)
        try:
            yield channel
        finally:
            self._listeners.discard(channel)

    def _tell(self, camera_id: CameraId) -> None:
        for channel in self._listeners:
            channel.send_nowait((camera_id, self._statuses.get(camera_id)))


class FakePreview:
    """Shows ``picture`` every ``period_s``; counts who watches."""

    def __init__(self, period_s: float = 0.02) -> None:
        self.picture: bytes | None = b"\xff\xd8fake\xff\xd9"
        self.period_s = period_s
        self.watching = 0

    async def latest(self, camera_id: CameraId) -> bytes | None:
        return self.picture

    async def watch(self, camera_id: CameraId) -> AsyncGenerator[bytes]:
        with self._counted():
            while True:
                if self.picture is not None:
                    yield self.picture
                await asyncio.sleep(self.period_s)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self.watching += 1
        try:
            yield
        finally:
            self.watching -= 1


class ScriptedAsker:
    """Answers with a script, and can refuse, break, crash or stall on demand.

    Attributes:
        words: What it says, piece by piece; None words an answer with citations from the window.
        pause_s: Pause before each piece.
        refuse: Raised before the first value.
        break_after: Raise ``broken`` after so many pieces.
        gate: Cleared, it waits after the first value until set; before it with ``hold_first``.
        running, finished, aborted: Counts.
    """

    def __init__(self, clock: Clock, registry: FakeRegistry, window: MemoryPool) -> None:
        self._clock = clock
        self._registry = registry
        self._window = window
        self.words: list[str] | None = ["It ", "was ", "quiet."]
        self.pause_s = 0.0
        self.refuse: ServiceError | None = None
        self.break_after: int | None = None
        self.broken: Exception = RuntimeError("the script says: break")
        self.gate = asyncio.Event()
        self.gate.set()
        self.hold_first = False
        self.asked: list[Question] = []
        self.running = 0
        self.finished = 0
        self.aborted = 0

    async def ask(self, question: Question) -> AsyncGenerator[Answer]:
        self.asked.append(question)
        self.running += 1
        done = False
        try:
            if self.refuse is not None:
                raise self.refuse
            if self.hold_first:
                await self.gate.wait()
            async for value in self._values(question):
                yield value
            done = True
        finally:
            self.running -= 1
            self.finished += done
            self.aborted += not done

    async def _values(self, question: Question) -> AsyncGenerator[Answer]:
        began_us = self._clock.mono_us()
        camera = self._registry.get(question.cameras[0]) if question.cameras else self._registry.list()[0]
        span = self._span(question)
        infos = await self._window.index(camera.id, span)
        chosen = infos[-8:]
        frames = tuple(
            UsedFrame(info.ref, info.t_us, time_label(info.t_us, camera.zone, tenths=info.tenths))
            for info in chosen
        )
        yield AnswerStarted(
            question.id,
            camera.id,
            question.conversation or ConversationId("conv_fake"),
            span,
            f"{local_time(span.start_us, camera.zone):%H:%M:%S} to now, {camera.zone.key}",
            camera.zone.key,
            frames,
            len(infos),
            await self._coverage(camera.id, span, infos),
        )
        await self.gate.wait()
        first_us = began_us
        said = ""
        for number, piece in enumerate(self._pieces(question, frames)):
            if number == self.break_after:
                raise self.broken
            await asyncio.sleep(self.pause_s)
            first_us = first_us if said else self._clock.mono_us()
            said += piece
            yield AnswerDelta(question.id, piece)
        yield self._done(question, frames, said, began_us, first_us)

    def _span(self, question: Question) -> Span:
        now_us = question.asked_at_us or question.received_us
        match question.window:
            case Span() as span:
                return span
            case LastWindow(last_us=last_us):
                return Span(now_us - last_us, now_us + 1)
            case _:
                return Span(now_us - 30_000_000, now_us + 1)

    async def _coverage(self, camera_id: CameraId, span: Span, infos: tuple[FrameInfo, ...]) -> Coverage:
        head = await self._window.head(camera_id)
        age_s = None if head.newest_us is None else max(0, self._clock.now_us() - head.newest_us) / 1e6
        covered = (Span(infos[0].t_us, infos[-1].t_us + 1),) if infos else ()
        return Coverage(span, covered, (), (), head.evicted_before_us, age_s)

    def _pieces(self, question: Question, frames: tuple[UsedFrame, ...]) -> list[str]:
        if self.words is not None:
            return list(self.words)
        if not frames:
            return ["Nothing ", "is held ", "of that time."]
        first, last = frames[0].label, frames[-1].label
        if any("\u4e00" <= letter <= "\u9fff" for letter in question.text):
            return ["一个", "白色物体", "在 ", first, " 从左侧", "进入，", "在 ", last, " 向右", "移动。"]
        sentence = f"A white thing came in from the left at {first} and was at the right side at {last}."
        return [piece for piece in re.split(r"(\S+ ?)", sentence) if piece]

    def _done(
        self, question: Question, frames: tuple[UsedFrame, ...], said: str, began_us: int, first_us: int
    ) -> AnswerDone:
        now_us = self._clock.mono_us()
        cited = tuple(
            Citation(frame.label, said.index(frame.label), frame.t_us, frame.ref, True)
            for frame in (frames[:1] + frames[-1:])
            if frame.label in said
        )
        return AnswerDone(
            id=question.id,
            outcome=Outcome.OK if frames or self.words else Outcome.EMPTY,
            citations=cited,
            usage=AnswerUsage(40 * len(frames) + 20, len(said.split())),
            timings=Timings(0.1, 0.4, 12.0, (first_us - began_us) / 1000, (now_us - began_us) / 1000),
            frames_used=len(frames),
            frames_encoded_now=0,
            model="measured",
            text=said,
        )


class ScriptedChat:
    """Says ``words``, refuses, breaks or stalls on demand; remembers what it was asked.

    Attributes:
        refuse: Raised before the first value.
        break_after: Raise ``broken`` after so many pieces.
        gate: Cleared, it waits before the first value until set; after the first one with ``hold_later``.
        running, aborted: Counts.
    """

    def __init__(self) -> None:
        self.names = ["toy"]
        self.words = ["A ", "red ", "circle."]
        self.done = ChatDone(Finish.STOP, Usage(40, 3, 8))
        self.refuse: ServiceError | None = None
        self.break_after: int | None = None
        self.broken: Exception = RuntimeError("the script says: break")
        self.gate = asyncio.Event()
        self.gate.set()
        self.hold_later = False
        self.asked: list[ChatQuestion] = []
        self.running = 0
        self.aborted = 0

    def models(self) -> tuple[ChatModel, ...]:
        return tuple(ChatModel(name, 1_790_000_000_000_000) for name in self.names)

    async def chat(self, question: ChatQuestion) -> AsyncGenerator[ChatValue]:
        self.asked.append(question)
        self.running += 1
        done = False
        try:
            if self.refuse is not None:
                raise self.refuse
            if not self.hold_later:
                await self.gate.wait()
            for number, word in enumerate(self.words):
                if number == self.break_after:
                    raise self.broken
                yield ChatPiece(word)
                await self.gate.wait()
            yield self.done
            done = True
        finally:
            self.running -= 1
            self.aborted += not done


class FakeReadiness:
    """Ready unless told otherwise."""

    def __init__(self) -> None:
        self.working = {"store": True, "window": True, "decoder": True}

    def parts(self) -> dict[str, bool]:
        return dict(self.working)

    def details(self) -> dict[str, str]:
        return {name: "away" for name, works in self.working.items() if not works}

    def ready(self) -> bool:
        return all(self.working.values())


@dataclass
class World:
    """All stand-ins together, and the application around them."""

    settings: WebSettings = field(default_factory=WebSettings)
    clock: Clock = field(default_factory=ServiceClock)

    def __post_init__(self) -> None:
        self.meter = ExportedMeter()
        self.window = MemoryPool(PoolSettings(), meter=self.meter)
        self.registry = FakeRegistry(self.clock, self.window)
        self.preview = FakePreview()
        self.asker = ScriptedAsker(self.clock, self.registry, self.window)
        self.chat = ScriptedChat()
        self.readiness = FakeReadiness()
        self.ports = Ports(
            registry=self.registry,
            window=self.window,
            preview=self.preview,
            asker=self.asker,
            chat=self.chat,
            readiness=self.readiness,
            parse_source=parse_source,
            exporter=self.meter,
            meter=self.meter,
            clock=self.clock,
            ids=IdSource(),
            default_zone=ZoneInfo("UTC"),
        )

    def app(self) -> FastAPI:
        return create_app(self.ports, self.settings, version="1.2.3")

    async def add_camera(self, camera_id: CameraId = GATE) -> Camera:
        source = Source("rtsp://10.0.0.5:554/main", Credentials("admin", "s3cret"))
        return await self.registry.add(NewCamera(camera_id, camera_id.title(), source, BERLIN))


@asynccontextmanager
async def serving(app: FastAPI, settings: WebSettings) -> AsyncIterator[str]:
    """Serve ``app`` on a free loopback port in this loop; yield ``127.0.0.1:<port>``."""
    with listen("127.0.0.1", 0) as listener:
        server = Server(app, settings)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(server.serve(sockets=[listener]), name="test:server")
            while not (server.started or task.done()):  # uvicorn tells nobody
                await asyncio.sleep(0.005)
            try:
                yield f"127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.should_exit = True


def main() -> None:
    """Serve a lively world until interrupted."""
    from tests.support.lively_world import play

    words = argparse.ArgumentParser(description="Serve the edges with lively made-up cameras.")
    words.add_argument("--port", type=int, default=8080)
    words.add_argument("--host", default="127.0.0.1")
    chosen = words.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    asyncio.run(play(chosen.host, chosen.port))


if __name__ == "__main__":
    main()
