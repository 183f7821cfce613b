"""Reading the published copy from another process than the writer: forged values, lost frames, lives that end."""

import pickle
import struct
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.meter import Metric, NullMeter, TallyMeter
from core.records import StaticSpan
from core.spans import Span
from featcache.codec import HEADER_BYTES
from featcache.errors import UnknownCamera
from featcache.redis import RedisWindow
from featcache.redis_keys import LifeKeys
from featcache.redis_reader import RedisReader
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from tests.support.redis_server import shared_server
from tests.support.windows import FIRST_LIFE, GATE, SECOND_LIFE, features_of, stored

EVER = Span(0, 1 << 60)
KEYS = LifeKeys.of("livelens", GATE, FIRST_LIFE)


@pytest.fixture
async def writer() -> AsyncIterator[RedisWindow]:
    window = RedisWindow(RedisSettings(url=shared_server().url), settings=Settings(), meter=NullMeter())
    await window.open_camera(GATE, FIRST_LIFE)
    yield window
    await window.aclose()


@pytest.fixture
async def reader(writer: RedisWindow) -> AsyncIterator[RedisReader]:
    reader = RedisReader(RedisSettings(url=shared_server_url()), meter=TallyMeter())
    yield reader
    await reader.aclose()


def shared_server_url() -> str:
    from tests.support import redis_server

    return next(iter(redis_server._shared.values())).url


async def raw(reader: RedisReader, *command: str | bytes | int) -> object:
    return (await reader._link.run(GATE, [command]))[0]


async def test_another_process_reads_what_was_published(writer: RedisWindow, reader: RedisReader) -> None:
    frames = [stored(t, seq=t, features=features_of(seed=t)) for t in (10, 20)]
    for frame in frames:
        await writer.put(frame, incarnation=FIRST_LIFE)
    await writer.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)
    assert await reader.fetch([frame.ref for frame in frames]) == tuple(frames)
    assert (await reader.head(GATE)).frames == 2
    assert await reader.records(GATE, EVER) == (StaticSpan(1, 2),)


class _Canary:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


async def test_forged_values_are_left_out_and_counted_and_the_rest_is_used(
    writer: RedisWindow, reader: RedisReader, tmp_path: Path
) -> None:
    """B29: truncated, of another dtype, NaN, of another width, of a wrong header length, a pickle, misplaced."""
    canary = tmp_path / "canary"
    frames = [stored(t, seq=t, features=features_of(seed=t)) for t in range(10, 20)]
    for frame in frames:
        await writer.put(frame, incarnation=FIRST_LIFE)
    good = await raw(reader, "GET", KEYS.frame(10))
    assert isinstance(good, bytes)
    forged = {
        11: good[:-9],
        12: good[:5] + b"\x07" + good[6:],
        13: good[:HEADER_BYTES] + struct.pack("<H", 0x7FC0) + good[HEADER_BYTES + 2 :],
        14: good[:12] + struct.pack("<I", 9) + good[16:],
        15: pickle.dumps(_Canary(canary)),
        16: good,
        17: good[:28] + struct.pack("<I", 1) + good[32:],
    }
    for t_us, value in forged.items():
        await raw(reader, "SET", KEYS.frame(t_us), value)
    found = await reader.fetch([frame.ref for frame in frames])
    assert found == (frames[0], frames[8], frames[9])
    assert not canary.exists()
    assert sum(count for _, count in reader.refused) == len(forged)
    assert isinstance(reader._meter, TallyMeter)
    assert reader._meter.total(Metric.FEATURES_REFUSED) == len(forged)
    assert await reader.at(GATE, 11) is None


async def test_the_size_a_header_declares_is_checked_before_memory_is_taken(
    writer: RedisWindow, reader: RedisReader
) -> None:
    """B29: a value of some hundred bytes that claims 2^20 tokens of 2^20 columns."""
    frame = stored(10, features=features_of())
    await writer.put(frame, incarnation=FIRST_LIFE)
    good = await raw(reader, "GET", KEYS.frame(10))
    assert isinstance(good, bytes)
    await raw(reader, "SET", KEYS.frame(10), good[:8] + struct.pack("<II", 1 << 20, 1 << 20) + good[16:])
    tracemalloc.start()
    try:
        assert await reader.fetch([frame.ref]) == ()
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert reader.refused == (("features", 1),)


async def test_forged_entries_and_records_are_left_out(writer: RedisWindow, reader: RedisReader) -> None:
    await writer.put(stored(10), incarnation=FIRST_LIFE)
    await writer.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)
    await raw(reader, "ZADD", KEYS.index, 11, b"\xffnonsense")
    await raw(reader, "HSET", KEYS.records, "static:3", b"\x80pickle")
    await raw(reader, "ZADD", KEYS.ends, 4, "static:3")
    assert [info.t_us for info in await reader.index(GATE, EVER)] == [10]
    assert await reader.records(GATE, EVER) == (StaticSpan(1, 2),)


async def test_an_entry_whose_frame_is_gone_is_taken_out_by_the_reader_who_notices(
    writer: RedisWindow, reader: RedisReader
) -> None:
    for t_us in (10, 20):
        await writer.put(stored(t_us), incarnation=FIRST_LIFE)
    await raw(reader, "DEL", KEYS.frame(10))
    assert [info.t_us for info in await reader.index(GATE, EVER)] == [10, 20]
    assert [frame.t_us for frame in await reader.fetch([stored(10).ref, stored(20).ref])] == [20]
    assert [info.t_us for info in await reader.index(GATE, EVER)] == [20]
    head = await reader.head(GATE)
    assert (head.frames, head.size_bytes, head.evicted_before_us) == (1, stored(20).size_bytes, None)


async def test_a_reader_follows_a_camera_into_its_next_life(writer: RedisWindow, reader: RedisReader) -> None:
    await writer.put(stored(10), incarnation=FIRST_LIFE)
    assert (await reader.head(GATE)).incarnation == FIRST_LIFE
    await writer.open_camera(GATE, SECOND_LIFE)
    assert (await reader.head(GATE)).incarnation == SECOND_LIFE
    assert await reader.fetch([stored(10).ref]) == ()
    await writer.delete_camera(GATE)
    with pytest.raises(UnknownCamera):
        await reader.index(GATE, EVER)
