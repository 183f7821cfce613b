"""The way to Redis: one client, bounded in time, whose every failure is ``WindowUnavailable``.

``redis`` is imported when the first command is sent, so that an installation without the extra can import this.
"""

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from core.ids import CameraId
from featcache.errors import WindowUnavailable
from featcache.redis_pieces import Pieces, gathering
from featcache.redis_scripts import Script
from featcache.redis_settings import RedisSettings

Command = tuple[str | bytes | int | Pieces, ...]
Reply = Any  # Any: what Redis answers is as it stored it; each reader checks what it gets


class Fault(StrEnum):
    """Why Redis did not do what it was asked."""

    AWAY = "away"
    SLOW = "slow"
    FULL = "full"
    READ_ONLY = "read_only"
    UNSAVED = "unsaved"
    LOADING = "loading"
    DENIED = "denied"
    OTHER = "other"

    @property
    def readable(self) -> bool:
        """Return whether what lies there can be read all the same."""
        return self in (Fault.FULL, Fault.READ_ONLY, Fault.UNSAVED)

    def in_words(self) -> str:
        """Return what is wrong and where to look, for people."""
        return _WORDS[self]


_WORDS = {
    Fault.AWAY: "Redis cannot be reached",
    Fault.SLOW: "Redis does not answer in time",
    Fault.FULL: "Redis has no room for a frame (maxmemory)",
    Fault.READ_ONLY: "Redis takes no writes: it is a replica, or was set so",
    Fault.UNSAVED: "Redis takes no writes: its last snapshot to disk failed (its own log says why)",
    Fault.LOADING: "Redis is still loading its data",
    Fault.DENIED: "Redis refuses our name and password, or what we may do",
    Fault.OTHER: "Redis answers with an error (the log names it)",
}


