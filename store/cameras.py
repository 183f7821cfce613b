"""Registered cameras, and how far their stream time has come."""

import logging
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import Row, bindparam, delete, exc, insert, or_, select, update

from core.cameras import Camera, Credentials, Source, Transport
from core.ids import CameraId, Incarnation
from store import schema
from store.database import Database
from store.errors import CameraExists, CameraNotRegistered
from store.text import clean
from store.whole import whole

_table = schema.cameras
logger = logging.getLogger(__name__)


class Cameras:
    """The registered cameras. Passwords are stored as given, which is why the file is its owner's only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @whole
    async def add(self, camera: Camera) -> None:
        """Register a camera. Raises CameraExists."""
        try:
            async with self._database.writing() as connection:
                await connection.execute(
                    insert(_table).values(
                        id=camera.id,
                        incarnation=camera.incarnation,
                        created_us=camera.created_us,
                        **_changeable(camera),
                    )
                )
        except exc.IntegrityError:
            raise CameraExists(camera.id) from None

    @whole
    async def get(self, camera_id: CameraId) -> Camera:
        """Return one camera. Raises CameraNotRegistered."""
        async with self._database.reading() as connection:
            row = (
                await connection.execute(select(_table).where(_table.c.id == clean(camera_id)))
            ).one_or_none()
        if row is None:
            raise CameraNotRegistered(camera_id)
        return _camera(row)

    @whole
    async def list(self) -> tuple[Camera, ...]:
        """Return all cameras, by id."""
        async with self._database.reading() as connection:
            rows = (await connection.execute(select(_table))).all()
        return tuple(sorted((_camera(row) for row in rows), key=lambda camera: camera.id))

    @whole
    async def update(self, camera: Camera) -> None:
        """Change name, source, zone and ``enabled`` of the camera with this id. Raises CameraNotRegistered."""
        async with self._database.writing() as connection:
            changed = await connection.execute(
                update(_table).where(_table.c.id == camera.id).values(**_changeable(camera))
            )
        if not changed.rowcount:
            raise CameraNotRegistered(camera.id)

    @whole
    async def delete(self, camera_id: CameraId) -> bool:
        """Delete a camera with every turn of conversation about it; return False where there was none."""
        about = select(schema.turn_cameras.c.turn_id).where(schema.turn_cameras.c.camera_id == camera_id)
        async with self._database.writing() as connection:
            # PostgreSQL: a turn about it that is being stored now ends first, or finds no camera any more.
            await connection.execute(select(_table.c.id).where(_table.c.id == camera_id).with_for_update())
            await connection.execute(delete(schema.turns).where(schema.turns.c.id.in_(about)))
            gone = await connection.execute(delete(_table).where(_table.c.id == camera_id))
        return bool(gone.rowcount)

    @whole
    async def mark(self, camera_id: CameraId, last_t_us: int) -> None:
        """Note how far a camera's stream time has come; an earlier time or an unknown camera changes nothing."""
        await self.mark_all({camera_id: last_t_us})

    @whole
    async def mark_all(self, times_us: Mapping[CameraId, int]) -> None:
        """Note how far each camera's stream time has come, in one transaction; as ``mark`` for each."""
        if not times_us:
            return
        older = or_(_table.c.last_t_us.is_(None), _table.c.last_t_us < bindparam("time_us"))
        step = update(_table).where(_table.c.id == bindparam("camera"), older)
        step = step.values(last_t_us=bindparam("time_us"))
        # In order of id, so that two processes that mark the same cameras cannot wait for each other.
        rows = [{"camera": camera_id, "time_us": times_us[camera_id]} for camera_id in sorted(times_us)]
        async with self._database.writing() as connection:
            await connection.execute(step, rows)

    @whole
    async def last_t_us(self, camera_id: CameraId) -> int | None:
        """Return the stream time that the camera's next frame must lie after; None if it never had one."""
        async with self._database.reading() as connection:
            found = await connection.scalar(select(_table.c.last_t_us).where(_table.c.id == camera_id))
        return None if found is None else int(found)


class _Unshown(str):
    """Text that does not show in a repr: the SQLite driver logs every statement's values at DEBUG level."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def _changeable(camera: Camera) -> dict[str, object]:
    credentials = camera.source.credentials
    return {
        "name": clean(camera.name),
        "url": clean(camera.source.url),
        "username": clean(credentials.username) if credentials else None,
        "password": _Unshown(clean(credentials.password)) if credentials else None,
        "transport": camera.source.transport.value,
        "loop": camera.source.loop,
        "zone": camera.zone.key,
        "enabled": camera.enabled,
    }


def _camera(row: Row[Any]) -> Camera:  # a row of select(table) has no static column types
    credentials = Credentials(row.username, row.password or "") if row.username is not None else None
    return Camera(
        id=CameraId(row.id),
        name=row.name,
        source=Source(row.url, credentials, Transport(row.transport), row.loop),
        zone=_zone(row.zone, row.id),
        incarnation=Incarnation(row.incarnation),
        created_us=row.created_us,
        enabled=row.enabled,
    )


def _zone(key: str, camera_id: str) -> ZoneInfo:
    try:
        return ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError):
        # The zone data of this machine may be older than the one it was registered on; the camera must start.
        logger.warning("zone is not known here, UTC is used", extra={"camera_id": camera_id, "zone": key})
        return ZoneInfo("UTC")
