"""Which processes make the whole road on one machine, in which order, and when each counts as up. Pure.

    redis ──▶ decoder                 ──▶ serve
          ──▶ prefill, decode ─▶ router

Parts are listed in the order in which they start, and stop in the other. Nothing waits for the decoder but the
router: the service is there at once and gives measured answers until the model has loaded.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

OUR_PREFIX = "LIVELENS_"
REDIS_HEADROOM_BYTES = 256 << 20
"""Beyond the budget of frames: keys, index, records, replies under way. Beyond that Redis says that it is full."""

_OF_OUR_PYTHON = frozenset({"PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV"})

REDIS, DECODER, PREFILL, DECODE, ROUTER, SERVE = "redis", "decoder", "prefill", "decode", "router", "serve"


@dataclass(frozen=True, slots=True)
class RedisAnswers:
    """Ready when a PING over this unix socket is answered."""

    socket: Path


@dataclass(frozen=True, slots=True)
class HttpAnswers:
    """Ready when a GET of this address is answered with 200, and these hosts and ports take connections."""

    url: str
    also: tuple[tuple[str, int], ...] = ()


Probe = RedisAnswers | HttpAnswers


@dataclass(frozen=True, slots=True)
class Part:
    """One process of the road.

    Attributes:
        environment: Set for it beside what it inherits. ``secret`` likewise, and never shown.
        ours: It reads our settings; others do not inherit ``LIVELENS_*`` variables,
            which may hold keys, nor what points into our Python.
        after: Parts that must have been ready once before it starts.
        ready_within_us: Not ready for so long after its start, it is ended and started again.
        stop_within_us: It gets so long to end when asked to; then it is killed.
        hung_after_us: Ready once, and not answering for so long although it runs, it is ended and started again.
        listens: Hosts and ports that must be free before it starts.
    """

    name: str
    command: tuple[str, ...]
    ready: Probe
    environment: Mapping[str, str] = field(default_factory=dict)
    secret: Mapping[str, str] = field(default_factory=dict, repr=False)
    ours: bool = False
    after: tuple[str, ...] = ()
    ready_within_us: int = 60_000_000
    stop_within_us: int = 10_000_000
    hung_after_us: int = 120_000_000
    listens: tuple[tuple[str, int], ...] = ()

    def environment_from(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the whole environment it runs in."""
        kept = {
            name: value
            for name, value in inherited.items()
            if self.ours or not (name.startswith(OUR_PREFIX) or name in _OF_OUR_PYTHON)
        }
        return {**kept, **self.environment, **self.secret}


@dataclass(frozen=True, slots=True)
class OwnRedis:
    """A Redis that lives and dies with the road, and keeps nothing on disk.

    Attributes:
        folder: For its socket; nobody else may enter it.
        budget_bytes: Bytes of frames that will be published.
        port: On the loopback, for tools; None: its unix socket only, which no other user of the machine can reach.
    """

    program: Path
    folder: Path
    budget_bytes: int
    port: int | None = None

    @property
    def socket(self) -> Path:
        return self.folder / "redis.sock"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"


@dataclass(frozen=True, slots=True)
class Decoding:
    """How one vLLM instance, or the router before two, is started: as ``livelens.decoder_command`` says.

    ``listens`` are the hosts and ports it will listen on.
    """

    command: tuple[str, ...]
    url: str
    environment: Mapping[str, str] = field(default_factory=dict)
    secret: Mapping[str, str] = field(default_factory=dict, repr=False)
    listens: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Serving:
    """The service itself.

    Attributes:
        words: After ``livelens``, such as ``serve --camera ...``.
        url: Where it will be reached.
    """

    python: Path
    words: tuple[str, ...]
    url: str


