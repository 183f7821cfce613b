"""The way to Redis: what fails is WindowUnavailable, in bounded time, with its cause; it heals by itself."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from featcache.errors import WindowUnavailable
from featcache.redis_link import Fault, RedisLink, evaluate
from featcache.redis_scripts import HEAD
from featcache.redis_settings import RedisSettings
from livelens.ports import free_port
from tests.support.redis_server import RedisServer, fail_snapshot, save_again
from tests.support.rtsp_server import certificate
from tests.support.windows import GATE


async def fault_of(settings: RedisSettings, *command: str) -> Fault | None:
    link = RedisLink(settings)
    try:
        with pytest.raises(WindowUnavailable):
            await link.run(GATE, [command or ("PING",)])
    finally:
        await link.aclose()
    return link.fault


async def test_nobody_listening_is_told_at_once() -> None:
    begun = time.monotonic()
    assert await fault_of(RedisSettings(url=f"redis://127.0.0.1:{free_port()}")) is Fault.AWAY
    assert await fault_of(RedisSettings(url="unix:///nowhere/redis.sock")) is Fault.AWAY
    assert time.monotonic() - begun < 1


async def test_a_server_that_does_not_answer_costs_the_reply_timeout_only() -> None:
    with RedisServer() as server:
        link = RedisLink(RedisSettings(url=server.url, reply_timeout_us=100_000))
        assert await link.run(GATE, [("PING",)])
        server.freeze()
        begun = time.monotonic()
        with pytest.raises(WindowUnavailable):
            await link.run(GATE, [("PING",)])
        assert time.monotonic() - begun < 1
        assert link.fault is Fault.SLOW
        server.thaw()
        assert await link.run(GATE, [("PING",)])
        assert link.fault is None
        await link.aclose()


async def test_the_password_is_sent_and_a_wrong_one_is_named() -> None:
    with RedisServer("--requirepass", "secret") as server:
        link = RedisLink(RedisSettings(url=server.tcp_url, password="secret"))
        assert await link.run(GATE, [("PING",)])
        await link.aclose()
        assert await fault_of(RedisSettings(url=server.url, password="wrong")) is Fault.DENIED
        assert await fault_of(RedisSettings(url=server.url)) is Fault.DENIED


async def test_tls_is_spoken_and_a_foreign_certificate_is_refused(tmp_path: Path) -> None:
    own, key = certificate(tmp_path, "localhost")
    port = free_port()
    files = ("--tls-cert-file", str(own), "--tls-key-file", str(key), "--tls-ca-cert-file", str(own))
    with RedisServer("--tls-port", str(port), "--tls-auth-clients", "no", *files):
        url = f"rediss://localhost:{port}"
        link = RedisLink(RedisSettings(url=url, ca_file=str(own)))
        assert await link.run(GATE, [("PING",)])
        await link.aclose()
        assert await fault_of(RedisSettings(url=url)) is Fault.AWAY


@pytest.mark.parametrize("protocol", [2, 3])
async def test_a_script_the_server_has_forgotten_is_sent_again(protocol: int) -> None:
    with RedisServer() as server:
        link = RedisLink(RedisSettings(url=server.url, protocol=protocol))
        ask = evaluate(HEAD, [f"{{x}}{n}" for n in range(6)], "{x}")
        assert await link.run(GATE, [ask]) == [[b"missing"]]
        server.cli("SCRIPT", "FLUSH")
        assert await link.run(GATE, [ask, ask]) == [[b"missing"], [b"missing"]]
        await link.aclose()


async def test_a_cancelled_command_leaves_a_link_that_works() -> None:
    with RedisServer() as server:
        link = RedisLink(RedisSettings(url=server.url))
        server.freeze()
        task = asyncio.create_task(link.run(GATE, [("ECHO", "old")]))
        for _ in range(20):  # until the command is on its way
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        server.thaw()
        assert await link.run(GATE, [("ECHO", "new")]) == [b"new"]
        await link.aclose()


def test_importing_the_window_does_not_import_the_client() -> None:
    code = "import sys, featcache.redis; assert 'redis.asyncio' not in sys.modules and 'redis' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


async def test_a_refusal_for_want_of_a_snapshot_is_told_from_a_replica_s() -> None:
    with RedisServer("--save", "3600 1000", "--enable-protected-configs", "yes") as server:
        settings = RedisSettings(url=server.url)
        fail_snapshot(server)
        assert await fault_of(settings, "SET", "x", "1") is Fault.UNSAVED
        assert (
            await fault_of(settings, "EVAL", "return redis.call('SET', KEYS[1], 1)", "1", "x")
            is Fault.UNSAVED
        )
        save_again(server)
        server.cli("REPLICAOF", "127.0.0.1", str(free_port()))
        assert await fault_of(settings, "SET", "x", "1") is Fault.READ_ONLY
