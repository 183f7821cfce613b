"""The store, opened: one database at the schema this livelens knows, and what is kept in it."""

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import select

from core.errors import ServiceError
from store.cameras import Cameras
from store.conversations import Conversations
from store.database import Database, connect, prepare_file
from store.deletions import Deletions
from store.migrate import upgrade
from store.settings import Settings


class Store:
    """Durable state. Open it with ``await Store.open(...)``, close it by leaving ``async with``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.cameras = Cameras(database)
        self.conversations = Conversations(database)
        self.deletions = Deletions(database)

    @classmethod
    async def open(cls, where: str | Path, *, settings: Settings | None = None) -> Self:
        """Open a database, create it where there is none, and bring its schema up to date.

        Args:
            where: A path of a SQLite file, ``:memory:``, ``sqlite:///...`` or ``postgresql://...``.
        Raises:
            StoreRefused: not an address livelens can use.
            StoreTooNew: a newer livelens wrote it.
            StoreDamaged: not a database, or a damaged one.
            StoreBusy, StoreUnavailable: cannot be opened now.
        """
        database = connect(where, settings or Settings())
        try:
            await asyncio.to_thread(prepare_file, where)
            await database.check()
            async with database.writing() as connection:
                await connection.run_sync(upgrade, database.place)
        except BaseException:
            await database.close()
            raise
        return cls(database)

    @property
    def place(self) -> str:
        """Return where the state lies, without a password; for people."""
        return self._database.place

    async def healthy(self) -> bool:
        """Return whether the database answers now."""
        try:
            async with self._database.reading() as connection:
                await connection.execute(select(1))
        except ServiceError:
            return False
        return True

    async def close(self) -> None:
        """Close all connections; what was stored is on disk."""
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
