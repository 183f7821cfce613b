"""The command ``livelens decoder``: reads a profile, looks around, prints or starts vLLM."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer


def decoder(
    role: Annotated[
        Literal["both", "prefill", "decode"],
        typer.Option("--role", help="The whole model, or one half of it behind vllm-router."),
    ] = "both",
    profile: Annotated[
        Path | None, typer.Option("--profile", help="Decoder profile (TOML); docs/decoder.md.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="builtin, a folder or a hub name; instead of the profile's.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", help="Where this instance listens.")] = None,
    redis_url: Annotated[
        str | None, typer.Option("--redis-url", help="Where the window's published copy is.")
    ] = None,
    only_print: Annotated[
        bool, typer.Option("--print", help="Print command and environment, start nothing.")
    ] = False,
) -> None:
    """Start vLLM as the decoder: the whole model, or prefill and decode apart."""
    from livelens.decoder_command import start_of
    from livelens.decoder_found import look_around
    from livelens.decoder_process import run_decoder
    from livelens.decoder_profile import Role, read_profile
    from livelens.errors import AddressNotFree
    from livelens.ports import taken

    overrides: dict[str, Any] = {}
    if model is not None:
        overrides["model"] = model
    if port is not None:
        overrides[role] = {"port": port}
    if redis_url is not None:
        overrides["redis"] = {"url": redis_url}
    wished = read_profile(profile, overrides)
    start = start_of(wished, Role(role), look_around(wished))
    if only_print:
        typer.echo(start.shown())
        return
    for setting, (host, listens) in start.listens.items():
        if (why := taken(host, listens)) is not None:
            raise AddressNotFree(host, listens, f"{why} ({setting} of {role})")
    raise typer.Exit(run_decoder(start, environment=os.environ))
