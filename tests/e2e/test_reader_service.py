"""Two services over one Redis: one takes the camera in, the other answers from the window that the first publishes.

Redis has room for less than the window, so that some frames lie with the first process only.
"""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import Heard, ask
from tests.support.clips import Shot, constant_rate, write_clip
from tests.support.redis_server import RedisServer
from tests.support.scripted_openai import Reply
from tests.support.scripted_vllm import ScriptedVllm
from tests.support.service import LivelensProcess
from tests.support.tiny_model import tiny_model_folder

__all__ = ["tiny_model_folder"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

GATE = "/api/v1/cameras/gate"
ENCODED = "livelens_frames_encoded_total"
SOME_PICTURES_BYTES = 45_000
"""Room for 11 of the clip's frames of 4 kB; a quarter of it may be lent."""
SOME_FEATURES_BYTES = 163_000
"""Room for 12 of the clip's frames with features, of 13 kB."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """The process that takes the camera in, and the one that only answers."""

    owner: LivelensProcess
    reader: LivelensProcess
    redis: RedisServer

    def frames(self, service: LivelensProcess) -> list[Json]:
        listed: list[Json] = service.get(f"{GATE}/frames?last_s=600")["frames"]
        return listed

    def timeline(self) -> Json:
        return self.reader.get(f"{GATE}/timeline?last_s=600")

    def tiers(self) -> list[str]:
        return [frame["tier"] for frame in self.frames(self.reader)]

    async def until_spilled(self) -> None:
        """Wait until Redis holds what it has room for, ten frames at least, and lists the older ones."""

        def spilled() -> bool:
            tiers = self.tiers()
            held = tiers.count("redis")
            return 10 <= held < len(tiers) == (tiers.index("redis") + held)

        await self.reader.until("the newest are held, the others spilled", spilled)

    def across_the_edge(self) -> list[Json]:
        """Return the frames that Redis holds, and two older ones, which may be lent at the same time."""
        frames = self.frames(self.reader)
        edge = [frame["tier"] for frame in frames].index("redis")
        assert edge >= 2
        return frames[edge - 2 :]

    def picture(self, service: LivelensProcess, t_us: int) -> bytes:
        reply = service.call("GET", f"{GATE}/frames/{t_us}.jpg")
        return reply.content if reply.status_code == 200 else b""

    async def ask(self, service: LivelensProcess, text: str, **more: Any) -> Heard:
        return await ask(service.url, {"cameras": ["gate"], "text": text, **more})


def window_of(frames: list[Json]) -> Json:
    """Return the span from the first of these frames up to the last, that one not included."""
    return {"from": frames[0]["t"], "to": frames[-1]["t"]}


@asynccontextmanager
async def pair(
    tmp_path: Path,
    *,
    loop: bool,
    budget_bytes: int,
    owner: Mapping[str, str] | None = None,
    reader: Mapping[str, str] | None = None,
) -> AsyncIterator[Pair]:
    """Run both; without ``loop`` the camera comes to its end, so that the window stands still."""
    clip = write_clip(tmp_path / "moving.mp4", [Shot(constant_rate(60))])
    with RedisServer() as redis:
        shared = {"LIVELENS_REDIS__URL": redis.url}
        budget = {"LIVELENS_REDIS__REDIS_BUDGET_BYTES": str(budget_bytes)}
        async with (
            LivelensProcess(["serve"], settings={**shared, **budget, **(owner or {})}) as first,
            LivelensProcess(["serve", "--no-ingest"], settings={**shared, **(reader or {})}) as second,
        ):
            body = {"id": "gate", "name": "Gate 1", "source": {"url": clip.as_uri(), "loop": loop}}
            assert first.call("POST", "/api/v1/cameras", body).status_code == 201
            if not loop:
                await first.until_state("gate", "offline")
            await second.until("the camera is seen", lambda: bool(second.get("/api/v1/cameras")["cameras"]))
            if not loop:
                await second.until_state("gate", "offline")
            yield Pair(first, second, redis)


async def test_the_second_process_answers_about_frames_that_only_the_first_one_holds(tmp_path: Path) -> None:
    async with pair(tmp_path, loop=False, budget_bytes=SOME_PICTURES_BYTES) as both:
        owned = both.frames(both.owner)
        await both.until_spilled()
        seen = both.frames(both.reader)
        assert [frame["ref"] for frame in seen] == [frame["ref"] for frame in owned]
        assert [tier["tier"] for tier in both.timeline()["tiers"]] == ["memory", "redis"]
        spilled = [frame["t_us"] for frame in seen if frame["tier"] == "memory"]

        shown = both.reader.camera("gate")
        assert (shown["name"], shown["state"]["state"], shown["answered_by"]) == (
            "Gate 1",
            "offline",
            "measured",
        )
        assert shown["window"]["frames"] == len(owned)
        for t_us in (spilled[0], owned[-1]["t_us"]):
            assert both.picture(both.reader, t_us) == both.picture(both.owner, t_us) != b""
        assert both.reader.call("GET", f"{GATE}/latest.jpg").content == both.picture(
            both.owner, owned[-1]["t_us"]
        )

        window = {"from": owned[0]["t"], "to": owned[len(spilled)]["t"]}
        heard = [
            await both.ask(service, "What happened?", window=window) for service in (both.owner, both.reader)
        ]
        assert heard[0].text == heard[1].text
        assert heard[1].done["outcome"] == "ok"
        assert heard[1].done["frames_encoded_now"] == 0
        assert heard[1].started["coverage"]["covered"] == heard[0].started["coverage"]["covered"]
        used = {frame["t_us"] for frame in heard[1].started["frames"]}
        assert used & set(spilled)
        assert both.reader.counted("livelens_frames_in_total") == 0

        for method, path, body in (
            ("POST", "/api/v1/cameras", {"id": "yard", "source": {"url": "rtsp://127.0.0.1:9/"}}),
            ("PATCH", GATE, {"name": "Door"}),
            ("DELETE", GATE, None),
            ("GET", f"{GATE}/preview.mjpeg", None),
        ):
            reply = both.reader.call(method, path, body)
            assert (reply.status_code, reply.json()["code"]) == (409, "cameras_elsewhere")

        assert both.owner.call("PATCH", GATE, {"name": "Gate 2"}).status_code == 200
        await both.reader.until("the new name", lambda: both.reader.camera("gate")["name"] == "Gate 2")
        assert both.owner.call("DELETE", GATE).status_code == 200
        await both.reader.until("it is gone", lambda: both.reader.get("/api/v1/cameras")["cameras"] == [])
        assert both.reader.call("GET", f"{GATE}/timeline").status_code == 404
        assert not [key for key in both.redis.key_names() if "gate" in key or key == "livelens:cameras"]


async def test_redis_killed_is_503_with_a_time_to_try_again_and_the_second_process_is_back_by_itself(
    tmp_path: Path,
) -> None:
    question = {"cameras": ["gate"], "text": "What happened?", "window": {"last_s": 60}}
    async with pair(tmp_path, loop=True, budget_bytes=1 << 30) as both:
        reader = both.reader

        def answers() -> bool:
            return '"outcome":"ok"' in reader.call("POST", "/api/v1/ask", question).text.replace(" ", "")

        await reader.until("it answers", answers)
        kept = [frame["ref"] for frame in both.frames(both.owner)]
        both.redis.kill()
        began = time.monotonic()
        reply = reader.call("POST", "/api/v1/ask", question)
        assert time.monotonic() - began < 5
        assert (reply.status_code, reply.json()["code"]) == (503, "window_unavailable")
        assert int(reply.headers["Retry-After"]) >= 1
        live = await both.ask(reader, "What is happening now?")
        assert (live.error["code"], live.error["retryable"]) == ("window_unavailable", True)
        await reader.until("not ready", lambda: reader.call("GET", "/readyz").status_code == 503)
        told = reader.call("GET", "/readyz").json()
        assert (told["ready"], told["parts"]["redis"]) == (False, False)
        assert "Redis cannot be reached" in told["details"]["redis"]
        assert [camera["id"] for camera in reader.get("/api/v1/cameras")["cameras"]] == ["gate"]
        assert reader.call("GET", "/healthz").status_code == 200
        owner = await both.ask(both.owner, "What is happening now?")
        assert owner.done["outcome"] == "ok"

        both.redis.start()
        await reader.until("it is ready", lambda: reader.call("GET", "/readyz").status_code == 200)
        await reader.until("it answers again", answers)
        await reader.until(
            "all is there again",
            lambda: set(kept) <= {frame["ref"] for frame in both.frames(reader)},
        )
        assert reader.counted("livelens_redis_outages_total") == 1


async def test_the_first_process_killed_is_a_gap_and_what_it_alone_held_is_left_out(tmp_path: Path) -> None:
    async with pair(tmp_path, loop=True, budget_bytes=SOME_PICTURES_BYTES) as both:
        reader = both.reader
        await both.until_spilled()
        await both.owner.kill()
        await reader.until_state("gate", "offline")
        assert reader.camera("gate")["state"]["code"] == "owner_away"
        (gap,) = [gap for gap in both.timeline()["gaps"] if gap["to"] is None]
        assert gap["reason"] == "service_stopped"
        heard = await both.ask(reader, "What happened?", window={"last_s": 120})
        assert heard.done["outcome"] == "ok"
        assert [gap["reason"] for gap in heard.started["coverage"]["gaps"]][-1] == "service_stopped"
        now = await both.ask(reader, "What is happening now?", window={"last_s": 1})
        assert now.done["outcome"] == "gap_only"
        frames = both.frames(reader)
        assert both.picture(reader, frames[0]["t_us"]) == b""
        assert both.picture(reader, frames[-1]["t_us"]) != b""


@pytest.mark.torch
async def test_the_second_process_asks_vllm_by_ids_of_frames_that_the_first_one_encoded(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    with ScriptedVllm(tiny_model_folder, Reply.of("A car ", "passed.")) as vllm:
        model = {"LIVELENS_MODEL": str(tiny_model_folder), "LIVELENS_FRAME_TOKENS": "24"}
        async with pair(
            tmp_path,
            loop=False,
            budget_bytes=SOME_FEATURES_BYTES,
            owner=model,
            reader={**model, "LIVELENS_DECODER_URL": vllm.url},
        ) as both:
            await both.until_spilled()
            encoded = both.owner.counted(ENCODED)
            assert encoded == len(both.frames(both.owner))
            assert both.reader.camera("gate")["answered_by"] == tiny_model_folder.name
            asked = both.across_the_edge()
            heard = await both.ask(both.reader, "What happened?", window=window_of(asked))
            assert heard.text == "A car passed."
            assert (heard.done["model"], heard.done["frames_encoded_now"]) == (tiny_model_folder.name, 0)
            sent = vllm.requests[-1].frames
            assert [frame.ref for frame in sent] == [frame["ref"] for frame in asked[:-1]]
            assert all(frame.embeds is None for frame in sent)
            assert heard.done["frames_used"] == len(sent)
            assert (both.reader.counted(ENCODED), both.owner.counted(ENCODED)) == (0, encoded)


@pytest.mark.torch
async def test_a_model_in_the_second_process_reads_features_that_the_first_one_encoded(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    model = {"LIVELENS_MODEL": str(tiny_model_folder), "LIVELENS_FRAME_TOKENS": "24"}
    async with pair(
        tmp_path, loop=False, budget_bytes=SOME_FEATURES_BYTES, owner=model, reader=model
    ) as both:
        await both.until_spilled()
        asked = both.across_the_edge()
        first, second = [
            await both.ask(service, "What happened?", window=window_of(asked), max_tokens=12)
            for service in (both.owner, both.reader)
        ]
        assert second.done["model"] == tiny_model_folder.name
        assert second.done["frames_used"] == first.done["frames_used"] == len(asked) - 1
        assert second.text == first.text
        assert second.done["frames_encoded_now"] == 0
        assert both.reader.counted(ENCODED) == 0
