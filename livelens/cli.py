"""The command ``livelens``. Thin: it reads arguments, calls, prints; heavy imports wait inside commands."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from core.cameras import Transport
from core.errors import ServiceError
from livelens import __version__
from livelens.addresses import typed_address
from livelens.cli_plan import plan
from livelens.cli_up import up
from livelens.client import DEFAULT_URL, Client
from livelens.decoder_cli import decoder
from livelens.errors import AnswerFailed, ServiceRefused, WrongArgument

app = typer.Typer(
    name="livelens",
    help="Ask live video, in words, about any moment that is still in the window, and see the evidence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
cameras_app = typer.Typer(
    help="Register, look at and remove the cameras of a running service.", no_args_is_help=True
)
app.add_typer(cameras_app, name="cameras")
app.command()(plan)
app.command()(up)
app.command()(decoder)


ConfigOption = Annotated[Path | None, typer.Option("--config", help="Settings file (TOML).")]
HostOption = Annotated[str | None, typer.Option("--host", help="Address to listen on.")]
PortOption = Annotated[int | None, typer.Option("--port", help="Port to listen on; 0 takes a free one.")]
NoBrowserOption = Annotated[bool, typer.Option("--no-browser", help="Do not open the page in a browser.")]
IsolateOption = Annotated[
    bool, typer.Option("--isolate", help="Keep all state in a temporary folder that goes away at the end.")
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="none (the default: measured answers), builtin, or a Qwen-VL model: a folder or a hub name.",
    ),
]
ModelUrlOption = Annotated[
    str | None, typer.Option("--model-url", help="An OpenAI-compatible address that answers instead.")
]
ModelNameOption = Annotated[str | None, typer.Option("--model-name", help="The model's name at --model-url.")]
DecoderUrlOption = Annotated[
    str | None,
    typer.Option(
        "--decoder-url", help="A vLLM (livelens decoder): words from there, while --model only encodes here."
    ),
]
UrlOption = Annotated[str, typer.Option("--url", help="Where the service runs.", envvar="LIVELENS_URL")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"livelens {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Ask live video, in words, about any moment that is still in the window, and see the evidence."""


@app.command()
def demo(
    config: ConfigOption = None,
    host: HostOption = None,
    port: PortOption = None,
    no_browser: NoBrowserOption = False,
    isolate: IsolateOption = False,
    model: ModelOption = None,
    model_url: ModelUrlOption = None,
    model_name: ModelNameOption = None,
) -> None:
    """Start the service with a demo camera and print its address."""
    _serve(
        config,
        {"host": host, "port": port, "model": model, "model_url": model_url, "model_name": model_name},
        demo=True,
        browser=not no_browser,
        isolate=isolate,
    )


@app.command()
def serve(
    config: ConfigOption = None,
    host: HostOption = None,
    port: PortOption = None,
    no_browser: NoBrowserOption = False,
    isolate: IsolateOption = False,
    camera: Annotated[
        list[str] | None,
        typer.Option("--camera", help="[NAME=]ADDRESS of a camera to register at the start; repeatable."),
    ] = None,
    model: ModelOption = None,
    model_url: ModelUrlOption = None,
    model_name: ModelNameOption = None,
    decoder_url: DecoderUrlOption = None,
    no_ingest: Annotated[
        bool,
        typer.Option("--no-ingest", help="Take no cameras in: answer from the window that others publish."),
    ] = False,
) -> None:
    """Start the service with the cameras registered so far."""
    _serve(
        config,
        {
            "host": host,
            "port": port,
            "model": model,
            "model_url": model_url,
            "model_name": model_name,
            "decoder_url": decoder_url,
            "ingest": {"enabled": False} if no_ingest else None,
        },
        demo=False,
        browser=not no_browser,
        isolate=isolate,
        cameras=camera or [],
    )


def _serve(
    config: Path | None,
    overrides: dict[str, object],
    *,
    demo: bool,
    browser: bool,
    isolate: bool,
    cameras: list[str] | None = None,
) -> None:
    from livelens.logs import set_up_logging
    from livelens.serve import run_service
    from livelens.settings import load_settings

    settings = load_settings(config, {k: v for k, v in overrides.items() if v is not None})
    set_up_logging(settings.log_level, settings.log_format)
    asyncio.run(
        run_service(
            settings, demo=demo, browser=browser, isolate=isolate, cameras=cameras or (), announce=_announce
        )
    )


