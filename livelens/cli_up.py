"""The command ``livelens up``: the whole road on this machine, in processes that are looked after."""

import asyncio
import os
import shutil
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from livelens.settings import Settings
    from livelens.up import Stopping
    from livelens.up_parts import Part


def up(
    config: Annotated[Path | None, typer.Option("--config", help="Settings file (TOML).")] = None,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to listen on; 0 takes a free one.")] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open the page in a browser.")
    ] = False,
    isolate: Annotated[
        bool,
        typer.Option("--isolate", help="Keep all state in a temporary folder that goes away at the end."),
    ] = False,
    camera: Annotated[
        list[str] | None,
        typer.Option("--camera", help="[NAME=]ADDRESS of a camera to register at the start; repeatable."),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Bring the demo's cameras.")] = False,
    model: Annotated[
        str | None, typer.Option("--model", help="builtin, or a Qwen-VL model: a folder or a hub name.")
    ] = None,
    split: Annotated[
        bool,
        typer.Option("--split", help="Prefill and decode in processes of their own, behind vllm-router."),
    ] = False,
    profile: Annotated[
        Path | None, typer.Option("--profile", help="Decoder profile (TOML): how vLLM serves.")
    ] = None,
    decoder_url: Annotated[
        str | None, typer.Option("--decoder-url", help="A decoder that runs; none is started.")
    ] = None,
    redis: Annotated[str | None, typer.Option("--redis", help="A Redis that runs; none is started.")] = None,
    redis_port: Annotated[
        int | None,
        typer.Option("--redis-port", help="Loopback port of an own Redis, for tools; else its socket only."),
    ] = None,
    show_logs: Annotated[bool, typer.Option("--logs", help="Show every line that the parts write.")] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Print the commands, start nothing.")] = False,
) -> None:
    """Start Redis, a decoder and the service, and keep them running until Ctrl-C."""
    from livelens.errors import PartsMissing, WrongArgument
    from livelens.up import Stopping
    from livelens.up_parts import shown
    from livelens.up_road import Choice, prepare, service_url

    if demo and camera:
        raise WrongArgument("--demo brings its own cameras; leave --camera out")
    settings = _with_port(_settings(config, {"host": host, "port": port, "model": model}, redis))
    stopping = Stopping()
    with stopping.from_the_start(), _private_folder() as folder:
        words = _service_words(settings, config, demo=demo, isolate=isolate, cameras=camera or [])
        choice = Choice(
            settings,
            words,
            split=split,
            redis_port=redis_port,
            profile=profile,
            decoder_url=decoder_url or settings.decoder_url,
            named_redis=redis is not None,
        )
        prepared = prepare(choice, folder)
        if prepared.missing:
            for lack in prepared.missing:
                print(f"missing  {lack.line()}", flush=True)
            raise PartsMissing(tuple(lack.name for lack in prepared.missing))
        if only_print:
            print(shown(prepared.parts))
            return
        for note in prepared.notes:
            print(note, flush=True)
        logs = (folder if isolate else settings.data_dir) / "logs"
        asyncio.run(
            _run(
                prepared.parts,
                logs,
                service_url(settings),
                stopping,
                show_logs=show_logs,
                browser=not no_browser,
            )
        )


async def _run(
    parts: "tuple[Part, ...]",
    logs: Path,
    url: str,
    stopping: "Stopping",
    *,
    show_logs: bool,
    browser: bool,
) -> None:
    from core.clock import ServiceClock
    from livelens.up import Surroundings, run_parts
    from livelens.up_parts import DECODER, ROUTER, SERVE

    loading = [part.name for part in parts if part.name in (DECODER, ROUTER)]
    width = max(len(part.name) for part in parts)

    def say(part: str, sentence: str) -> None:
        print(f"{part:{width}}  {sentence}", flush=True)

    async def announce() -> None:
        if loading:
            print(f"answers are measured until {' and '.join(loading)} can be asked", flush=True)
        print(f"livelens is ready at {url}", flush=True)
        if browser:
            await asyncio.to_thread(webbrowser.open, url)

    print(f"starting {', '.join(part.name for part in parts)}; their logs are in {logs}", flush=True)
    around = Surroundings(logs, say, announce, ServiceClock(), needed=(SERVE,), show_logs=show_logs)
    with stopping.on_signals():
        await run_parts(parts, around, stopping)


def _settings(config: Path | None, given: dict[str, object], redis: str | None) -> "Settings":
    from livelens.errors import WrongArgument
    from livelens.settings import load_settings

    settings = load_settings(config, {name: value for name, value in given.items() if value is not None})
    if redis is None:
        return settings
    try:
        return settings.model_copy(update={"redis": replace(settings.redis, url=redis)})
    except ValueError as error:
        raise WrongArgument(f"--redis: {error}") from None


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A folder for sockets that only this user may enter; its path is short, as sockets want it."""
    wished = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(
        tempfile.mkdtemp(prefix="livelens-up-", dir=wished if Path(wished).is_dir() and wished else None)
    )
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _with_port(settings: "Settings") -> "Settings":
    """Return settings with a port that is free now, so that a taken one ends the start and no restart loops."""
    from livelens.errors import AddressNotFree
    from web import listen

    try:
        with listen(settings.host, settings.port) as listener:
            taken = int(listener.getsockname()[1])
    except OSError as error:
        raise AddressNotFree(settings.host, settings.port, error.strerror or str(error)) from None
    return settings.model_copy(update={"port": taken})


def _service_words(
    settings: "Settings", config: Path | None, *, demo: bool, isolate: bool, cameras: list[str]
) -> tuple[str, ...]:
    words = ["demo" if demo else "serve", "--no-browser"]
    words += ["--host", settings.host, "--port", str(settings.port), "--model", settings.model]
    if config is not None:
        words += ["--config", str(config)]
    if isolate:
        words.append("--isolate")
    for camera in cameras:
        words += ["--camera", camera]
    return tuple(words)
