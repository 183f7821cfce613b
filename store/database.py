"""One database behind two verbs: ``reading()`` and ``writing()``, each one transaction.

SQLite: write-ahead log, so that readers never wait for the writer; a writer takes its lock at the start of the
transaction, because one that first reads and then writes is refused at once, whatever the timeout, when another
process wrote in between. PostgreSQL: ordinary transactions.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import URL, AsyncAdaptedQueuePool, Connection, event, exc, make_url, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from store.errors import StoreBusy, StoreDamaged, StoreRefused, StoreUnavailable
from store.settings import Settings

_WRITES = "livelens_writes"
_BUSY = ("database is locked", "database table is locked", "database schema is locked")
_CHECKED_BYTES = 64 << 20
_SIZE = text("SELECT page_count, page_size FROM pragma_page_count(), pragma_page_size()")
_DAMAGED = ("file is not a database", "malformed")


class Database:
    """A pool of connections to one database. Made by ``connect``."""

    def __init__(self, engine: AsyncEngine, place: str) -> None:
        self.place = place
        self._engine = engine
        self._writers = engine.execution_options(**{_WRITES: True})
        self._is_file = engine.dialect.name == "sqlite"
        self._turn = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction that only reads. Raises StoreBusy, StoreDamaged, StoreUnavailable."""
        with translated(self.place):
            async with self._engine.connect() as connection:
                yield connection

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction that writes: committed at the end of the block, undone by any exception.

        SQLite has one writer at a time; those of this process wait for each other here, in order.

        Raises:
            StoreBusy: another process kept the file locked for the whole busy timeout; nothing was stored.
            StoreDamaged, StoreUnavailable: likewise nothing was stored.
        """
        with translated(self.place):
            async with (
                self._turn if self._is_file else contextlib.nullcontext(),
                self._writers.begin() as open_,
            ):
                yield open_

    async def check(self) -> None:
        """Look whether a SQLite file is whole, unless it is too large to do so at every start.

        Raises:
            StoreDamaged: it is not.
            StoreBusy, StoreUnavailable: it cannot be read.
        """
        if not self._is_file:
            return
        async with self.reading() as connection:
            pages, page_bytes = (await connection.execute(_SIZE)).one()
            if pages * page_bytes > _CHECKED_BYTES:
                return
            found = await connection.scalar(text("PRAGMA quick_check(1)"))
        if found != "ok":
            raise StoreDamaged(self.place, str(found).partition("\n")[0])

    async def close(self) -> None:
        """Close all connections."""
        await self._engine.dispose()


def connect(where: str | Path, settings: Settings) -> Database:
    """Return the database at a path or URL; nothing is opened yet.

    Args:
        where: A path of a SQLite file, ``:memory:``, ``sqlite:///...`` or ``postgresql://...``.
    Raises:
        StoreRefused: another kind of URL, or the driver is not installed.
    """
    url = _url(where)
    place = url.render_as_string(hide_password=True) if url.host else (url.database or ":memory:")
    busy_s = settings.busy_timeout_us / 1e6
    arguments: dict[str, Any] = {}  # what each driver's connect takes differs
    connections = settings.connections
    if url.get_backend_name() == "sqlite":
        arguments = {"timeout": busy_s}
        if url.database in (None, "", ":memory:"):
            connections = 1  # every connection would be another, empty database
    try:
        engine = create_async_engine(
            url,
            poolclass=AsyncAdaptedQueuePool,
            pool_size=connections,
            max_overflow=0,
            pool_timeout=busy_s,
            pool_pre_ping=url.get_backend_name() != "sqlite",
            connect_args=arguments,
            hide_parameters=True,  # a failing statement's text must not carry a password
        )
    except ModuleNotFoundError as error:
        raise StoreRefused(f"{place} needs {error.name}: install livelens with its postgres extra") from error
    if url.get_backend_name() == "sqlite":
        _set_up_sqlite(engine)
    return Database(engine, place)


def prepare_file(where: str | Path) -> None:
    """Create a SQLite file and its folder, both for their owner only; an existing file becomes so.

    The write-ahead log takes its mode from the file. Does nothing for other databases.

    Raises:
        StoreUnavailable: not allowed, not a file, or the disk is full.
    """
    url = _url(where)
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return
    path = Path(str(url.database))
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise StoreUnavailable(str(path), error.strerror or str(error)) from error


@contextlib.contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn the database's exceptions into ours. Their texts may quote rows, so they are not chained."""
    try:
        yield
    except exc.TimeoutError:
        raise StoreBusy(place) from None
    except exc.DBAPIError as error:
        if isinstance(error, exc.IntegrityError):
            raise
        first_line = str(error.orig).partition("\n")[0]
        if any(words in first_line for words in _BUSY):
            raise StoreBusy(place) from None
        if any(words in first_line for words in _DAMAGED):
            raise StoreDamaged(place, first_line) from None
        raise StoreUnavailable(place, f"{type(error.orig).__name__}: {first_line}") from None


def _url(where: str | Path) -> URL:
    address = str(where)
    if "://" not in address:
        return URL.create("sqlite+aiosqlite", database=address)
    try:
        url = make_url(address)
        backend = url.get_backend_name()
    except (exc.ArgumentError, ValueError):
        raise StoreRefused(
            "the database's address is not a URL of the form sqlite:///... or postgresql://..."
        ) from None
    if backend == "sqlite":
        return url.set(drivername="sqlite+aiosqlite")
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise StoreRefused(
        f"databases of the kind {backend!r} are not supported: use sqlite:///... or postgresql://..."
    )


def _set_up_sqlite(engine: AsyncEngine) -> None:
    @event.listens_for(engine.sync_engine, "connect")
    def on_connect(dbapi_connection: Any, _: object) -> None:  # the driver's adapter has no public type
        dbapi_connection.isolation_level = None  # the driver must not begin transactions by itself
        cursor = dbapi_connection.cursor()
        try:
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
                cursor.execute(f"PRAGMA {pragma}")
        except BaseException:
            dbapi_connection.close()  # its thread would stay: SQLAlchemy 2.0 forgets a connection refused here
            raise
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def on_begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
