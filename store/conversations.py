"""Questions already answered, so that a follow-up knows what was talked about."""

from dataclasses import dataclass

from sqlalchemy import delete, exc, func, insert, select

from core.ids import CameraId, ConversationId
from core.spans import Span
from store.database import Database
from store.errors import CameraNotRegistered, UnknownConversation
from store.schema import turn_cameras, turns
from store.text import clean
from store.whole import whole


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One question of a conversation with its answer.

    Attributes:
        cameras: The cameras asked, in the order asked.
        span: What was looked at; None where there was no span.
        model: Who answered.
        asked_us: Service time of the question.
    """

    conversation: ConversationId
    cameras: tuple[CameraId, ...]
    question: str
    answer: str
    span: Span | None
    model: str
    asked_us: int


class Conversations:
    """Turns by conversation. A conversation begins with its first turn."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @whole
    async def append(self, turn: StoredTurn) -> None:
        """Store one more turn. Text that no database can keep is cleaned, see ``store.text``.

        Raises:
            CameraNotRegistered: a camera of it was deleted meanwhile; nothing was stored.
        """
        try:
            async with self._database.writing() as connection:
                added = await connection.execute(
                    insert(turns)
                    .values(
                        conversation=clean(turn.conversation),
                        question=clean(turn.question),
                        answer=clean(turn.answer),
                        span_start_us=turn.span.start_us if turn.span else None,
                        span_end_us=turn.span.end_us if turn.span else None,
                        model=clean(turn.model),
                        asked_us=turn.asked_us,
                    )
                    .returning(turns.c.id)
                )
                turn_id = added.scalar_one()
                if turn.cameras:
                    rows = [
                        {"turn_id": turn_id, "position": position, "camera_id": camera_id}
                        for position, camera_id in enumerate(turn.cameras)
                    ]
                    await connection.execute(insert(turn_cameras), rows)
        except exc.IntegrityError:
            raise CameraNotRegistered(turn.cameras[0]) from None

    @whole
    async def last(self, conversation: ConversationId, *, count: int = 8) -> tuple[StoredTurn, ...]:
        """Return the newest ``count`` turns of a conversation, at least one asked for, oldest first.

        Raises UnknownConversation.
        """
        if count < 1:
            raise ValueError(f"ask for at least one turn, not {count}")
        newest = (
            select(turns)
            .where(turns.c.conversation == clean(conversation))
            .order_by(turns.c.id.desc())
            .limit(count)
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(newest)).all()[::-1]
            asked = await connection.execute(
                select(turn_cameras)
                .where(turn_cameras.c.turn_id.in_([row.id for row in rows]))
                .order_by(turn_cameras.c.turn_id, turn_cameras.c.position)
            )
            pairs = [(row.turn_id, CameraId(row.camera_id)) for row in asked]
        if not rows or clean(conversation) != conversation:
            raise UnknownConversation(conversation)
        return tuple(
            StoredTurn(
                conversation=conversation,
                cameras=tuple(camera_id for turn_id, camera_id in pairs if turn_id == row.id),
                question=row.question,
                answer=row.answer,
                span=None if row.span_start_us is None else Span(row.span_start_us, row.span_end_us),
                model=row.model,
                asked_us=row.asked_us,
            )
            for row in rows
        )

    @whole
    async def forget(self, *, before_us: int) -> int:
        """Delete the turns asked before this time; return how many."""
        async with self._database.writing() as connection:
            gone = await connection.execute(delete(turns).where(turns.c.asked_us < before_us))
        return gone.rowcount

    @whole
    async def count(self) -> int:
        """Return how many turns are stored."""
        async with self._database.reading() as connection:
            return (await connection.execute(select(func.count()).select_from(turns))).scalar_one()
