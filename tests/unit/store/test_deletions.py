"""What still has to be deleted elsewhere outlives the process, and goes when it is done."""

from pathlib import Path

from core.ids import Incarnation
from store.store import Store
from tests.support.stores import GATE, YARD

FIRST, SECOND = Incarnation("life1"), Incarnation("life2")


async def test_what_is_noted_is_there_after_a_restart_once_and_by_camera(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a.db") as store:
        for camera_id, life in ((YARD, FIRST), (GATE, SECOND), (GATE, FIRST), (GATE, SECOND)):
            await store.deletions.add(camera_id, life)
    async with await Store.open(tmp_path / "a.db") as store:
        assert await store.deletions.list() == ((GATE, FIRST), (GATE, SECOND), (YARD, FIRST))


async def test_what_is_done_goes_and_what_was_never_noted_changes_nothing(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a.db") as store:
        await store.deletions.add(GATE, FIRST)
        await store.deletions.remove(GATE, SECOND)
        assert await store.deletions.list() == ((GATE, FIRST),)
        await store.deletions.remove(GATE, FIRST)
        assert await store.deletions.list() == ()