def _announce(url: str) -> None:
    print(f"livelens is ready at {url}", flush=True)


@app.command()
def ask(
    camera: Annotated[str, typer.Argument(help="Camera id, or several with commas between: gate,yard.")],
    question: Annotated[str, typer.Argument(help="The question, English or Chinese.")],
    last: Annotated[str | None, typer.Option("--last", help="The last so long: 30s, 5min, 1h.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Start (RFC 3339).")] = None,
    to: Annotated[str | None, typer.Option("--to", help="End (RFC 3339).")] = None,
    url: UrlOption = DEFAULT_URL,
    as_json: JsonOption = False,
) -> None:
    """Ask one question of a running service; the words appear as they arrive."""
    body: dict[str, Any] = {"cameras": _names(camera), "text": question}
    window = _window(last, from_, to)
    if window is not None:
        body["window"] = window
    with Client(url) as client:
        for kind, message in client.ask(body):
            if as_json:
                print(json.dumps({"type": kind, **message}, ensure_ascii=False), flush=True)
            elif kind == "answer.delta":
                print(message["text"], end="", flush=True)
            elif kind == "answer.done":
                print(f"\n{_footer(message)}")
            elif kind == "error":
                raise AnswerFailed(message["message"])


def _names(text: str) -> list[str]:
    """Return the camera ids of ``gate,yard``, in that order."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise WrongArgument(f"cameras are named gate or gate,yard, not {text!r}")
    return names


def _window(last: str | None, start: str | None, end: str | None) -> dict[str, Any] | None:
    if last is not None and (start or end):
        raise WrongArgument("give --last, or --from and --to, not both")
    if last is not None:
        return {"last_s": _seconds(last)}
    if start or end:
        if not (start and end):
            raise WrongArgument("--from and --to go together")
        return {"from": start, "to": end}
    return None


def _seconds(text: str) -> float:
    """Return the seconds of ``30s``, ``5min``, ``1h`` or plain ``30``."""
    units = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(number) :].strip()
    try:
        seconds = float(number) * units[unit]
    except (ValueError, KeyError):
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise WrongArgument(f"--last takes a length such as 30s, 5min or 1h, not {text!r}")
    return seconds


def _footer(done: dict[str, Any]) -> str:
    parts = [
        f"{done['frames_used']} frames",
        f"{done['frames_encoded_now']} encoded now",
        f"{done['timings']['total_ms']:.0f} ms",
        done["model"],
    ]
    notice = f"\n{done['notice']}" if done.get("notice") else ""
    return " · ".join(parts) + notice


@cameras_app.command("list")
def cameras_list(url: UrlOption = DEFAULT_URL, as_json: JsonOption = False) -> None:
    """List cameras with their states."""
    with Client(url) as client:
        cameras = client.call("GET", "/cameras")["cameras"]
    if as_json:
        print(json.dumps(cameras, ensure_ascii=False, indent=2))
        return
    for camera in cameras:
        state = camera["state"]
        print(
            f"{camera['id']:20} {state['state']:22} {state['frame_rate']:5.1f} fps  {camera['source']['url']}"
        )
    if not cameras:
        print("No cameras yet. Register one with: livelens cameras add ID ADDRESS")


@cameras_app.command("add")
def cameras_add(
    camera: Annotated[str, typer.Argument(help="Camera id: a-z, 0-9, '-' and '_'.")],
    address: Annotated[str, typer.Argument(help="rtsp://…, a file, or scene:N, a generated scene.")],
    name: Annotated[str | None, typer.Option("--name")] = None,
    username: Annotated[str | None, typer.Option("--username")] = None,
    password_file: Annotated[
        Path | None, typer.Option("--password-file", help="File that holds the password; '-' asks for it.")
    ] = None,
    transport: Annotated[Transport, typer.Option("--transport")] = Transport.TCP,
    loop: Annotated[bool, typer.Option("--loop", help="Play a file over and over.")] = False,
    zone: Annotated[str | None, typer.Option("--zone", help="Time zone, such as Europe/Berlin.")] = None,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Register a camera."""
    source = _source(address, username, password_file, transport, loop)
    body = {"id": camera, "name": name, "zone": zone, "source": source}
    with Client(url) as client:
        added = client.call("POST", "/cameras", {k: v for k, v in body.items() if v is not None})
    print(f"registered {added['id']}: {added['source']['url']}")


