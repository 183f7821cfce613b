"""A real shape in vLLM: random weights, and a question about frames whose random features have the real width."""

import asyncio
import re
from contextlib import aclosing
from pathlib import Path

import httpx2
import numpy as np
import psutil

from bench.rig import PartMissing
from bench.shapes_tally import Served, grid_of
from core.clock import ServiceClock
from core.frames import Features, FeatureType
from core.ids import RequestId
from core.meter import NullMeter
from featcache.redis import RedisWindow
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from models.checkpoint import Checkpoint, read_checkpoint
from models.decoder import SamplingParams, Usage
from models.openai_settings import OpenAISettings, RemoteLimits
from models.prompt import FramePart, Prompt
from models.vllm import VllmDecoder
from models.vllm_settings import VllmSettings
from tests.support.qa_stage import GATE, LIFE
from tests.support.redis_server import RedisServer
from tests.support.vllm_server import PYTHON, VllmServer
from tests.support.windows import stored

KV_BYTES = 1 << 30
FRAMES = 2
ANSWER_TOKENS = 3
_FIRST_US = 1_790_000_000_000_000
_PATIENCE_US = 300_000_000
"""Billions of weights on a processor without units for bf16 take their time."""


async def ask_vllm(folder: Path, feature_shape: tuple[int, int]) -> Served:
    """Return what vLLM took and told while it answered about frames by id. Raises PartMissing."""
    if not PYTHON.exists():
        raise PartMissing("vLLM's environment; make vllm-env")
    checkpoint = read_checkpoint(str(folder), frame_tokens=feature_shape[0])
    with (
        RedisServer() as redis,
        VllmServer(
            redis_url=redis.tcp_url,
            model=str(folder),
            dtype="bfloat16",
            profile=f"context_tokens = 2048\nkv_bytes = {KV_BYTES}",
            threads=len(psutil.Process().cpu_affinity() or [1]),
        ) as server,
    ):
        usage = await _ask(checkpoint, feature_shape, server.url, redis.tcp_url)
        engine = psutil.Process(server.engine_pid())
        # On a CPU the model lies in a worker below the engine.
        taken = max(process.memory_info().rss for process in (engine, *engine.children(recursive=True)))
        async with httpx2.AsyncClient(timeout=20, trust_env=False) as client:
            metrics = (await client.get(f"{server.url}/metrics")).text
    return Served(int(taken), KV_BYTES, kv_tokens_of(metrics), usage.prompt_tokens)


def kv_tokens_of(metrics: str) -> int:
    """Return the tokens that vLLM's KV cache has room for, as its metrics (text) tell. Raises ValueError."""
    found = re.search(r"^vllm:cache_config_info\{(.*)\}", metrics, re.MULTILINE)
    labels = dict(re.findall(r'(\w+)="([^"]*)"', found[1])) if found else {}
    try:
        return int(labels["num_gpu_blocks"]) * int(labels["block_size"])
    except KeyError as error:
        raise ValueError(f"the metrics do not tell {error}") from None


async def _ask(checkpoint: Checkpoint, shape: tuple[int, int], url: str, redis_url: str) -> Usage:
    window = RedisWindow(
        RedisSettings(url=redis_url), settings=Settings(retention_us=1 << 55), meter=NullMeter()
    )
    limits = RemoteLimits(attempts=1, first_byte_timeout_us=_PATIENCE_US, idle_timeout_us=_PATIENCE_US)
    decoder = VllmDecoder(
        VllmSettings(OpenAISettings(url, limits=limits)), clock=ServiceClock(), checkpoint=checkpoint
    )
    try:
        await window.open_camera(GATE, LIFE)
        parts = []
        for number in range(FRAMES):
            features = random_features(shape, checkpoint.encoder_version, seed=number)
            frame = stored(_FIRST_US + number * 1_000_000, seq=number, features=features)
            await window.put(frame, incarnation=LIFE)
            parts.append(FramePart(f"[12:00:{number:02d}]", frame.ref, grid=features.grid))
        await decoder.start()
        usage: Usage | None = None
        stream = decoder.generate(
            Prompt("Watch.", tuple(parts), "What?"),
            request_id=RequestId("shapes"),
            sampling=SamplingParams(max_tokens=ANSWER_TOKENS),
        )
        async with asyncio.timeout(2 * _PATIENCE_US / 1e6), aclosing(stream) as deltas:  # type: ignore[type-var]
            async for delta in deltas:
                usage = delta.usage or usage
    finally:
        await decoder.aclose()
        await window.aclose()
    if usage is None or usage.refused or usage.prompt_tokens < FRAMES * shape[0]:
        raise PartMissing(f"an answer of vLLM about {FRAMES} frames: {usage}")
    return usage


def random_features(shape: tuple[int, int], encoder: str, *, seed: int) -> Features:
    """Return features of this many tokens and values, small and finite, as bf16."""
    values = np.random.default_rng(seed).normal(0, 0.5, shape).astype(np.float32)
    bits = (values.view(np.uint32) >> 16).astype("<u2")
    return Features(bits.tobytes(), FeatureType.BF16, shape, grid_of(shape[0]), encoder)
