"""Reads deployment files as the tools that take them do, as far as that goes without those tools.

What is checked follows the Compose Specification and Docker's Dockerfile reference; ``*_problems`` return sentences,
none where all is well.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Document = Mapping[str, Any]

SERVICE_KEYS = {
    "image": str,
    "build": dict,
    "command": list,
    "entrypoint": list,
    "environment": dict,
    "volumes": list,
    "depends_on": dict,
    "healthcheck": dict,
    "restart": str,
    "network_mode": str,
    "user": str,
    "cap_drop": list,
    "security_opt": list,
    "logging": dict,
    "read_only": bool,
    "shm_size": str,
    "stop_grace_period": str,
    "deploy": dict,
}
TOP_KEYS = {"name", "services", "volumes"}
HEALTH_KEYS = {"test", "interval", "timeout", "retries", "start_period"}
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}
RESTARTS = {"no", "always", "on-failure", "unless-stopped"}
INSTRUCTIONS = {
    "FROM": r"[a-z0-9][a-z0-9._/-]*(:[\w.-]+)?( AS [a-z]+)?",
    "ARG": r"[A-Z_]+(=\S*)?",
    "ENV": r"([A-Z_]+=\S+ ?)+",
    "RUN": r".+",
    "COPY": r".+ \S+",
    "USER": r"\d+:\d+",
    "WORKDIR": r"/\S*",
    "VOLUME": r"/\S+",
    "EXPOSE": r"\d+",
    "STOPSIGNAL": r"SIG[A-Z]+",
    "HEALTHCHECK": r"(--\w[\w-]*=\S+ )*CMD \[.+\]",
    "ENTRYPOINT": r"\[.+\]",
    "CMD": r"\[.+\]",
}
_DURATION = re.compile(r"(\d+(us|ms|s|m|h))+")
_SIZE = re.compile(r"\d+(b|kb?|mb?|gb?)")


def interpolated(text: str, values: Mapping[str, str]) -> str:
    """Return a compose file with ``${NAME:-default}`` put in, as compose does."""

    def put_in(found: re.Match[str]) -> str:
        return values.get(found[1]) or found[2] or ""

    return re.sub(r"\$\{(\w+)(?::-([^}]*))?\}", put_in, text)


def variables(text: str) -> set[str]:
    """Return the names that a compose file takes from its environment."""
    return set(re.findall(r"\$\{(\w+)", text))


def compose_problems(document: Document) -> Iterator[str]:
    """Yield what Compose would refuse, or could never satisfy."""
    for key in document.keys() - TOP_KEYS:
        if not key.startswith("x-"):
            yield f"{key}: no such top-level element"
    services = document["services"]
    volumes = document.get("volumes", {})
    for name, service in services.items():
        if not ({"image", "build"} & service.keys()):
            yield f"{name}: neither image nor build"
        for key, value in service.items():
            if key not in SERVICE_KEYS:
                yield f"{name}.{key}: not an attribute that is used here"
            elif not isinstance(value, SERVICE_KEYS[key]):
                yield f"{name}.{key}: {type(value).__name__} instead of {SERVICE_KEYS[key].__name__}"
        for key in ("command", "entrypoint"):
            if not all(isinstance(word, str) for word in service.get(key, ())):
                yield f"{name}.{key}: holds something else than strings"
        if service.get("restart", "no") not in RESTARTS:
            yield f"{name}.restart: no such policy"
        if "shm_size" in service and not _SIZE.fullmatch(service["shm_size"]):
            yield f"{name}.shm_size: no size"
        if not _DURATION.fullmatch(service.get("stop_grace_period", "1s")):
            yield f"{name}.stop_grace_period: no duration"
        yield from _health_problems(name, service.get("healthcheck"))
        yield from _reference_problems(name, service, services, volumes)


def _health_problems(name: str, check: Document | None) -> Iterator[str]:
    if check is None:
        return
    for key in check.keys() - HEALTH_KEYS:
        yield f"{name}.healthcheck.{key}: no such key"
    if not check.get("test") or check["test"][0] not in ("CMD", "CMD-SHELL", "NONE"):
        yield f"{name}.healthcheck.test: must begin with CMD or CMD-SHELL"
    for key in ("interval", "timeout", "start_period"):
        if not _DURATION.fullmatch(check.get(key, "1s")):
            yield f"{name}.healthcheck.{key}: no duration"


def _reference_problems(name: str, service: Document, services: Document, volumes: Document) -> Iterator[str]:
    for other, how in service.get("depends_on", {}).items():
        if other not in services:
            yield f"{name}.depends_on: there is no service {other}"
        elif how.get("condition") not in CONDITIONS:
            yield f"{name}.depends_on.{other}: no such condition"
        elif how["condition"] == "service_healthy" and "healthcheck" not in services[other]:
            yield f"{name}.depends_on.{other}: is never healthy, it has no check"
    for mount in service.get("volumes", ()):
        source, target = mount.split(":")[:2]
        if not source.startswith((".", "/")) and source not in volumes:
            yield f"{name}.volumes: {source} is not declared"
        if not target.startswith("/"):
            yield f"{name}.volumes: {target} is no absolute path"


def instructions(text: str) -> list[tuple[str, str]]:
    """Return a Dockerfile's instructions with their words, lines that go on joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    whole = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1].strip()) for line in whole.splitlines()]


def dockerfile_problems(text: str) -> Iterator[str]:
    """Yield what Docker would refuse, and what we do not want: root, images of unnamed versions or foreign hosts."""
    found = instructions(text)
    arguments = 0
    for arguments, (word, _) in enumerate(found):  # noqa: B007  the place of the first that is no ARG
        if word != "ARG":
            break
    if found[arguments][0] != "FROM":
        yield "the first instruction is not FROM"
    stages: set[str] = set()
    for word, rest in found:
        if word not in INSTRUCTIONS:
            yield f"{word}: not an instruction that is used here"
        elif not re.fullmatch(INSTRUCTIONS[word], rest):
            yield f"{word} {rest}: of the wrong form"
        if word == "FROM":
            image, _, stage = rest.partition(" AS ")
            stages.add(stage)
            if ":" not in image or image.endswith(":latest"):
                yield f"FROM {image}: no version"
            if "." in image.partition("/")[0].partition(":")[0] and "/" in image:
                yield f"FROM {image}: names a registry"
        if word in ("CMD", "ENTRYPOINT", "HEALTHCHECK"):
            yield from _exec_problems(word, rest.partition("CMD ")[2] if word == "HEALTHCHECK" else rest)
        origin = re.match(r"--from=(\w+)", rest)
        if word == "COPY" and origin and origin[1] not in stages:
            yield f"COPY {rest}: there is no stage {origin[1]}"
    if [word for word, _ in found if word in ("USER", "ENTRYPOINT")] != ["USER", "ENTRYPOINT"]:
        yield "it does not run as a user of its own"


def _exec_problems(word: str, rest: str) -> Iterator[str]:
    try:
        words = json.loads(rest)
    except ValueError:
        yield f"{word}: {rest} is no JSON list"
        return
    if not words or not all(isinstance(part, str) for part in words):
        yield f"{word}: not a list of strings"


def copied(text: str) -> list[str]:
    """Return what a Dockerfile copies from the checkout."""
    sources: list[str] = []
    for word, rest in instructions(text):
        if word == "COPY" and not rest.startswith("--from"):
            sources += rest.split()[:-1]
    return sources
