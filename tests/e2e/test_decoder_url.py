"""The service with its words from elsewhere: frames by id through a real Redis, and what happens when a part is away.

The server that stands for vLLM keeps to ``tests/contract/test_vllm.py``.
"""

import time
from collections.abc import AsyncIterator
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

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(400)]


@dataclass(frozen=True, slots=True)
class Road:
    """A service whose camera has come to its end, so that its window stands still, with all that it needs."""

    service: LivelensProcess
    vllm: ScriptedVllm
    redis: RedisServer

    async def ask(self, text: str = "What happened?") -> Heard:
        return await ask(self.service.url, {"cameras": ["gate"], "text": text, "window": {"last_s": 300}})

    @property
    def parts(self) -> dict[str, Any]:
        parts: dict[str, Any] = self.service.call("GET", "/readyz").json()
        return parts

    def encoded(self) -> int:
        return self.service.counted("livelens_frames_encoded_total")

    async def answered(self) -> Heard:
        """Ask until the model answers."""
        heard = await self.ask()
        while heard.done["model"] == "measured":
            heard = await self.ask()
        return heard


@asynccontextmanager
async def road(folder: Path, tmp_path: Path) -> AsyncIterator[Road]:
    clip = write_clip(tmp_path / "moving.mp4", [Shot(constant_rate(60))])
    with RedisServer() as redis, ScriptedVllm(folder, Reply.of("A car ", "passed.")) as vllm:
        settings = {
            "LIVELENS_FRAME_TOKENS": "24",
            "LIVELENS_DECODER_URL": vllm.url,
            "LIVELENS_REDIS__URL": redis.url,
        }
        async with LivelensProcess(["serve", "--model", str(folder)], settings=settings) as service:
            body = {"id": "gate", "source": {"url": clip.as_uri()}}
            assert service.call("POST", "/api/v1/cameras", body).status_code == 201
            await service.until_state("gate", "offline")
            opened = Road(service, vllm, redis)
            await service.until(
                "all samples are encoded",
                lambda: opened.encoded() == service.camera("gate")["window"]["frames"] > 3,
            )
            yield opened


async def test_a_question_carries_frame_ids_and_lives_through_the_loss_of_vllm_and_of_redis(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    async with road(tiny_model_folder, tmp_path) as opened:
        encoded = opened.encoded()
        heard = await opened.ask()
        assert heard.text == "A car passed."
        assert heard.done["model"] == tiny_model_folder.name
        assert heard.done["frames_encoded_now"] == 0
        assert opened.encoded() == encoded
        sent = opened.vllm.requests[-1].frames
        assert [frame.ref for frame in sent] == [frame["ref"] for frame in heard.started["frames"]]
        assert [frame.label for frame in sent] == [frame["label"] for frame in heard.started["frames"]]
        assert all(frame.embeds is None for frame in sent)

        opened.vllm.stop()
        began = time.monotonic()
        away = await opened.ask()
        assert time.monotonic() - began < 5
        assert away.done["model"] == "measured"
        assert tiny_model_folder.name in away.done["notice"]
        await opened.service.until("vLLM's absence is told", lambda: opened.parts["parts"]["model"] is False)
        opened.vllm.start()
        assert (await opened.answered()).text == "A car passed."

        opened.redis.kill()
        await opened.service.until("its absence is told", lambda: opened.parts["parts"]["redis"] is False)
        inline = await opened.answered()
        assert inline.text == "A car passed."
        carried = opened.vllm.requests[-1].frames
        assert all(frame.embeds for frame in carried)
        assert len(carried) == min(8, len(sent)) == inline.done["frames_used"]
        opened.redis.start()
        await opened.service.until(
            "frames are published again",
            lambda: bool(opened.redis.cli("KEYS", "*f:*").strip()),
            within_s=30,
        )
        again = await opened.answered()
        while again.done["frames_used"] != len(sent):
            again = await opened.answered()
        assert all(frame.embeds is None for frame in opened.vllm.requests[-1].frames)


async def test_a_frame_that_vllm_cannot_read_is_left_out_of_its_answer(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    async with road(tiny_model_folder, tmp_path) as opened:
        frames = [frame["ref"] for frame in (await opened.ask()).started["frames"]]
        assert len(frames) >= 8
        bad = frames[2]
        opened.redis.cli("SET", opened.redis.cli("KEYS", f"*f:{bad.split('/')[1]}").strip(), "forged")
        opened.vllm.forget(bad)
        heard = await opened.ask("And then?")
        assert heard.text == "A car passed."
        assert [frame.ref for frame in opened.vllm.requests[-1].frames] == [
            ref for ref in frames if ref != bad
        ]
        assert heard.done["frames_used"] == len(frames) - 1
        assert heard.done["notice"]
        assert opened.service.counted("livelens_features_refused_total") >= 1
