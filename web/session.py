"""One WebSocket session: its questions, what it tells its client, and its life between two connections."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from core.errors import ServiceError
from core.ids import CameraId
from qa.answers import AnswerDone, AnswerStarted, AnswerUsage, Outcome, Question, Timings
from web import wire
from web.accept import question_id_of, read_message
from web.access import Action, Principal, may
from web.asking import accept_question, answers
from web.book import Sent, SessionBook
from web.connection import MOVED, TAKEN_OVER, TOO_LARGE, Connection, Ending
from web.errors import (
    BinaryMessage,
    ConnectionLost,
    InvalidMessage,
    MessageTooLarge,
    SessionGone,
    UnknownQuestion,
)
from web.ports import CameraStatus, Ports
from web.present import answer_message, error_message, state_view
from web.settings import WebSettings
from web.streams import Interrupted, Interruptible, Stopping

logger = logging.getLogger(__name__)

_GIVING_UP_S = 2.0


@dataclass(slots=True)
class _Running:
    """A question being answered, and what its answer has said."""

    question: Question
    scope: Interruptible
    camera_id: CameraId | None
    frames: int = 0


class Session:
    """Runs in the task of the connection that opened it; later connections only carry its messages.

    A lost connection leaves the answers running for ``answer_grace_s``; then they are given up. ``resume``
    is called to let a connection go on with an earlier session.
    """

    def __init__(
        self,
        session_id: str,
        principal: Principal,
        ports: Ports,
        settings: WebSettings,
        *,
        book: SessionBook,
        stopping: Stopping,
        resume: "Callable[[Session, Connection, wire.ResumeMessage], None]",
    ) -> None:
        self.id = session_id
        self.principal = principal
        self.book = book
        self._ports = ports
        self._settings = settings
        self._stopping = stopping
        self._resume = resume
        self._connection: Connection | None = None
        self._urgent: deque[str] = deque()
        self._running: dict[str, _Running] = {}
        self._answer_tasks: set[asyncio.Task[None]] = set()
        self._group: asyncio.TaskGroup | None = None
        self._last_words: Ending | None = None
        self._fresh = True
        self._expected = False
        self._final = False
        self._over = False
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._changed = asyncio.Event()

    # ---------------------------------------------------------------- life

    async def run(self, connection: Connection) -> bool:
        """Live until nobody comes back; return whether the session is worth keeping for a replay."""
        self.book.put(self._ready(resumed=False))
        async with asyncio.TaskGroup() as group:
            self._group = group
            writer = group.create_task(self._write(), name=f"web:write:{self.id}")
            states = group.create_task(self._push_states(), name=f"web:states:{self.id}")
            try:
                self._connection = connection
                await self._serve(connection)
                await self._wait_for_the_end()
                await self._give_up()
            finally:
                self._over = True
                for task in (writer, states, *self._answer_tasks):
                    task.cancel()
        return not self._final

    async def carry(self, connection: Connection, after_seq: int) -> None:
        """Go on over another connection, beginning with what it missed; return when that one ends.

        Raises:
            SessionGone: the session has ended, or what the client missed is no longer held.
        """
        if self._over:
            raise SessionGone
        missed = self.book.replay(after_seq)
        self._fresh = False
        if self._connection is not None:
            self._connection.end(TAKEN_OVER)
        self._replay(missed, after_seq)
        self._connection = connection
        self._changed.set()
        self._wake.set()
        await self._serve(connection)

    def adopt(self, session_id: str, book: SessionBook, after_seq: int) -> None:
        """Become an earlier session that nobody runs any more. Raises SessionGone."""
        missed = book.replay(after_seq)
        self._fresh = False
        self.id, self.book = session_id, book
        self._replay(missed, after_seq)
        self._put_all_states()
        self._wake.set()

    @property
    def alive(self) -> bool:
        """Whether the session still runs, so that another connection can carry it."""
        return not self._over

    def expect(self, coming: bool) -> None:
        """Have patience: another connection is about to carry the session, or, False, is not after all."""
        self._expected = coming
        self._changed.set()

    def _replay(self, missed: tuple[Sent, ...], after_seq: int) -> None:
        ready = self._ready(resumed=True).model_copy(update={"seq": after_seq})
        self._urgent = deque([wire.to_json(ready), *(sent.text for sent in missed)])

    def _ready(self, *, resumed: bool) -> wire.SessionReady:
        limit = self._settings.max_message_bytes
        return wire.SessionReady(session=self.id, resumed=resumed, max_message_bytes=limit)

    async def _serve(self, connection: Connection) -> None:
        ending = await connection.read(self._on_message)
        if self._connection is connection:
            self._connection = None
            self._final = self._final or ending.final
            self._changed.set()
        if ending is not MOVED:
            await connection.close(ending)

    async def _wait_for_the_end(self) -> None:
        """Return once the session ended for good, no connection came back in time, or the server stops."""
        scope = Interruptible()
        try:
            async with scope:
                with self._stopping.interrupting(scope):
                    while not self._final:
                        waiting = self._connection is None and not self._expected
                        self._changed.clear()
                        async with asyncio.timeout(self._settings.answer_grace_s if waiting else None):
                            await self._changed.wait()
        except (TimeoutError, Interrupted):
            logger.debug("nobody came back to the session", extra={"session": self.id})

    async def _give_up(self) -> None:
        """Abort what is being answered, within two seconds."""
        self._over = True
        for running in tuple(self._running.values()):
            running.scope.interrupt()
        if self._answer_tasks:
            await asyncio.wait(self._answer_tasks, timeout=_GIVING_UP_S)

    # ---------------------------------------------------------------- from the client

    async def _on_message(self, text: str | None) -> None:
        question_id: str | None = None
        try:
            if text is None:
                raise BinaryMessage
            if _size_over(text, self._settings.max_message_bytes):
                raise MessageTooLarge(self._settings.max_message_bytes)
            await self._on_text(text)
        except ServiceError as error:
            if text is not None and not isinstance(error, MessageTooLarge):
                question_id = question_id_of(text)
            await self._say(error_message(error, question_id))
            if isinstance(error, MessageTooLarge):
                await self._end_after_last_words(TOO_LARGE)

    async def _on_text(self, text: str) -> None:
        match read_message(text):
            case wire.AskMessage() as ask:
                self._start(ask)
            case wire.CancelMessage(id=question_id):
                if question_id not in self._running:
                    raise UnknownQuestion
                self._running[question_id].scope.interrupt()
            case wire.ResumeMessage() as resume:
                if not self._fresh or self._connection is None:
                    raise InvalidMessage("resume: comes first in a connection, before any question")
                self._resume(self, self._connection, resume)

    async def _end_after_last_words(self, ending: Ending) -> None:
        """Let the writer send what waits, then end the connection; meanwhile nothing more is read."""
        self._last_words = ending
        self._wake.set()
        await asyncio.get_running_loop().create_future()

    # ---------------------------------------------------------------- answers

    def _start(self, ask: wire.AskMessage) -> None:
        question = accept_question(ask, self.principal, self._ports)
        self.book.open_question(ask.id)
        self._fresh = False
        assert self._group is not None
        camera_id = question.cameras[0] if question.cameras else None
        running = _Running(question, Interruptible(), camera_id)
        self._running[ask.id] = running
        task = self._group.create_task(self._answer(ask.id, running), name=f"web:answer:{question.id}")
        self._answer_tasks.add(task)
        task.add_done_callback(self._answer_tasks.discard)

    async def _answer(self, question_id: str, running: _Running) -> None:
        """Answer one question; whatever happens, its last message says how it ended."""
        began_us = self._ports.clock.mono_us()
        try:
            async with running.scope:
                await self._stream(question_id, running)
        except ServiceError as error:
            await self._say(error_message(error, question_id))
        except Interrupted:
            if self._over:
                self.book.put(error_message(ConnectionLost(), question_id))
            else:
                await self._say(answer_message(self._cancelled(running, began_us), question_id))
        except Exception:
            # The request edge: this question fails, the session and the log go on.
            logger.exception("question failed", extra={"request": running.question.id})
            await self._say(error_message(ServiceError(), question_id))
        finally:
            del self._running[question_id]
            self.book.close_question(question_id)

    async def _stream(self, question_id: str, running: _Running) -> None:
        async with aclosing(answers(running.question, self.principal, self._ports)) as values:
            async for value in values:
                if isinstance(value, AnswerStarted):
                    running.camera_id, running.frames = value.camera_id, len(value.frames)
                await self._say(answer_message(value, question_id))

    def _cancelled(self, running: _Running, began_us: int) -> AnswerDone:
        total_ms = (self._ports.clock.mono_us() - began_us) / 1000
        model = ""
        if running.camera_id is not None:
            try:
                model = self._ports.registry.status(running.camera_id).answered_by
            except ServiceError:
                logger.debug("camera went while its question was cancelled")
        return AnswerDone(
            id=running.question.id,
            outcome=Outcome.CANCELLED,
            citations=(),
            usage=AnswerUsage(),
            timings=Timings(total_ms=total_ms),
            frames_used=running.frames,
            frames_encoded_now=0,
            model=model,
        )

    # ---------------------------------------------------------------- to the client

    async def _say(self, message: wire.ServerMessage) -> None:
        """Let a message wait for the writer, when there is room."""
        while not self.book.has_room:
            self._room.clear()
            await self._room.wait()
        self.book.put(message)
        self._wake.set()

    async def _write(self) -> None:
        while True:
            connection = self._connection
            if connection is not None and connection.open:
                text = self._next_text()
                if text is not None:
                    await connection.send(text)  # what is lost here is held for a replay
                    continue
                if self._last_words is not None:
                    connection.end(self._last_words)
            self._wake.clear()
            await self._wake.wait()

    def _next_text(self) -> str | None:
        if self._urgent:
            return self._urgent.popleft()
        sent = self.book.take()
        self._room.set()
        return None if sent is None else sent.text

    async def _push_states(self) -> None:
        async with self._ports.registry.changes() as changes:
            self._put_all_states()
            async for camera_id, status in changes:
                self._put_state(camera_id, status)

    def _put_all_states(self) -> None:
        try:
            cameras = self._ports.registry.list()
        except ServiceError:
            return  # not known yet; each is told of as soon as it is
        for camera in cameras:
            self._put_state(camera.id, self._ports.registry.status(camera.id))

    def _put_state(self, camera_id: CameraId, status: CameraStatus | None) -> None:
        if not may(self.principal, Action.VIEW, camera_id):
            return
        now_us = self._ports.clock.now_us()
        view = None if status is None else state_view(status, now_us=now_us)
        self.book.put_state(wire.CameraStateMessage(camera=camera_id, state=view, removed=status is None))
        self._wake.set()


def _size_over(text: str, limit_bytes: int) -> bool:
    if len(text) > limit_bytes:
        return True
    return len(text) * 4 > limit_bytes and len(text.encode("utf-8", "surrogatepass")) > limit_bytes