def redis_part(redis: OwnRedis) -> Part:
    """Return the process of an own Redis: no disk, a bound, and errors instead of evictions when it is full."""
    return Part(
        name=REDIS,
        command=(
            str(redis.program),
            *("--port", str(redis.port or 0)),
            *("--bind", "127.0.0.1"),
            *("--unixsocket", str(redis.socket)),
            *("--unixsocketperm", "700"),
            *("--dir", str(redis.folder)),
            *("--save", ""),
            *("--appendonly", "no"),
            *("--maxmemory", str(redis.budget_bytes * 5 // 4 + REDIS_HEADROOM_BYTES)),
            *("--maxmemory-policy", "noeviction"),
            *("--daemonize", "no"),
        ),
        ready=RedisAnswers(redis.socket),
        ready_within_us=20_000_000,
        stop_within_us=5_000_000,
    )


def decoding_part(name: str, decoding: Decoding, *, after: tuple[str, ...]) -> Part:
    """Return a process of vLLM. Loading a large model from a slow disk takes many minutes."""
    return Part(
        name=name,
        command=decoding.command,
        environment=decoding.environment,
        secret=decoding.secret,
        ready=HttpAnswers(f"{decoding.url}/health", decoding.listens),
        listens=decoding.listens,
        after=after,
        ready_within_us=1_800_000_000,
        stop_within_us=20_000_000,
    )


def serving_part(
    serving: Serving, settings: Mapping[str, str], *, secret: Mapping[str, str], after: tuple[str, ...]
) -> Part:
    """Return the service. ``settings`` are variables that win over its settings file."""
    return Part(
        name=SERVE,
        command=(str(serving.python), "-m", "livelens", *serving.words),
        environment={**settings, "PYTHONUNBUFFERED": "1"},
        secret=secret,
        ready=HttpAnswers(f"{serving.url}/readyz"),
        ours=True,
        after=after,
        ready_within_us=900_000_000,
        stop_within_us=20_000_000,
    )


@dataclass(frozen=True, slots=True)
class Road:
    """What is to run. Redis or the decoder may be somebody else's, and then only their addresses are known.

    Attributes:
        redis: An own one, or None where ``redis_url`` names one that is there.
        tells_redis: The service must be told its address; False where that stands in its settings.
        decoders: By part: ``decoder``, or ``prefill``, ``decode`` and ``router``; empty where ``decoder_url`` names
            one that is there, or where no model answers from vLLM.
        decoder_url: Where questions go; empty for none.
    """

    serving: Serving
    redis_url: str = field(repr=False)
    redis: OwnRedis | None = None
    tells_redis: bool = True
    decoders: Mapping[str, Decoding] = field(default_factory=dict)
    decoder_url: str = ""


def parts_of(road: Road) -> tuple[Part, ...]:
    """Return the processes of a road in the order in which they start."""
    parts: list[Part] = []
    if road.redis is not None:
        parts.append(redis_part(road.redis))
    after_redis = (REDIS,) if road.redis is not None else ()
    for name, decoding in road.decoders.items():
        behind = tuple(other for other in (PREFILL, DECODE) if other in road.decoders)
        parts.append(decoding_part(name, decoding, after=behind if name == ROUTER else after_redis))
    settings = {f"{OUR_PREFIX}DECODER_URL": road.decoder_url} if road.decoder_url else {}
    secret: dict[str, str] = {}
    if road.tells_redis:
        # Somebody else's address may hold a password.
        told = settings if road.redis is not None else secret
        told[f"{OUR_PREFIX}REDIS__URL"] = road.redis_url
    parts.append(serving_part(road.serving, settings, secret=secret, after=after_redis))
    return tuple(parts)


def shown(parts: Sequence[Part]) -> str:
    """Return the commands of all parts as lines for a shell, secrets as dots, logins in addresses too."""
    blocks = []
    for part in parts:
        lines = [f"{name}={shlex.quote(value)} \\" for name, value in part.environment.items()]
        lines += [f"{name}=... \\" for name in part.secret]
        blocks.append("\n".join([f"# {part.name}", *lines, shlex.join(part.command)]))
    return re.sub(r"(?<=://)[^/@\s']+@", "...@", "\n\n".join(blocks))
