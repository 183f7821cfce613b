"""Lives of cameras that were deleted while Redis did not answer, until their traces there are gone.

Where the process is handed a place that outlives it, they are noted there too and taken up at the next start.
"""

import logging
from typing import Protocol

from core.errors import ServiceError
from core.ids import CameraId, Incarnation

logger = logging.getLogger(__name__)

Life = tuple[CameraId, Incarnation]


class KeptDeletions(Protocol):
    """A durable list of lives to be deleted (``store.Deletions``). Each call may raise a ServiceError."""

    async def add(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        """Note a life; one that is noted already is left as it is."""

    async def remove(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        """Forget a life whose traces are gone."""

    async def list(self) -> tuple[Life, ...]:
        """Return the lives noted."""


class EndedLives:
    """The lives to be deleted as soon as Redis answers. A place that fails costs only what it would have kept."""

    def __init__(self, kept: KeptDeletions | None) -> None:
        self._kept = kept
        self._due: dict[Life, None] = {}

    @property
    def due(self) -> tuple[Life, ...]:
        """Return what is to be deleted, in the order it ended."""
        return tuple(self._due)

    async def load(self) -> None:
        """Take up what an earlier process has left to be done."""
        if self._kept is None:
            return
        try:
            self._due |= dict.fromkeys(await self._kept.list())
        except ServiceError as error:
            logger.warning("deletions left to be done could not be read", extra={"code": error.code})

    async def add(self, life: Life) -> None:
        """Note a life that has ended."""
        self._due[life] = None
        if self._kept is None:
            return
        try:
            await self._kept.add(*life)
        except ServiceError as error:
            logger.warning(
                "a deletion left to be done could not be noted",
                extra={"camera_id": life[0], "code": error.code},
            )

    async def done(self, life: Life) -> None:
        """Forget a life whose traces are gone."""
        self._due.pop(life, None)
        if self._kept is None:
            return
        try:
            await self._kept.remove(*life)
        except ServiceError as error:
            logger.warning("a deletion done could not be struck off", extra={"code": error.code})
