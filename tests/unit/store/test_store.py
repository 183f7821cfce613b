import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from store.errors import StoreDamaged, StoreUnavailable
from store.settings import Settings
from store.store import Store
from tests.support.stores import GATE, NOON_US, camera_of


async def test_a_file_that_is_no_database_gives_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(os.urandom(8_192))
    with pytest.raises(StoreDamaged, match="put a backup in its place"):
        await Store.open(path)


async def test_a_database_cut_short_gives_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    async with await Store.open(path) as store:
        await store.cameras.add(camera_of())
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises(StoreDamaged):
        await Store.open(path)


async def test_a_folder_in_the_files_place_gives_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        await Store.open(tmp_path)


async def test_an_address_as_a_path_or_text_is_the_same(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a.db") as store:
        await store.cameras.add(camera_of())
        assert store.place == str(tmp_path / "a.db")
    async with await Store.open(f"sqlite:///{tmp_path}/a.db") as store:
        assert await store.cameras.list() == (camera_of(),)


async def test_a_store_in_memory_works_whole() -> None:
    async with await Store.open(":memory:") as store:
        await store.cameras.add(camera_of())
        await asyncio.gather(*(store.cameras.mark(GATE, NOON_US + n) for n in range(10)))
        assert await store.cameras.last_t_us(GATE) == NOON_US + 9


async def test_it_says_when_the_database_does_not_answer(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a.db", settings=Settings(50_000, connections=1)) as store:
        assert await store.healthy()
        async with store._database.reading():
            assert not await store.healthy()


async def test_after_closing_the_file_is_whole_by_itself(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a.db") as store:
        await store.cameras.add(camera_of())
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
    with sqlite3.connect(tmp_path / "a.db") as plain:
        assert plain.execute("SELECT count(*) FROM cameras").fetchone() == (1,)
    plain.close()


_WRITER = """
import asyncio, sys
from store import Store
from tests.support.stores import camera_of, GATE, NOON_US

async def main():
    store = await Store.open(sys.argv[1])
    await store.cameras.add(camera_of())
    for number in range(1_000_000):
        await store.cameras.mark(GATE, NOON_US + number)
        print(number, flush=True)

asyncio.run(main())
"""


async def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)], cwd=root, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        acknowledged = -1
        for line in writer.stdout:
            acknowledged = int(line)
            if acknowledged >= 20:
                break
        writer.send_signal(signal.SIGKILL)
        for line in writer.stdout:
            acknowledged = int(line) if line.endswith("\n") else acknowledged
    async with await Store.open(path) as store:
        found = await store.cameras.last_t_us(GATE)
    assert found is not None
    assert found - NOON_US in (acknowledged, acknowledged + 1)
