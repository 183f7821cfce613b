"""Fetching in a thread of its own, from a real Redis."""

import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from core.frames import Features
from core.ids import FrameRef
from core.meter import NullMeter
from featcache.redis import RedisWindow
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.vllm_connector_checks import Refusal
from featcache.vllm_connector_fetch import FrameFetcher
from featcache.window import StoredFrame
from tests.support.redis_server import RedisServer, shared_server
from tests.support.windows import FIRST_LIFE, GATE, features_of, stored

Fetcher = FrameFetcher[tuple[int, int]]


def shape(features: Features | None) -> tuple[int, int] | Refusal:
    return Refusal.NO_FEATURES if features is None else features.shape


@pytest.fixture
async def window() -> AsyncIterator[RedisWindow]:
    window = RedisWindow(RedisSettings(url=shared_server().url), settings=Settings(), meter=NullMeter())
    await window.open_camera(GATE, FIRST_LIFE)
    yield window
    await window.aclose()


@pytest.fixture
def fetcher(window: RedisWindow) -> Iterator[Fetcher]:
    fetcher: Fetcher = FrameFetcher(window._redis, convert=shape, batch=3)
    yield fetcher
    fetcher.close()


def collect(fetcher: Fetcher, count: int, *, within_s: float = 10.0) -> dict[FrameRef, object]:
    """Return what arrives, once it is so many frames."""
    found: list[tuple[FrameRef, object]] = []
    give_up = time.monotonic() + within_s
    while len(found) < count:
        assert time.monotonic() < give_up, found
        found += fetcher.take()
        time.sleep(0.002)
    assert len(dict(found)) == len(found), "a frame came twice"
    return dict(found)


async def put(window: RedisWindow, count: int) -> list[StoredFrame]:
    frames = [stored(t, seq=t, features=features_of(seed=t)) for t in range(1, count + 1)]
    for frame in frames:
        await window.put(frame, incarnation=FIRST_LIFE)
    return frames


async def test_frames_come_in_batches_each_once(window: RedisWindow, fetcher: Fetcher) -> None:
    frames = await put(window, 8)
    fetcher.fetch([frame.ref for frame in frames])
    assert collect(fetcher, 8) == {frame.ref: (4, 8) for frame in frames}
    assert fetcher.take() == []


async def test_what_the_window_does_not_hold_is_gone_and_the_others_come(
    window: RedisWindow, fetcher: Fetcher
) -> None:
    (frame,) = await put(window, 1)
    missing = FrameRef(frame.ref.replace("/1/", "/99/"))
    unknown = FrameRef(frame.ref.replace("gate", "nowhere"))
    fetcher.fetch([missing, frame.ref, unknown])
    assert collect(fetcher, 3) == {missing: Refusal.GONE, frame.ref: (4, 8), unknown: Refusal.GONE}


async def test_a_damaged_value_is_gone_and_counted(window: RedisWindow, fetcher: Fetcher) -> None:
    good, bad = await put(window, 2)
    key = next(k for k in shared_keys() if k.endswith(":f:2"))
    await window._link.run(GATE, [("SET", key, b"not a frame" * 9)])
    fetcher.fetch([good.ref, bad.ref])
    assert collect(fetcher, 2) == {good.ref: (4, 8), bad.ref: Refusal.GONE}
    assert fetcher.damaged == (("format", 1),)


def shared_keys() -> list[str]:
    from tests.support import redis_server

    return next(iter(redis_server._shared.values())).key_names()


async def test_a_frame_without_features_is_told_apart(window: RedisWindow, fetcher: Fetcher) -> None:
    plain = stored(5)
    await window.put(plain, incarnation=FIRST_LIFE)
    fetcher.fetch([plain.ref])
    assert collect(fetcher, 1) == {plain.ref: Refusal.NO_FEATURES}


async def test_a_conversion_that_fails_is_a_refusal(
    window: RedisWindow, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(features: Features | None) -> tuple[int, int]:
        raise RuntimeError("no memory")

    (frame,) = await put(window, 1)
    fetcher: Fetcher = FrameFetcher(window._redis, convert=broken)
    try:
        caplog.set_level("CRITICAL", "featcache.vllm_connector_fetch")  # the ERROR is meant
        fetcher.fetch([frame.ref])
        assert collect(fetcher, 1) == {frame.ref: Refusal.FAILED}
    finally:
        fetcher.close()


def test_redis_away_is_a_refusal_at_once_and_when_it_is_back_frames_come() -> None:
    with RedisServer() as server:
        settings = RedisSettings(url=server.url, connect_timeout_us=200_000, operation_timeout_us=400_000)
        fetcher: Fetcher = FrameFetcher(settings, convert=shape)
        ref = stored(1, features=features_of()).ref
        try:
            fetcher.fetch([ref])
            assert collect(fetcher, 1) == {ref: Refusal.GONE}
            server.kill()
            fetcher.fetch([ref])
            assert collect(fetcher, 1, within_s=3) == {ref: Refusal.AWAY}
            server.start()
            fetcher.fetch([ref])
            assert collect(fetcher, 1) == {ref: Refusal.GONE}
            server.freeze()
            fetcher.fetch([ref])
            assert collect(fetcher, 1, within_s=5) == {ref: Refusal.AWAY}
            server.thaw()
        finally:
            fetcher.close()


def test_a_closed_fetcher_refuses_and_its_thread_has_ended() -> None:
    fetcher: Fetcher = FrameFetcher(RedisSettings(url="redis://127.0.0.1:9/0"), convert=shape)
    fetcher.close()
    fetcher.fetch([FrameRef("gate/1/0123456789ab/4")])
    assert [why for _, why in fetcher.take()] == [Refusal.AWAY]
    fetcher.close()


def test_closing_does_not_wait_for_a_server_that_does_not_answer() -> None:
    with RedisServer() as server:
        settings = replace(
            RedisSettings(url=server.url), operation_timeout_us=60_000_000, reply_timeout_us=60_000_000
        )
        fetcher: Fetcher = FrameFetcher(settings, convert=shape)
        server.freeze()
        fetcher.fetch([stored(1, features=features_of()).ref])
        started_s = time.monotonic()
        fetcher.close()
        assert time.monotonic() - started_s < 3
        server.thaw()