class RedisLink:
    """Sends commands; connects when needed and again after a failure. One event loop."""

    def __init__(self, settings: RedisSettings) -> None:
        self._settings = settings
        self._client: Any = None  # Any: redis.asyncio.Redis or RedisCluster, imported late
        self.fault: Fault | None = None

    async def run(self, camera_id: CameraId, commands: Sequence[Command]) -> list[Reply]:
        """Send commands in one go; return their replies. Raises WindowUnavailable if any of them failed.

        They are not a transaction: what must be one step is a script.
        """
        replies = await self.attempt(camera_id, commands)
        for reply in replies:
            if isinstance(reply, Exception):
                raise self._unavailable(camera_id, reply)
        return replies

    async def attempt(self, camera_id: CameraId, commands: Sequence[Command]) -> list[Reply]:
        """Send commands in one go; return reply or error of each. Raises WindowUnavailable without an answer."""
        from redis.exceptions import NoScriptError, RedisClusterException, RedisError

        before = _cancels()
        try:
            async with asyncio.timeout(self._settings.operation_timeout_us / 1e6):
                replies = await self._pipeline(commands)
                unknown = [i for i, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
                if unknown:
                    again = await self._pipeline([_in_full(commands[i]) for i in unknown])
                    for i, reply in zip(unknown, again, strict=True):
                        replies[i] = reply
        except (RedisError, RedisClusterException, OSError) as error:
            _pass_on_cancel(before)
            raise self._unavailable(camera_id, error) from error
        _pass_on_cancel(before)
        self.fault = next((fault_of(reply) for reply in replies if isinstance(reply, Exception)), None)
        return replies

    async def sweep(self, camera_id: CameraId, root: str) -> int:
        """Delete every key that begins with ``root``, whose hash tag they share; return how many."""
        from redis.exceptions import RedisClusterException, RedisError

        gone, before = 0, _cancels()
        try:
            async with asyncio.timeout(4 * self._settings.operation_timeout_us / 1e6):
                async for key in self._opened().scan_iter(match=f"{root}*", count=1000):
                    _pass_on_cancel(before)
                    gone += int(await self._opened().execute_command("UNLINK", key))
        except (RedisError, RedisClusterException, OSError) as error:
            _pass_on_cancel(before)
            raise self._unavailable(camera_id, error) from error
        _pass_on_cancel(before)
        return gone

    async def aclose(self) -> None:
        """Close all connections; a later command opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _unavailable(self, camera_id: CameraId, error: Exception) -> WindowUnavailable:
        self.fault = fault_of(error)
        unavailable = WindowUnavailable(camera_id)
        unavailable.__cause__ = error
        return unavailable

    async def _pipeline(self, commands: Sequence[Command]) -> list[Reply]:
        pipeline = self._opened().pipeline(transaction=False)
        async with pipeline:
            for command in commands:
                pipeline.execute_command(*(_joined(command) if self._settings.cluster else command))
            replies: list[Reply] = await pipeline.execute(raise_on_error=False)
        return replies

    def _opened(self) -> Any:
        if self._client is None:
            self._client = _cluster(self._settings) if self._settings.cluster else _single(self._settings)
        return self._client


def evaluate(script: Script, keys: Sequence[str], *arguments: str | bytes | int) -> Command:
    """Return the command that runs a script the server may already know."""
    return ("EVALSHA", script.sha, len(keys), *keys, *arguments)


def fault_of(error: BaseException) -> Fault:
    """Return what sort of failure an error of the client is."""
    from redis import exceptions

    words = str(error).upper()
    if isinstance(error, (exceptions.TimeoutError, TimeoutError)):
        return Fault.SLOW
    if isinstance(error, exceptions.OutOfMemoryError) or words.startswith(
        ("OOM", "COMMAND NOT ALLOWED WHEN")
    ):
        return Fault.FULL
    if "MISCONF" in words:
        return Fault.UNSAVED
    if isinstance(error, exceptions.ReadOnlyError) or words.startswith(("READONLY", "YOU CAN'T WRITE")):
        return Fault.READ_ONLY
    if isinstance(error, exceptions.BusyLoadingError):
        return Fault.LOADING
    if isinstance(error, (exceptions.AuthenticationError, exceptions.NoPermissionError)) or any(
        word in words for word in ("NOAUTH", "WRONGPASS", "INVALID USERNAME-PASSWORD", "INVALID PASSWORD")
    ):
        return Fault.DENIED
    if isinstance(error, (exceptions.ConnectionError, exceptions.RedisClusterException, OSError)):
        return Fault.AWAY
    return Fault.OTHER


def _cancels() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def _pass_on_cancel(before: int) -> None:
    """The client can swallow a cancellation that meets it while it connects or disconnects (seen with 8.1.0)."""
    if _cancels() > before:
        raise asyncio.CancelledError


def _joined(command: Command) -> tuple[str | bytes | int, ...]:
    """Return a command for connections of a cluster, which are the client's own and know no pieces."""
    return tuple(each.join() if isinstance(each, Pieces) else each for each in command)


def _in_full(command: Command) -> Command:
    return ("EVAL", _texts()[str(command[1])], *command[2:])


def _texts() -> dict[str, str]:
    from featcache import redis_scripts

    return {value.sha: value.text for value in vars(redis_scripts).values() if isinstance(value, Script)}


def _options(settings: RedisSettings) -> dict[str, Any]:
    from redis.asyncio.connection import parse_url
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    options: dict[str, Any] = dict(parse_url(settings.url))
    options.update(
        protocol=settings.protocol,
        decode_responses=False,
        socket_timeout=settings.reply_timeout_us / 1e6,
        socket_connect_timeout=settings.connect_timeout_us / 1e6,
        retry=Retry(NoBackoff(), 0),
    )
    if settings.password is not None:
        options["password"] = settings.password
    if settings.url.startswith("rediss://"):
        options.update(
            ssl_ca_certs=settings.ca_file,
            ssl_certfile=settings.certificate_file,
            ssl_keyfile=settings.key_file,
            ssl_check_hostname=True,
        )
    return options


def _single(settings: RedisSettings) -> Any:
    from redis.asyncio import BlockingConnectionPool, Connection, Redis

    options = _options(settings)
    pool = BlockingConnectionPool(
        connection_class=gathering(options.pop("connection_class", Connection)),
        max_connections=settings.max_connections,
        timeout=settings.operation_timeout_us / 1e6,
        **options,
    )
    return Redis.from_pool(pool)


def _cluster(settings: RedisSettings) -> Any:
    from redis.asyncio import RedisCluster

    options = _options(settings)
    secure = options.pop("connection_class", None) is not None
    options.pop("db", None)
    return RedisCluster(ssl=secure, max_connections=settings.max_connections, **options)
