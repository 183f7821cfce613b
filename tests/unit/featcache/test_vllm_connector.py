"""The connector between a real Redis and as much of vLLM as it touches; tests/e2e/test_vllm_*.py has the real one."""

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from core.ids import FrameRef
from core.meter import NullMeter
from featcache.narrow import narrowed, widened
from featcache.redis import RedisWindow
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from tests.support.fake_vllm import ECConnectorRole, fake_vllm, part, request, vllm_config
from tests.support.redis_server import shared_server
from tests.support.windows import ENCODER, FIRST_LIFE, GATE, features_of, stored

pytestmark = pytest.mark.torch

Ensure = Callable[..., bool]
TEXT_END = 100


@pytest.fixture
async def window() -> AsyncIterator[RedisWindow]:
    window = RedisWindow(RedisSettings(url=shared_server().url), settings=Settings(), meter=NullMeter())
    await window.open_camera(GATE, FIRST_LIFE)
    yield window
    await window.aclose()


@contextmanager
def scheduler(url: str, **extra: Any) -> Iterator[Any]:
    with fake_vllm():
        from featcache.vllm_connector import WindowConnector

        config = vllm_config({"encoder": ENCODER, "redis": {"url": url}, **extra})
        connector = WindowConnector(config, ECConnectorRole.SCHEDULER)
        try:
            yield connector
        finally:
            connector.shutdown()


@pytest.fixture
def connector(window: RedisWindow) -> Iterator[Any]:
    with scheduler(window._redis.url) as connector:
        yield connector


async def put(window: RedisWindow, *times: int) -> list[str]:
    frames = [stored(t, seq=t, features=features_of(seed=t)) for t in times]
    for frame in frames:
        await window.put(frame, incarnation=FIRST_LIFE)
    return [frame.ref for frame in frames]


def settled(connector: Any, asked: Any, computed: int = 0) -> str:
    """Ask as the scheduler does, step after step, until a request may run or is given up; return which."""
    give_up = time.monotonic() + 10
    while True:
        if connector.ensure_cache_available(asked, computed):
            return "ready"
        if asked.request_id in connector.take_unavailable_requests():
            return "given up"
        assert time.monotonic() < give_up
        time.sleep(0.001)


def loads(connector: Any, asked: Any) -> dict[str, Any]:
    """Allocate all pictures of a request, as the scheduler does, and return what goes to the workers."""
    for index, piece in enumerate(asked.mm_features):
        assert connector.has_cache_item(piece.identifier)
        connector.update_state_after_alloc(asked, index)
    found: dict[str, Any] = connector.build_connector_meta(None).loads
    return found


async def test_frames_named_by_id_come_from_the_window_as_they_were_stored(
    window: RedisWindow, connector: Any
) -> None:
    refs = await put(window, 1, 2)
    asked = request("r", part(refs[0], at=3), part(refs[1], at=9))
    assert not connector.ensure_cache_available(asked, 0), "it never waits"
    assert settled(connector, asked) == "ready"
    found = loads(connector, asked)
    for seed, ref in zip((1, 2), refs, strict=True):
        assert found[ref].dtype is torch.bfloat16
        bits = found[ref].view(torch.int16).numpy().astype("<u2")
        assert (bits == features_of(seed=seed).bits()).all()
    assert connector.build_connector_meta(None).loads == {}, "each step carries its own"


async def test_workers_put_features_where_the_model_looks_in_its_own_number_type(
    window: RedisWindow, connector: Any
) -> None:
    (ref,) = await put(window, 1)
    asked = request("r", part(ref, at=0))
    settled(connector, asked)
    connector.update_state_after_alloc(asked, 0)
    step = connector.build_connector_meta(None)
    worker = type(connector)(vllm_config({}, dtype=torch.float32), ECConnectorRole.WORKER)
    worker.bind_connector_metadata(step)
    kept = torch.zeros(1)
    cache: dict[str, Any] = {"pixels": kept}
    worker.start_load_caches(cache)
    assert cache["pixels"] is kept
    assert cache[ref].dtype is torch.float32
    assert torch.equal(cache[ref], step.loads[ref].to(torch.float32))
    before = cache[ref]
    worker.start_load_caches(cache)
    assert cache[ref] is before
    worker.save_caches(cache, ref)
    assert worker.get_ec_connector_stats() is None
    worker.shutdown()


