"""Lives of cameras whose traces elsewhere still have to go, so that a restart does not forget it."""

from sqlalchemy import delete, insert, select

from core.ids import CameraId, Incarnation
from store.database import Database
from store.schema import deletions
from store.text import clean
from store.whole import whole


class Deletions:
    """What is to be deleted where it could not be reached when the camera was. Ids only; a row goes when it is done."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @whole
    async def add(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        """Note a life; one that is noted already is left as it is."""
        row = {"camera_id": clean(camera_id), "incarnation": clean(incarnation)}
        async with self._database.writing() as connection:
            await connection.execute(delete(deletions).filter_by(**row))
            await connection.execute(insert(deletions).values(**row))

    @whole
    async def remove(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        """Forget a life whose traces are gone; one that is not noted changes nothing."""
        async with self._database.writing() as connection:
            await connection.execute(
                delete(deletions).filter_by(camera_id=clean(camera_id), incarnation=clean(incarnation))
            )

    @whole
    async def list(self) -> tuple[tuple[CameraId, Incarnation], ...]:
        """Return the lives noted, by camera."""
        async with self._database.reading() as connection:
            rows = (await connection.execute(select(deletions))).all()
        return tuple(sorted((CameraId(row.camera_id), Incarnation(row.incarnation)) for row in rows))
