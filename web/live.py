"""The WebSocket route, and all sessions of this server: those that run, and those kept for a replay."""

import logging
from dataclasses import dataclass

from fastapi import FastAPI
from starlette.websockets import WebSocket

from core.errors import ServiceError
from core.meter import Metric
from web import wire
from web.access import Principal
from web.book import SessionBook, SessionLimits
from web.connection import FAILED, GONE, MOVED, Connection
from web.errors import ServerStopping, SessionGone, SubprotocolRequired, TooManySessions
from web.gate import PRINCIPAL, REFUSE
from web.ports import Ports
from web.routes import API
from web.session import Session
from web.settings import WebSettings
from web.streams import Places, Stopping

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is left of a session whose connection was lost: only its book, until ``until_us`` (monotonic)."""

    book: SessionBook
    principal: Principal
    until_us: int


@dataclass(frozen=True, slots=True)
class _Move:
    """A connection is to go on with another session."""

    session: Session
    after_seq: int


class LiveRoute:
    """``/live``, subprotocol ``livelens.v1``."""

    def __init__(self, ports: Ports, settings: WebSettings, stopping: Stopping) -> None:
        self._ports = ports
        self._settings = settings
        self._stopping = stopping
        self._places = Places(settings.max_sessions, TooManySessions)
        self._sessions: dict[str, Session] = {}
        self._kept: dict[str, _Kept] = {}
        self._moves: dict[Connection, _Move] = {}
        self._limits = SessionLimits(
            questions=settings.max_questions,
            waiting=settings.outbox_messages,
            replay_messages=settings.replay_messages,
            replay_bytes=settings.replay_bytes,
        )

    def add_to(self, app: FastAPI) -> None:
        """Put the route into ``app``."""
        app.add_api_websocket_route(f"{API}/live", self.open)

    async def open(self, socket: WebSocket) -> None:
        """Accept one connection and serve it until it ends."""
        try:
            if wire.SUBPROTOCOL not in socket.scope.get("subprotocols", ()):
                raise SubprotocolRequired(wire.SUBPROTOCOL)
            if self._stopping.begun:
                raise ServerStopping
            with self._places.take():
                self._ports.meter.gauge(Metric.SOCKETS, self._places.taken)
                await socket.accept(subprotocol=wire.SUBPROTOCOL)
                await self._serve(socket, socket.scope[PRINCIPAL])
        except ServiceError as refusal:
            await socket.scope[REFUSE](refusal)
        except Exception:
            # The request edge: this session fails, the server goes on.
            logger.exception("session failed")
            await connection_of(socket, self._settings, self._stopping).close(FAILED)
        finally:
            self._ports.meter.gauge(Metric.SOCKETS, self._places.taken)

    async def _serve(self, socket: WebSocket, principal: Principal) -> None:
        connection = connection_of(socket, self._settings, self._stopping)
        session = Session(
            self._ports.ids.session(),
            principal,
            self._ports,
            self._settings,
            book=SessionBook(self._limits),
            stopping=self._stopping,
            resume=self._resume,
        )
        self._sessions[session.id] = session
        try:
            if await session.run(connection):
                self._keep(session)
        finally:
            self._sessions.pop(session.id, None)
            move = self._moves.pop(connection, None)
            if move is not None:
                move.session.expect(False)
        if move is not None:
            try:
                await move.session.carry(connection, move.after_seq)
            except SessionGone:
                await connection.close(GONE)

    def _resume(self, fresh: Session, connection: Connection, wanted: wire.ResumeMessage) -> None:
        """Let ``connection`` go on with an earlier session. Raises SessionGone where that cannot be."""
        self._forget_old()
        running = self._sessions.get(wanted.session)
        if running is not None and running is not fresh and running.alive:
            if running.principal != fresh.principal:
                raise SessionGone
            running.book.replay(wanted.seq)
            running.expect(True)
            self._moves[connection] = _Move(running, wanted.seq)
            connection.end(MOVED)
            return
        kept = self._kept.get(wanted.session)
        if kept is None or kept.principal != fresh.principal:
            raise SessionGone
        new_id = fresh.id
        fresh.adopt(wanted.session, kept.book, wanted.seq)
        del self._kept[wanted.session]
        self._sessions[fresh.id] = self._sessions.pop(new_id)

    def _keep(self, session: Session) -> None:
        self._forget_old()
        until_us = self._ports.clock.mono_us() + round(self._settings.session_keep_s * 1e6)
        self._kept[session.id] = _Kept(session.book, session.principal, until_us)
        while len(self._kept) > self._settings.max_sessions:
            del self._kept[next(iter(self._kept))]

    def _forget_old(self) -> None:
        now_us = self._ports.clock.mono_us()
        for session_id in [name for name, kept in self._kept.items() if kept.until_us <= now_us]:
            del self._kept[session_id]


def connection_of(socket: WebSocket, settings: WebSettings, stopping: Stopping) -> Connection:
    """Return a connection with the settings' patience."""
    return Connection(socket, stall_timeout_s=settings.stall_timeout_s, stopping=stopping)