async def test_what_vllm_encodes_itself_is_counted_beside_what_comes_from_the_window(connector: Any) -> None:
    step = SimpleNamespace(scheduled_encoder_inputs={"r": [0, 2], "s": [1]})
    connector.build_connector_meta(step)
    assert connector.get_ec_connector_stats().data["encoded"] == 3
    connector.build_connector_meta(SimpleNamespace(scheduled_encoder_inputs={}))
    assert connector.get_ec_connector_stats() is None


@pytest.mark.parametrize(
    ("identifier", "reason"),
    [
        ("no id of ours", "id"),
        ("gate/1/ffffffffffff/4", "encoder"),
        (f"gate/77/{ENCODER}/4", "gone"),
        (f"nowhere/1/{ENCODER}/4", "gone"),
    ],
)
async def test_a_frame_that_cannot_be_had_gives_up_its_own_request_only(
    window: RedisWindow, connector: Any, identifier: str, reason: str
) -> None:
    (ref,) = await put(window, 1)
    bad = request("bad", part(ref, at=0), part(identifier, at=5))
    good = request("good", part(ref, at=0))
    assert settled(connector, bad) == "given up"
    assert settled(connector, good) == "ready"
    assert not connector.ensure_cache_available(bad, 0), "it stays given up until vLLM has ended it"
    assert connector.take_unavailable_requests() == set()
    connector.request_finished(bad)
    told = connector.get_ec_connector_stats()
    assert told.data[f"refused:{reason}"] == 1
    assert connector.get_ec_connector_stats() is None


@pytest.mark.parametrize("change", [{"tokens": 6}, {"grid": (1, 2, 8)}])
async def test_a_request_that_makes_room_for_another_shape_is_given_up(
    window: RedisWindow, connector: Any, change: dict[str, Any]
) -> None:
    (ref,) = await put(window, 1)
    assert settled(connector, request("bad", part(ref, at=0, **change))) == "given up"
    assert settled(connector, request("twice", part(ref, at=0), part(ref, at=8, **change))) == "given up"
    assert settled(connector, request("good", part(ref, at=0), part(ref, at=8))) == "ready"


async def test_features_of_another_width_are_refused(window: RedisWindow, connector: Any) -> None:
    frame = stored(1, features=features_of(tokens=4, width=16))
    await window.put(frame, incarnation=FIRST_LIFE)
    assert settled(connector, request("r", part(frame.ref, at=0))) == "given up"
    assert connector.get_ec_connector_stats().data["refused:width"] == 1


async def test_features_kept_at_eight_bit_reach_the_model_in_sixteen(
    window: RedisWindow, connector: Any
) -> None:
    features = narrowed(features_of())
    plain = stored(1, features=features)
    ref = FrameRef(f"{plain.ref}i8")
    await window.put(replace(plain, ref=ref), incarnation=FIRST_LIFE)
    asked = request("r", part(ref, at=0))
    assert settled(connector, asked) == "ready"
    value = loads(connector, asked)[ref]
    assert value.dtype is torch.bfloat16
    wide = widened(plain).features
    assert wide is not None
    assert (value.view(torch.int16).numpy().astype("<u2") == wide.bits()).all()


async def test_films_are_not_asked_for_by_id(window: RedisWindow, connector: Any) -> None:
    (ref,) = await put(window, 1)
    assert settled(connector, request("r", part(ref, at=0, modality="video"))) == "given up"


async def test_a_request_without_ids_is_none_of_our_business(connector: Any) -> None:
    asked = request("r", part("6f1e", at=0, pixel_values=object()), part("77aa", at=9, image_embeds=object()))
    assert connector.ensure_cache_available(asked, 0)
    assert not connector.has_cache_item("6f1e")
    connector.update_state_after_alloc(asked, 0)
    assert connector.build_connector_meta(None).loads == {}


