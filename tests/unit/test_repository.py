"""Rules about the repository itself: tests mirror the code, one owner per import name, nothing large or local."""

import re
import subprocess
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
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
    "bench",
)

# Modules without a test module of their own, and why.
UNPAIRED = {
    "livelens/__main__.py": "one call; tests/e2e runs the service through it",
    "bench/rig.py": "starts real parts; tests/e2e/test_bench.py",
    "bench/ask.py": "measures the real service; run by hand and by make bench",
    "bench/camera.py": "the same",
    "bench/glass.py": "the same; tests/e2e/test_bench.py runs it",
}


def _tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).exists()]


def _modules() -> list[Path]:
    return [
        path.relative_to(ROOT)
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "__init__.py" and "versions" not in path.parts
    ]


def test_every_module_has_a_test_module_of_its_own() -> None:
    unpaired = []
    for module in _modules():
        mirrored = ROOT / "tests" / "unit" / module.parent / f"test_{module.stem.strip('_')}.py"
        if not mirrored.exists() and str(module) not in UNPAIRED:
            unpaired.append(str(module))
    assert not unpaired, f"no test module for {unpaired}"


def test_no_module_is_longer_than_four_hundred_lines() -> None:
    long = {str(m): n for m in _modules() if (n := len((ROOT / m).read_text().splitlines())) > 400}
    assert not long


@pytest.mark.parametrize("name", ["cv2", "faiss", "redis"])
def test_one_distribution_at_most_owns_an_import_name(name: str) -> None:
    assert len(set(packages_distributions().get(name, ()))) <= 1


def test_there_is_one_redis_client() -> None:
    assert "coredis" not in packages_distributions()


def test_extras_bring_one_opencv_one_faiss_and_no_second_redis_client() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(d for extra in project["optional-dependencies"].values() for d in extra),
    ]
    names = {re.split(r"[\[<>=~! ;]", requirement)[0].lower() for requirement in wanted}
    assert {n for n in names if n.startswith("opencv")} == {"opencv-python-headless"}
    assert {n for n in names if n.startswith("faiss")} == {"faiss-cpu"}
    assert {n for n in names if "redis" in n} == {"redis"}
    assert not names & {"torchvision", "hiredis", "vllm"}


def test_torch_is_pinned_where_make_and_ci_install() -> None:
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text().splitlines()


def test_no_file_but_trained_weights_is_above_one_megabyte() -> None:
    large = [
        str(p.relative_to(ROOT))
        for p in _tracked()
        if p.stat().st_size > 1_000_000 and p.suffix != ".safetensors"
    ]
    assert not large


def test_clips_have_their_sources_named_beside_them() -> None:
    for folder, page in (
        (ROOT / "tests" / "media", "SOURCES.md"),
        (ROOT / "livelens" / "demo", "CREDITS.md"),
    ):
        text = (folder / page).read_text()
        clips = [path.name for path in folder.iterdir() if path.suffix == ".mp4"]
        assert clips
        assert [name for name in clips if name not in text] == []


def test_the_settings_page_and_the_make_targets_are_named_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert readme.index("make run") < readme.index("make test") < 2500
