import asyncio
import sqlite3
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import exc, text

from store.database import Database, connect, prepare_file, translated
from store.errors import StoreBusy, StoreDamaged, StoreRefused, StoreUnavailable
from store.settings import Settings


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = connect(tmp_path / "a.db", Settings(busy_timeout_us=5_000_000))
    async with opened.writing() as connection:
        await connection.execute(text("CREATE TABLE notes (number INTEGER PRIMARY KEY, body TEXT)"))
    yield opened
    await opened.close()


async def add(database: Database, number: int) -> None:
    async with database.writing() as connection:
        await connection.execute(text("INSERT INTO notes VALUES (:number, 'x')"), {"number": number})


async def count(database: Database) -> int:
    async with database.reading() as connection:
        return int((await connection.execute(text("SELECT count(*) FROM notes"))).scalar_one())


async def test_a_block_that_ends_well_is_stored_and_one_that_fails_is_undone(database: Database) -> None:
    await add(database, 1)

    async def fail() -> None:
        async with database.writing() as connection:
            await connection.execute(text("INSERT INTO notes VALUES (2, 'x')"))
            raise KeyError

    with pytest.raises(KeyError):
        await fail()
    assert await count(database) == 1


async def test_reading_goes_on_while_somebody_writes(database: Database) -> None:
    await add(database, 1)
    async with database.writing() as connection:
        await connection.execute(text("INSERT INTO notes VALUES (2, 'x')"))
        assert await count(database) == 1
    assert await count(database) == 2


async def test_a_write_that_reads_first_is_not_refused_when_another_process_wrote_meanwhile(
    database: Database, tmp_path: Path
) -> None:
    """With a transaction that takes its lock late, the insert fails at once in spite of the timeout."""
    other = sqlite3.connect(tmp_path / "a.db", timeout=5, isolation_level=None, check_same_thread=False)
    async with database.writing() as connection:
        await connection.execute(text("SELECT count(*) FROM notes"))
        outside = asyncio.create_task(asyncio.to_thread(other.execute, "INSERT INTO notes VALUES (1, 'y')"))
        await asyncio.sleep(0.05)  # long enough for it to meet the lock; sooner would only test less
        await connection.execute(text("INSERT INTO notes VALUES (2, 'x')"))
    await outside
    other.close()
    assert await count(database) == 2


async def test_a_write_waits_for_another_process_that_holds_the_lock(
    database: Database, tmp_path: Path
) -> None:
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO notes VALUES (1, 'y')")
    writing = asyncio.create_task(add(database, 2))
    done, _ = await asyncio.wait([writing], timeout=0.2)
    assert not done
    other.execute("COMMIT")
    other.close()
    await writing
    assert await count(database) == 2


async def test_a_lock_that_lasts_longer_than_the_timeout_is_a_named_error_and_stores_nothing(
    tmp_path: Path, database: Database
) -> None:
    impatient = connect(tmp_path / "a.db", Settings(busy_timeout_us=50_000))
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        await add(impatient, 1)
    other.execute("ROLLBACK")
    other.close()
    await add(impatient, 2)
    assert await count(impatient) == 1
    await impatient.close()


async def test_no_free_connection_within_the_timeout_is_a_named_error(tmp_path: Path) -> None:
    database = connect(tmp_path / "a.db", Settings(busy_timeout_us=50_000, connections=1))
    async with database.reading():
        with pytest.raises(StoreBusy):
            async with database.reading():
                pass
    await database.close()


async def test_the_file_and_its_log_are_their_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.db"
    prepare_file(path)
    database = connect(path, Settings())
    async with database.writing() as connection:
        await connection.execute(text("CREATE TABLE notes (number INTEGER)"))
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    await database.close()
    assert set(modes) >= {"a.db", "a.db-wal"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_others_could_read_becomes_its_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.touch(0o644)
    prepare_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_place_where_no_file_can_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match=r"file/a\.db"):
        prepare_file(tmp_path / "file" / "a.db")
    with pytest.raises(StoreUnavailable, match="directory"):
        prepare_file(tmp_path)


