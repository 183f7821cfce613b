"""One look at a real Redis says whether it can hold the copy, and what is not as it should be."""

import pytest

from featcache.redis_link import Fault
from featcache.redis_probe import look
from featcache.redis_settings import RedisSettings
from livelens.ports import free_port
from tests.support.redis_server import RedisServer, shared_server


async def test_a_redis_that_will_do_gives_no_concern() -> None:
    found = await look(RedisSettings(url=shared_server().url))
    assert (found.fault, found.concerns) == (None, ())
    assert found.version[0].isdigit()
    assert 0 < found.answer_us < 5_000_000
    assert abs(found.clock_offset_us) < 1_000_000


@pytest.mark.parametrize("protocol", [2, 3])
async def test_too_little_memory_and_a_policy_that_evicts_are_named(protocol: int) -> None:
    with RedisServer("--maxmemory", "20mb", "--maxmemory-policy", "allkeys-lru") as server:
        found = await look(RedisSettings(url=server.url, protocol=protocol))
        assert found.fault is None
        assert [words.split()[0] for words in found.concerns] == ["maxmemory", "maxmemory-policy"]


async def test_one_that_is_away_or_takes_no_writes_has_a_fault() -> None:
    assert (await look(RedisSettings(url="unix:///nowhere/redis.sock"))).fault is Fault.AWAY
    with RedisServer() as server:
        server.cli("REPLICAOF", "127.0.0.1", str(free_port()))
        assert (await look(RedisSettings(url=server.url))).fault is Fault.READ_ONLY
