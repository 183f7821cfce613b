"""vLLM's encoder-cache connector: a question names frames by id, and their features come from the window in Redis.

    --ec-transfer-config '{"ec_connector": "WindowConnector", "ec_role": "ec_consumer",
                           "ec_connector_module_path": "featcache.vllm_connector",
                           "ec_connector_extra_config": {"encoder": "<12 hex>", "redis": {...}}}'

``livelens decoder`` writes that. vLLM imports this module in its own environment, which has redis, numpy and torch.
It makes one object in the scheduler's process, which fetches, checks and keeps features ready, and one in each
worker, which puts them where the model looks for encoder output. A frame that cannot be had fails the requests that
name it and nothing else: nothing here raises, which would end the engine for everybody, and vLLM is told that a
frame is there only while it is.
"""

import logging
import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from vllm.distributed.ec_transfer.ec_connector.base import (
    ECConnectorBase,
    ECConnectorMetadata,
    ECConnectorRole,
)

from core.frames import Features, FeatureType
from core.ids import FrameRef
from featcache.redis_settings import RedisSettings
from featcache.vllm_connector_checks import ModelFeatures, Refusal, Wanted, feature_width, grid_of, is_by_id
from featcache.vllm_connector_fetch import FrameFetcher
from featcache.vllm_connector_staging import Staged, Staging, Stand
from featcache.vllm_connector_stats import WindowPromMetrics, WindowStats

logger = logging.getLogger(__name__)

REDIS_URL_VARIABLE = "LIVELENS_CONNECTOR_REDIS_URL"
REDIS_PASSWORD_VARIABLE = "LIVELENS_CONNECTOR_REDIS_PASSWORD"

Tensor = Any  # torch is untyped here
_TORCH = {FeatureType.BF16: torch.bfloat16, FeatureType.F16: torch.float16}
_SAY_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class ConnectorSettings:
    """What the decoder profile says to the connector.

    Attributes:
        encoder: The encoder whose features the model reads; empty: any of the right width.
        feature_type: What it makes, ``bf16`` or ``f16``; empty: either.
        staging_bytes: Features fetched and kept ready.
        fetch_timeout_us: Longest time a request may wait for its frames.
        redis: Where the window's published copy is.
    """

    encoder: str = ""
    feature_type: str = ""
    staging_bytes: int = 1 << 30
    fetch_timeout_us: int = 5_000_000
    redis: RedisSettings = field(default_factory=RedisSettings)

    @classmethod
    def read(cls, extra: Mapping[str, Any], environment: Mapping[str, str]) -> "ConnectorSettings":
        """Return the settings of ``ec_connector_extra_config``; Redis' address and password may be in the environment.

        Raises ValueError or TypeError for a key or value that makes no sense: a wrong start ends at once.
        """
        redis = dict(extra.get("redis") or {})
        if url := environment.get(REDIS_URL_VARIABLE):
            redis["url"] = url
        if password := environment.get(REDIS_PASSWORD_VARIABLE):
            redis["password"] = password
        settings = cls(**{**extra, "redis": RedisSettings(**redis)})
        if not settings.redis.url:
            raise ValueError(f"the connector needs the address of Redis: redis.url or {REDIS_URL_VARIABLE}")
        return settings


@dataclass
class WindowMetadata(ECConnectorMetadata):  # type: ignore[misc]  # vLLM is in an environment of its own, so untyped here
    """What goes to the workers with one step: features by frame id. They travel as tensors, not copied needlessly."""

    loads: dict[str, Tensor] = field(default_factory=dict)


