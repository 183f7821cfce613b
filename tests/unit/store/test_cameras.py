import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import update

from core.cameras import Credentials
from store import schema
from store.store import Store
from tests.support.stores import GATE, NOON_US, SECRET, camera_of


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "a.db") as opened:
        yield opened


async def test_a_zone_this_machine_does_not_know_does_not_keep_the_cameras_from_starting(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await store.cameras.add(camera_of())
    async with store._database.writing() as connection:
        await connection.execute(update(schema.cameras).values(zone="Mars/Olympus"))
    with caplog.at_level(logging.WARNING, logger="store.cameras"):
        (camera,) = await store.cameras.list()
    assert camera.zone.key == "UTC"
    assert caplog.records[0].__dict__["zone"] == "Mars/Olympus"


async def test_an_empty_password_is_not_the_same_as_no_login(store: Store) -> None:
    await store.cameras.add(camera_of(password=""))
    camera = await store.cameras.get(GATE)
    assert camera.source.credentials == Credentials("admin", "")


async def test_no_password_is_logged_at_any_level(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await store.cameras.add(camera_of())
        await store.cameras.update(camera_of(name="other"))
        await store.cameras.list()
    assert SECRET not in caplog.text


async def test_marks_keep_their_microseconds(store: Store) -> None:
    await store.cameras.add(camera_of())
    await store.cameras.mark(GATE, NOON_US * 100 + 1)
    assert await store.cameras.last_t_us(GATE) == NOON_US * 100 + 1