async def test_what_the_prefix_cache_covers_is_not_fetched(window: RedisWindow, connector: Any) -> None:
    refs = await put(window, 1, 2)
    asked = request("r", part(refs[0], at=0), part(refs[1], at=6))
    assert settled(connector, asked, computed=5) == "ready"
    assert not connector.has_cache_item(refs[0])
    assert connector.has_cache_item(refs[1])
    assert connector.ensure_cache_available(asked, TEXT_END)


async def test_after_a_preemption_everything_is_made_ready_again(window: RedisWindow, connector: Any) -> None:
    refs = await put(window, 1, 2)
    asked = request("r", part(refs[0], at=0), part(refs[1], at=6))
    assert settled(connector, asked, computed=8) == "ready"
    assert settled(connector, asked, computed=0) == "ready"
    assert len(loads(connector, asked)) == 2


async def test_a_second_question_finds_the_frames_here_at_once(window: RedisWindow, connector: Any) -> None:
    refs = await put(window, 1)
    first = request("first", part(refs[0], at=0))
    settled(connector, first)
    assert len(loads(connector, first)) == 1
    connector.request_finished(first)
    assert connector.ensure_cache_available(request("second", part(refs[0], at=0)), 0), "at once"
    told = connector.get_ec_connector_stats()
    assert (told.data["loaded"], told.data["staged"], told.data["staged_bytes"]) == (1, 1, 64)


async def test_an_error_of_our_own_gives_up_the_request_and_raises_nothing(
    connector: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL", "featcache.vllm_connector")  # the ERROR is meant
    broken = request("r", object())
    assert not connector.ensure_cache_available(broken, 0)
    assert connector.take_unavailable_requests() == {"r"}
    assert not connector.ensure_cache_available(broken, 0)
    connector.request_finished(broken)


def test_redis_away_gives_up_the_request_and_the_next_one_may_be_lucky() -> None:
    with scheduler("redis://127.0.0.1:9/0", encoder="") as connector:
        asked = request("r", part(f"gate/1/{ENCODER}/4", at=0))
        assert settled(connector, asked) == "given up"
        assert connector.get_ec_connector_stats().data["refused:away"] == 1


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({}, "needs the address of Redis"),
        ({"redis": {"url": "http://x"}}, "url must begin with"),
        ({"staging": 1, "redis": {"url": "redis://x"}}, "staging"),
        ({"redis": {"uri": "redis://x"}}, "uri"),
    ],
)
def test_a_wrong_start_ends_at_once_and_says_why(extra: dict[str, Any], said: str) -> None:
    with fake_vllm():
        from featcache.vllm_connector import WindowConnector

        with pytest.raises((ValueError, TypeError), match=said):
            WindowConnector(vllm_config(extra), ECConnectorRole.SCHEDULER)


def test_the_address_of_redis_and_its_password_may_come_by_the_environment() -> None:
    with fake_vllm():
        from featcache.vllm_connector import ConnectorSettings

        read = ConnectorSettings.read(
            {"staging_bytes": 5, "redis": {"prefix": "mine"}},
            {
                "LIVELENS_CONNECTOR_REDIS_URL": "redis://h:1/0",
                "LIVELENS_CONNECTOR_REDIS_PASSWORD": "word",
            },
        )
        assert read.staging_bytes == 5
        assert read.redis == RedisSettings(url="redis://h:1/0", password="word", prefix="mine")


def test_the_names_of_the_variables_are_those_that_the_command_sets() -> None:
    from livelens import decoder_command

    with fake_vllm():
        from featcache import vllm_connector

        assert vllm_connector.REDIS_URL_VARIABLE == decoder_command.REDIS_URL_VARIABLE
        assert vllm_connector.REDIS_PASSWORD_VARIABLE == decoder_command.REDIS_PASSWORD_VARIABLE
        assert vllm_connector.WindowConnector.__name__ == decoder_command.CONNECTOR_CLASS
        assert vllm_connector.__name__ == decoder_command.CONNECTOR_MODULE
