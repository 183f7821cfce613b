"""From settings and what this machine has to the parts of a road."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from featcache.redis_settings import RedisSettings
from livelens.answering import choose_model
from livelens.decoder_command import Start, router_command, start_of
from livelens.decoder_found import look_around
from livelens.decoder_profile import DecoderProfile, Role, read_profile
from livelens.errors import DecoderNotInstalled
from livelens.ports import free_port
from livelens.settings import Settings
from livelens.up_found import Missing, find_redis_server, find_router, missing_libraries
from livelens.up_parts import (
    DECODE,
    DECODER,
    PREFILL,
    ROUTER,
    Decoding,
    OwnRedis,
    Part,
    Road,
    Serving,
    parts_of,
)

WHOLE_SHARE, HALF_SHARE = 0.8, 0.4
"""Of a GPU's memory for one vLLM, or each of two on the same GPU: the service's encoder needs some of it too. A
profile says otherwise."""

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user wants to run.

    Attributes:
        settings: With a port that is free, and the address of a Redis or a decoder that is there, if any is named.
        words: ``serve`` or ``demo`` and what follows it, as the service's own command takes it.
        split: Prefill and decode apart, behind the router.
        redis_port: Of an own Redis, on the loopback; None: it has its unix socket only.
        profile: How vLLM serves; None: by default, on free ports.
        named_redis: The address was given on the command line, where the service does not see it.
    """

    settings: Settings
    words: tuple[str, ...]
    split: bool = False
    redis_port: int | None = None
    profile: Path | None = None
    decoder_url: str = ""
    named_redis: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """The parts to run; or what is missing, and then no parts."""

    parts: tuple[Part, ...] = ()
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = field(default=())


def prepare(choice: Choice, folder: Path) -> Prepared:
    """Return the parts of the road. Runs programs to learn their versions, and may fetch a named model.

    Args:
        folder: A short path that only this user may enter, for the socket of an own Redis.
    Raises:
        WrongSetting: in the decoder's profile, or what does not go together. ModelNotLoadable: the checkpoint cannot be read.
    """
    settings = choice.settings
    starts_decoder = not choice.decoder_url and not settings.model_url and settings.model != "none"
    missing: list[Missing] = [*missing_libraries(encodes=settings.model != "none")]
    redis = _own_redis(choice, folder, missing)
    redis_url = redis.url if redis is not None else settings.redis.url
    decoders: Mapping[str, Decoding] = {}
    if starts_decoder:
        decoders = _decoders(choice, redis_url, missing)
    if missing:
        return Prepared(missing=tuple(missing))
    decoder_url = choice.decoder_url or (list(decoders.values())[-1].url if decoders else "")
    _check(settings, redis_url, decoder_url)
    road = Road(
        serving=Serving(Path(sys.executable), choice.words, service_url(settings)),
        redis_url=redis_url,
        redis=redis,
        tells_redis=redis is not None or choice.named_redis,
        decoders=decoders,
        decoder_url=decoder_url,
    )
    notes = () if starts_decoder or choice.decoder_url or settings.model_url else (_NO_MODEL,)
    return Prepared(parts_of(road), notes=notes)


_NO_MODEL = "no model is named, so answers are measured; name one with --model"


def _check(settings: Settings, redis_url: str, decoder_url: str) -> None:
    """Raise what the service would say of its settings, before anything is started."""
    redis = replace(settings.redis, url=redis_url)
    choose_model(settings.model_copy(update={"redis": redis, "decoder_url": decoder_url}))


def service_url(settings: Settings) -> str:
    """Return where the service of these settings is reached from this machine."""
    host = _ANYWHERE.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def _own_redis(choice: Choice, folder: Path, missing: list[Missing]) -> OwnRedis | None:
    if choice.settings.redis.url:
        return None
    program = find_redis_server()
    if isinstance(program, Missing):
        missing.append(program)
        return None
    return OwnRedis(program, folder, choice.settings.redis.redis_budget_bytes, choice.redis_port)


def _decoders(choice: Choice, redis_url: str, missing: list[Missing]) -> dict[str, Decoding]:
    """Return vLLM's processes, in order; the last one is who is asked. Empty where something is missing."""
    profile = decoder_profile(choice, redis_url, free_port)
    router: Path | Missing | None = find_router() if choice.split else None
    if isinstance(router, Missing):
        missing.append(router)
    try:
        found = look_around(profile)
    except DecoderNotInstalled as error:
        how = "see docs/decoder.md, or name one that runs: --decoder-url http://..."
        missing.append(Missing("vLLM", str(error), how))
        return {}
    if router is None:
        return {DECODER: _decoding(start_of(profile, Role.BOTH, found))}
    if isinstance(router, Missing):
        return {}
    port, told = free_port(profile.host), free_port(profile.host)
    return {
        PREFILL: _decoding(start_of(profile, Role.PREFILL, found)),
        DECODE: _decoding(start_of(profile, Role.DECODE, found)),
        ROUTER: Decoding(
            router_command(router, profile, port=port, prometheus_port=told), f"http://{profile.host}:{port}"
        ),
    }


def decoder_profile(choice: Choice, redis_url: str, port_on: Callable[[str], int]) -> DecoderProfile:
    """Return how vLLM serves: as a named profile says, or by default on free ports; model and Redis are ours."""
    ours = asdict(choice.settings.redis)
    overrides: dict[str, Any] = {
        "model": choice.settings.model,
        "redis": {name: value for name, value in ours.items() if value != getattr(RedisSettings(), name)}
        | {"url": redis_url},
    }
    if choice.profile is None:
        host = DecoderProfile().host
        overrides["memory_share"] = HALF_SHARE if choice.split else WHOLE_SHARE
        for role in Role:
            overrides[role.value] = {"port": port_on(host), "side_channel_port": port_on(host)}
    return read_profile(choice.profile, overrides)


def _decoding(start: Start) -> Decoding:
    return Decoding(start.command, start.url, start.environment, start.secret, tuple(start.listens.values()))