class WindowConnector(ECConnectorBase):  # type: ignore[misc]  # as above
    """Reads frames by id, as an encoder-cache consumer. Needs vLLM 0.32 or newer."""

    def __init__(self, vllm_config: Any, role: ECConnectorRole) -> None:
        super().__init__(vllm_config, role)
        self._dtype = vllm_config.model_config.dtype
        if role is not ECConnectorRole.SCHEDULER:
            return
        settings = ConnectorSettings.read(
            vllm_config.ec_transfer_config.ec_connector_extra_config, os.environ
        )
        width = feature_width(vllm_config.model_config.hf_config)
        dtype = FeatureType(settings.feature_type) if settings.feature_type else None
        self._model = ModelFeatures(width, settings.encoder, dtype)
        self._token_bytes = 2 * width
        self._staging: Staging[Tensor] = Staging(
            capacity_bytes=settings.staging_bytes, limit_us=settings.fetch_timeout_us
        )
        self._fetcher: FrameFetcher[Staged[Tensor]] = FrameFetcher(settings.redis, convert=self._converted)
        self._asked: dict[str, _Asked] = {}
        self._loads: dict[str, Tensor] = {}
        self._unavailable: set[str] = set()
        self._stats = WindowStats()
        self._damaged: Counter[str] = Counter()
        self._said_s = float("-inf")
        logger.info(
            "frames by id come from the window", extra={"redis": settings.redis.shown_url, "width": width}
        )

    # the scheduler's process

    def ensure_cache_available(self, request: Any, num_computed_tokens: int) -> bool:
        """Return whether all frames that a request names, and has not computed yet, are here; begin to fetch the others.

        A request that names a frame that cannot be had is given up: it gets an error, others go on.
        """
        try:
            return self._ensure(request, num_computed_tokens)
        except Exception:
            logger.exception("the window connector failed", extra={"request": request.request_id})
            self._give_up(request.request_id, Refusal.FAILED, 1)
            return False

    def has_cache_item(self, identifier: str) -> bool:
        return self._staging.get(identifier) is not None

    def update_state_after_alloc(self, request: Any, index: int) -> None:
        identifier = request.mm_features[index].identifier
        staged = self._staging.get(identifier)
        if staged is not None:
            self._loads[identifier] = staged.value

    def build_connector_meta(self, scheduler_output: Any) -> WindowMetadata:
        loads, self._loads = self._loads, {}
        self._stats.add("loaded", len(loads))
        encoded = getattr(scheduler_output, "scheduled_encoder_inputs", None) or {}
        self._stats.add("encoded", sum(map(len, encoded.values())))
        return WindowMetadata(loads)

    def take_unavailable_requests(self) -> set[str]:
        taken, self._unavailable = self._unavailable, set()
        return taken

    def request_finished(self, request: Any) -> tuple[bool, dict[str, Any] | None]:
        if self._asked.pop(request.request_id, None) is not None:
            self._staging.release(request.request_id)
        return False, None

    def get_ec_connector_stats(self) -> WindowStats | None:
        if self.role is not ECConnectorRole.SCHEDULER:
            return None
        for reason, count in self._fetcher.damaged:
            self._stats.add(f"damaged:{reason}", count - self._damaged[reason])
            self._damaged[reason] = count
        if self._stats.is_empty():
            return None
        told, self._stats = self._stats, WindowStats()
        held = self._staging.statistics()
        told.data |= {"staged": held.frames, "staged_bytes": held.size_bytes}
        return told

    def shutdown(self) -> None:
        if self.role is ECConnectorRole.SCHEDULER:
            self._fetcher.close()

    # the workers' processes

    def start_load_caches(self, encoder_cache: dict[str, Tensor], **kwargs: Any) -> None:  # noqa: ARG002  as above
        """Put this step's features where the model looks for encoder output, in its number type, on its device."""
        from vllm.platforms import current_platform

        metadata = self._get_connector_metadata()
        for identifier, value in metadata.loads.items():
            if identifier not in encoder_cache:
                encoder_cache[identifier] = value.to(
                    device=current_platform.device_type, dtype=self._dtype, copy=True
                )

    def save_caches(self, encoder_cache: dict[str, Tensor], mm_hash: str, **kwargs: Any) -> None:
        """Keep nothing: what vLLM encodes itself is no frame of the window."""

    # both

    @classmethod
    def build_ec_connector_stats(cls, data: dict[str, Any] | None = None) -> WindowStats:
        return WindowStats(data=data or {})

    @classmethod
    def build_prom_metrics(cls, *args: Any) -> WindowPromMetrics:
        return WindowPromMetrics(*args)

    # inside

    def _ensure(self, request: Any, computed: int) -> bool:
        request_id = request.request_id
        asked = self._asked.get(request_id)
        if asked is None or asked.parts != len(request.mm_features):
            asked = self._asked[request_id] = _read_request(request, self._model)
            if asked.refused is not None:
                self._give_up(request_id, asked.refused, 1)
        if asked.refused is not None:
            return False
        if computed >= asked.end:
            return True
        self._take_arrivals()
        wanted = {ref: want for ref, want in asked.wanted.items() if want.end > computed}
        stand = self._staging.claim(
            request_id, wanted, token_bytes=self._token_bytes, now_us=time.monotonic_ns() // 1000
        )
        if to_fetch := self._staging.take_to_fetch():
            self._fetcher.fetch(to_fetch)
        if isinstance(stand, Refusal):
            asked.refused = stand
            self._give_up(request_id, stand, len(wanted))
            return False
        return stand is Stand.READY

    def _take_arrivals(self) -> None:
        for ref, found in self._fetcher.take():
            self._staging.arrive(ref, found)

    def _give_up(self, request_id: str, why: Refusal, frames: int) -> None:
        self._unavailable.add(request_id)
        self._stats.add(f"refused:{why}")
        now_s = time.monotonic()
        if now_s - self._said_s >= _SAY_EVERY_S:
            self._said_s = now_s
            logger.warning(
                "a request names a frame that cannot be had (%s); it is given up",
                why,
                extra={"frames": frames},
            )

    def _converted(self, features: Features | None) -> Staged[Tensor] | Refusal:
        refusal = self._model.judge(features)
        if refusal is not None or features is None:
            return refusal or Refusal.NO_FEATURES
        value = torch.from_numpy(np.array(features.bits()).view(np.int16)).view(_TORCH[features.dtype])
        return Staged(value, len(features.data), features.tokens, features.grid)


@dataclass(slots=True)
class _Asked:
    """What a request names by id, read from it once.

    Attributes:
        end: Behind the last frame; once so many tokens are computed, nothing is needed any more.
        parts: Pictures of the request when it was read.
    """

    wanted: Mapping[FrameRef, Wanted]
    end: int
    parts: int
    refused: Refusal | None = None


def _read_request(request: Any, model: ModelFeatures) -> _Asked:
    wanted: dict[FrameRef, Wanted] = {}
    for part in request.mm_features:
        if not is_by_id(part.data, part.identifier):
            continue
        position = part.mm_position
        want = Wanted(
            part.identifier, position.get_num_embeds(), grid_of(part.data), position.offset + position.length
        )
        ref = model.ref_of(part.identifier) if part.modality == "image" else Refusal.ID
        if isinstance(ref, Refusal):
            return _Asked({}, 0, len(request.mm_features), ref)
        earlier = wanted.get(ref)
        if earlier is not None and (earlier.tokens, earlier.grid) != (want.tokens, want.grid):
            return _Asked({}, 0, len(request.mm_features), Refusal.SHAPE)
        wanted[ref] = want  # the last place it has in the prompt counts
    return _Asked(wanted, max((want.end for want in wanted.values()), default=0), len(request.mm_features))
