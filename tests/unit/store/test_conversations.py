from pathlib import Path

from store.store import Store
from tests.support.stores import GATE, TALK, camera_of, turn_of


async def test_numbers_of_deleted_turns_are_not_used_again(tmp_path: Path) -> None:
    """A row number used twice could put a new turn before an older one."""
    async with await Store.open(tmp_path / "a.db") as store:
        await store.cameras.add(camera_of())
        await store.conversations.append(turn_of(1, cameras=()))
        await store.conversations.append(turn_of(2))
        await store.cameras.delete(GATE)
        await store.conversations.append(turn_of(3, cameras=()))
        assert [turn.question[-2] for turn in await store.conversations.last(TALK)] == ["1", "3"]


async def test_a_long_conversation_gives_its_end(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a.db") as store:
        for number in range(30):
            await store.conversations.append(turn_of(number, cameras=(), answer="字" * 10_000))
        turns = await store.conversations.last(TALK)
        assert [turn.asked_us for turn in turns] == [turn_of(number).asked_us for number in range(22, 30)]
        assert turns[-1].answer == "字" * 10_000
