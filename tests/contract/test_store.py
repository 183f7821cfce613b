"""What durable state does, in SQLite and in PostgreSQL alike."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import text

from core.cameras import Credentials, Source
from core.ids import CameraId, ConversationId, Incarnation
from store import (
    CameraExists,
    CameraNotRegistered,
    Settings,
    Store,
    StoreTooNew,
    StoreUnavailable,
    UnknownConversation,
)
from tests.support.stores import (
    GATE,
    NOON_US,
    SECRET,
    TALK,
    YARD,
    PostgresServer,
    camera_of,
    postgres_server,
    turn_of,
)


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "state" / "livelens.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
async def store(address: str) -> AsyncIterator[Store]:
    async with await Store.open(address) as opened:
        yield opened


# cameras


async def test_a_camera_comes_back_as_it_was_given(store: Store) -> None:
    for camera in (camera_of(GATE), camera_of(YARD, password=None)):
        await store.cameras.add(camera)
        assert await store.cameras.get(camera.id) == camera
    assert [camera.id for camera in await store.cameras.list()] == [GATE, YARD]


async def test_cameras_come_in_order_of_their_ids_whatever_the_collation(store: Store) -> None:
    ids = [CameraId(name) for name in ("b", "a-b", "ab", "a_b", "0", "a")]
    for camera_id in ids:
        await store.cameras.add(camera_of(camera_id))
    assert [camera.id for camera in await store.cameras.list()] == sorted(ids)


async def test_an_id_is_registered_once(store: Store) -> None:
    await store.cameras.add(camera_of())
    with pytest.raises(CameraExists) as caught:
        await store.cameras.add(camera_of(name="another", password="other"))
    assert caught.value.code == "camera_exists"
    assert (await store.cameras.get(GATE)).name == "Gate"


async def test_errors_and_their_causes_never_hold_a_password(store: Store) -> None:
    await store.cameras.add(camera_of())
    with pytest.raises(CameraExists) as caught:
        await store.cameras.add(camera_of())
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in f"{error} {error!r}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert SECRET not in repr(await store.cameras.list())


async def test_a_camera_can_be_changed(store: Store) -> None:
    camera = camera_of()
    await store.cameras.add(camera)
    changed = replace(
        camera,
        name="Front gate",
        source=Source("file:/clips/a.mp4", Credentials("", ""), loop=True),
        zone=ZoneInfo("Asia/Shanghai"),
        enabled=True,
    )
    await store.cameras.update(changed)
    assert await store.cameras.get(GATE) == changed


async def test_a_change_keeps_the_life_and_the_stream_time(store: Store) -> None:
    await store.cameras.add(camera_of())
    await store.cameras.mark(GATE, NOON_US)
    await store.cameras.update(replace(camera_of(), incarnation="other", created_us=1))
    camera = await store.cameras.get(GATE)
    assert (camera.incarnation, camera.created_us) == ("life1", NOON_US)
    assert await store.cameras.last_t_us(GATE) == NOON_US


async def test_cameras_that_are_not_registered_are_named(store: Store) -> None:
    with pytest.raises(CameraNotRegistered) as caught:
        await store.cameras.get(GATE)
    assert caught.value.code == "unknown_camera"
    with pytest.raises(CameraNotRegistered):
        await store.cameras.update(camera_of())
    assert await store.cameras.delete(GATE) is False
    assert await store.cameras.last_t_us(GATE) is None


async def test_a_deleted_id_can_be_registered_again_and_starts_anew(store: Store) -> None:
    await store.cameras.add(camera_of())
    await store.cameras.mark(GATE, NOON_US)
    assert await store.cameras.delete(GATE) is True
    await store.cameras.add(camera_of())
    assert await store.cameras.last_t_us(GATE) is None


async def test_stream_time_goes_on_and_never_back(store: Store) -> None:
    await store.cameras.add(camera_of())
    for t_us in (NOON_US + 5, NOON_US, NOON_US + 9, NOON_US + 7):
        await store.cameras.mark(GATE, t_us)
    assert await store.cameras.last_t_us(GATE) == NOON_US + 9


async def test_many_cameras_are_marked_at_once_each_by_its_own_time(store: Store) -> None:
    for camera_id in (GATE, YARD):
        await store.cameras.add(camera_of(camera_id))
    await store.cameras.mark(YARD, NOON_US + 9)
    await store.cameras.mark_all({YARD: NOON_US + 5, GATE: NOON_US + 3, CameraId("gone"): NOON_US})
    await store.cameras.mark_all({})
    assert await store.cameras.last_t_us(GATE) == NOON_US + 3
    assert await store.cameras.last_t_us(YARD) == NOON_US + 9


async def test_marking_a_camera_deleted_meanwhile_changes_nothing(store: Store) -> None:
    await store.cameras.mark(GATE, NOON_US)
    assert await store.cameras.list() == ()


# conversations


async def test_the_last_turns_come_oldest_first(store: Store) -> None:
    await store.cameras.add(camera_of())
    turns = [turn_of(number) for number in range(5)]
    for turn in turns:
        await store.conversations.append(turn)
    assert await store.conversations.last(TALK, count=3) == tuple(turns[2:])
    assert await store.conversations.last(TALK, count=50) == tuple(turns)


async def test_a_turn_comes_back_with_its_cameras_in_the_order_asked(store: Store) -> None:
    for camera_id in (GATE, YARD):
        await store.cameras.add(camera_of(camera_id))
    turn = turn_of(cameras=(YARD, GATE), span=None, question="谁来了？🔥")
    await store.conversations.append(turn)
    assert await store.conversations.last(TALK) == (turn,)


async def test_conversations_are_kept_apart(store: Store) -> None:
    other = ConversationId("conv_2")
    await store.conversations.append(turn_of(1, cameras=()))
    await store.conversations.append(turn_of(2, cameras=(), conversation=other))
    assert [turn.asked_us for turn in await store.conversations.last(other)] == [NOON_US + 2]


@pytest.mark.parametrize("name", ["conv_none", "", "conv_1\0", "conv_1\ud800"])
async def test_an_unknown_conversation_is_named(store: Store, name: str) -> None:
    await store.conversations.append(turn_of(cameras=()))
    with pytest.raises(UnknownConversation) as caught:
        await store.conversations.last(ConversationId(name))
    assert caught.value.code == "unknown_conversation"


async def test_deleting_a_camera_deletes_the_turns_about_it(store: Store) -> None:
    for camera_id in (GATE, YARD):
        await store.cameras.add(camera_of(camera_id))
    await store.conversations.append(turn_of(1))
    await store.conversations.append(turn_of(2, cameras=(YARD, GATE)))
    await store.conversations.append(turn_of(3, cameras=(YARD,)))
    await store.cameras.delete(GATE)
    assert [turn.asked_us for turn in await store.conversations.last(TALK)] == [NOON_US + 3]
    await store.cameras.delete(YARD)
    assert await store.conversations.count() == 0
    with pytest.raises(UnknownConversation):
        await store.conversations.last(TALK)


async def test_a_turn_about_a_camera_deleted_meanwhile_leaves_no_trace(store: Store) -> None:
    with pytest.raises(CameraNotRegistered):
        await store.conversations.append(turn_of())
    assert await store.conversations.count() == 0


async def test_old_turns_can_be_forgotten(store: Store) -> None:
    await store.cameras.add(camera_of())
    for number in range(4):
        await store.conversations.append(turn_of(number))
    assert await store.conversations.forget(before_us=NOON_US + 3) == 3
    assert [turn.asked_us for turn in await store.conversations.last(TALK)] == [NOON_US + 3]


async def test_text_that_no_database_can_keep_is_cleaned_and_kept(store: Store) -> None:
    await store.cameras.add(camera_of(name="ga\0te\udfff"))
    await store.conversations.append(turn_of(question="ab\0cd \ud800", answer="\ud83d\ude00 \0"))
    (turn,) = await store.conversations.last(TALK)
    assert (turn.question, turn.answer) == ("abcd �", "😀 ")
    assert (await store.cameras.get(GATE)).name == "gate�"


# the database


async def test_everything_is_there_after_a_restart(address: str) -> None:
    async with await Store.open(address) as store:
        await store.cameras.add(camera_of())
        await store.cameras.mark(GATE, NOON_US)
        await store.conversations.append(turn_of())
    async with await Store.open(address) as store:
        assert await store.cameras.list() == (camera_of(),)
        assert await store.cameras.last_t_us(GATE) == NOON_US
        assert await store.conversations.last(TALK) == (turn_of(),)


async def test_several_may_open_an_empty_database_at_once(address: str) -> None:
    async with asyncio.TaskGroup() as group:
        opening = [group.create_task(Store.open(address)) for _ in range(4)]
    stores = [task.result() for task in opening]
    await stores[0].cameras.add(camera_of())
    assert [len(await store.cameras.list()) for store in stores] == [1] * 4
    for store in stores:
        await store.close()


async def test_many_writers_lose_nothing(address: str) -> None:
    async with await Store.open(address) as one, await Store.open(address) as two:
        await one.cameras.add(camera_of())
        async with asyncio.TaskGroup() as group:
            for number in range(40):
                for store in (one, two):
                    group.create_task(store.conversations.append(turn_of(number)))
                    group.create_task(store.cameras.mark(GATE, NOON_US + number))
        assert await one.conversations.count() == 80
        assert await two.cameras.last_t_us(GATE) == NOON_US + 39


async def test_a_camera_deleted_while_turns_about_it_are_stored_leaves_no_trace(address: str) -> None:
    async with await Store.open(address) as one, await Store.open(address) as two:
        for rounds in range(5):
            await one.cameras.add(camera_of())
            async with asyncio.TaskGroup() as group:
                for number in range(8):
                    group.create_task(append_if_registered(one, number))
                await asyncio.sleep(rounds * 0.002)
                group.create_task(two.cameras.delete(GATE))
            assert await one.conversations.count() == 0


async def append_if_registered(store: Store, number: int) -> None:
    with contextlib.suppress(CameraNotRegistered):
        await store.conversations.append(turn_of(number))


async def test_asking_for_no_turns_is_a_mistake(store: Store) -> None:
    with pytest.raises(ValueError, match="at least one turn"):
        await store.conversations.last(TALK, count=0)


async def test_a_write_cancelled_in_mid_operation_leaves_the_store_working(store: Store) -> None:
    await store.cameras.add(camera_of())
    for rounds in range(12):
        task = asyncio.create_task(store.conversations.append(turn_of(rounds)))
        for _ in range(rounds * 3):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    before = await store.conversations.count()
    await store.conversations.append(turn_of(99))
    assert await store.conversations.count() == before + 1
    assert (await store.conversations.last(TALK, count=1))[0].cameras == (GATE,)


async def test_a_database_of_a_newer_livelens_is_refused_and_left_alone(address: str) -> None:
    async with await Store.open(address) as store, store._database.writing() as connection:
        await connection.execute(text("UPDATE livelens_schema SET version_num = '9999'"))
    with pytest.raises(StoreTooNew, match="9999"):
        await Store.open(address)


async def test_it_says_whether_it_answers(store: Store) -> None:
    assert await store.healthy()


@pytest.mark.slow
async def test_a_server_that_was_away_serves_again_without_a_restart_of_ours(
    postgres: PostgresServer,
) -> None:
    async with await Store.open(postgres.new_database()) as store:
        await store.cameras.add(camera_of())
        postgres.stop()
        with pytest.raises(StoreUnavailable):
            await store.cameras.mark(GATE, NOON_US)
        assert not await store.healthy()
        postgres.start()
        await store.cameras.mark(GATE, NOON_US)
        assert await store.cameras.last_t_us(GATE) == NOON_US


async def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(StoreUnavailable) as caught:
        await Store.open(
            "postgresql://livelens:s3cret@127.0.0.1:9/livelens", settings=Settings(connections=1)
        )
    assert "127.0.0.1:9" in str(caught.value)
    assert "s3cret" not in str(caught.value)


# deletions elsewhere


async def test_what_is_still_to_be_deleted_elsewhere_is_kept_once_and_goes_when_it_is_done(
    address: str,
) -> None:
    first, second = Incarnation("life1"), Incarnation("life2")
    async with await Store.open(address) as store:
        for camera_id, life in ((YARD, first), (GATE, second), (GATE, first), (GATE, second)):
            await store.deletions.add(camera_id, life)
    async with await Store.open(address) as store:
        assert await store.deletions.list() == ((GATE, first), (GATE, second), (YARD, first))
        await store.deletions.remove(GATE, first)
        await store.deletions.remove(GATE, first)
        assert await store.deletions.list() == ((GATE, second), (YARD, first))