def test_nothing_is_prepared_for_a_server_or_for_memory() -> None:
    prepare_file("postgresql://user@host/name")
    prepare_file(":memory:")


async def test_memory_is_one_database_for_everybody() -> None:
    database = connect(":memory:", Settings())
    async with database.writing() as connection:
        await connection.execute(text("CREATE TABLE notes (number INTEGER)"))
    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(add_plain(database, number))
    assert await count(database) == 10
    await database.close()


async def add_plain(database: Database, number: int) -> None:
    async with database.writing() as connection:
        await connection.execute(text("INSERT INTO notes VALUES (:number)"), {"number": number})


async def test_a_file_that_is_no_database_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"not a database, but long enough to look like one " * 100)
    before = path.read_bytes()
    database = connect(path, Settings())
    with pytest.raises(StoreDamaged, match=r"a\.db"):
        await database.check()
    await database.close()
    assert path.read_bytes() == before


async def test_a_damaged_page_is_found_by_the_check(tmp_path: Path, database: Database) -> None:
    async with database.writing() as connection:
        await connection.execute(
            text("INSERT INTO notes (body) SELECT hex(randomblob(500)) FROM pragma_function_list LIMIT 100")
        )
    await database.close()
    path = tmp_path / "a.db"
    with path.open("r+b") as file:
        file.seek(4096 * 2)
        file.write(b"\xff" * 4096)
    damaged = connect(path, Settings())
    with pytest.raises(StoreDamaged):
        await damaged.check()
    await damaged.close()


async def test_a_full_disk_is_named_and_nothing_of_the_write_stays(tmp_path: Path) -> None:
    database = connect(tmp_path / "a.db", Settings(connections=1))
    async with database.writing() as connection:
        await connection.execute(text("CREATE TABLE notes (number INTEGER PRIMARY KEY, body TEXT)"))
        await connection.execute(text("PRAGMA max_page_count = 8"))

    async def fill_up() -> None:
        async with database.writing() as connection:
            await connection.execute(text("INSERT INTO notes VALUES (1, 'x')"))
            await connection.execute(text("INSERT INTO notes VALUES (2, hex(zeroblob(100000)))"))

    with pytest.raises(StoreUnavailable, match="full"):
        await fill_up()
    assert await count(database) == 0
    await database.close()


async def test_a_whole_file_passes_the_check(database: Database) -> None:
    await add(database, 1)
    await database.check()


@pytest.mark.parametrize("address", ["mysql://host/name", "://", "nonsense://x"])
def test_addresses_livelens_cannot_use_are_refused(address: str) -> None:
    with pytest.raises(StoreRefused):
        connect(address, Settings())


def test_a_missing_driver_is_named_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'psycopg'", name="psycopg")

    monkeypatch.setattr("store.database.create_async_engine", missing)
    with pytest.raises(StoreRefused, match="psycopg: install livelens with its postgres extra"):
        connect("postgresql://host/name", Settings())


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
async def test_postgresql_urls_of_every_spelling_work_and_show_no_password(scheme: str) -> None:
    database = connect(f"{scheme}://user:s3cret@host:5433/name", Settings())
    assert database.place == "postgresql+psycopg://user:***@host:5433/name"
    await database.close()


@pytest.mark.parametrize(
    "address", ["sqlite:////state/a.db", "sqlite+aiosqlite:////state/a.db", "/state/a.db"]
)
async def test_sqlite_is_named_by_path_or_url(address: str) -> None:
    database = connect(address, Settings())
    assert database.place == "/state/a.db"
    await database.close()


def test_what_a_driver_says_of_rows_is_not_passed_on() -> None:
    original = sqlite3.OperationalError("cannot store\nDETAIL: Failing row contains (gate, s3cret)")
    with pytest.raises(StoreUnavailable) as caught, translated("here"):
        raise exc.OperationalError("INSERT", {"password": "s3cret"}, original)
    assert "cannot store" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__suppress_context__