@cameras_app.command("show")
def cameras_show(camera: str, url: UrlOption = DEFAULT_URL) -> None:
    """Print all that is known of one camera, as JSON."""
    with Client(url) as client:
        print(json.dumps(client.call("GET", f"/cameras/{camera}"), ensure_ascii=False, indent=2))


@cameras_app.command("remove")
def cameras_remove(camera: str, url: UrlOption = DEFAULT_URL) -> None:
    """Stop a camera and delete every trace of it."""
    with Client(url) as client:
        print(
            f"removed {camera}; {client.call('DELETE', f'/cameras/{camera}')['deleted_frames']} frames deleted"
        )


@cameras_app.command("probe")
def cameras_probe(
    address: Annotated[str, typer.Argument(help="rtsp://…, a file, or scene:N, a generated scene.")],
    username: Annotated[str | None, typer.Option("--username")] = None,
    password_file: Annotated[Path | None, typer.Option("--password-file")] = None,
    transport: Annotated[Transport, typer.Option("--transport")] = Transport.TCP,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Look at a source without registering it."""
    source = _source(address, username, password_file, transport, loop=False)
    with Client(url) as client:
        found = client.call("POST", "/camera-probes", {"source": source})
    if not found["ok"]:
        raise ServiceRefused(found["code"], found["message"])
    rate = f"{found['frame_rate']:.1f} fps" if found["frame_rate"] else "unknown rate"
    print(f"{found['codec']} {found['width_px']}x{found['height_px']}, {rate}")


@cameras_app.command("why")
def cameras_why(camera: str, url: UrlOption = DEFAULT_URL) -> None:
    """Explain the last minute of a camera: state, what was kept and why, what was skipped, gaps."""
    with Client(url) as client:
        shown = client.call("GET", f"/cameras/{camera}")
        line = client.call("GET", f"/cameras/{camera}/timeline?last_s=60")
    state = shown["state"]
    print(
        f"{camera} is {state['state']} since {state['since']}"
        + (f": {state['message']}" if state["message"] else "")
    )
    print(f"{state['frame_rate']:.1f} frames/s in, {len(line['samples'])} kept in the last minute:")
    reasons = [sample["reason"] for sample in line["samples"]]
    for reason in sorted(set(reasons)):
        print(f"  {reason:14} {reasons.count(reason)}")
    for reason, count in state["skipped"].items():
        print(f"  skipped, {reason:5} {count} since the start")
    for gap in line["gaps"]:
        print(f"no signal {gap['from']} to {gap['to'] or 'now'} ({gap['reason']})")
    print(f"{state['reconnects']} reconnects since the start")


def _source(
    address: str, username: str | None, password_file: Path | None, transport: Transport, loop: bool
) -> dict[str, Any]:
    source: dict[str, Any] = {"url": typed_address(address), "transport": transport.value, "loop": loop}
    if username is not None:
        source["username"] = username
    if password_file is not None:
        asked = str(password_file) == "-"
        source["password"] = (
            typer.prompt("Password", hide_input=True) if asked else password_file.read_text().rstrip("\n")
        )
    return source


@app.command()
def doctor(config: ConfigOption = None) -> None:
    """Look at this installation and say what is there and what is wrong."""
    from livelens.doctor import examine, worst
    from livelens.settings import load_settings

    findings = list(examine(load_settings(config, {})))
    for finding in findings:
        print(f"{finding.verdict.value:5} {finding.what:24} {finding.text}")
    raise typer.Exit(worst(findings))


def main() -> None:
    """Run the command; a known error is one line and exit code 2."""
    try:
        app()
    except ServiceError as error:
        print(f"livelens: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
