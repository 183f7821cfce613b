import importlib.util
from pathlib import Path

import pytest

from bench import ask_vllm, gpu, gpu_encoder, gpu_pool
from bench.gpu_table import NEEDS_A_GPU
from bench.report import Figure
from bench.rig import PartMissing

pytestmark = pytest.mark.torch

ASKED = Figure("ask_vllm.ids.32.median", 35.0, "ms", (30.0, 40.0), 6)


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for what takes long; return the devices that were measured."""
    measured: list[str] = []

    async def pool(device: str, *, quick: bool) -> list[Figure]:
        measured.append(device)
        return [Figure(f"gpu.{device}.pool.store.12kB", 40.0, "µs", (39.0, 50.0), 10)]

    def encoder(device: str, *, quick: bool) -> list[Figure]:
        return [Figure(f"gpu.{device}.encoder.small.1", 20.0, "frames/s", (19.0, 21.0), 3)]

    monkeypatch.setattr(gpu_pool, "pool_figures", pool)
    monkeypatch.setattr(gpu_encoder, "encoder_figures", encoder)
    return measured


def with_gpu(monkeypatch: pytest.MonkeyPatch, asked: list[Figure] | PartMissing) -> None:
    async def measure(*, quick: bool) -> list[Figure]:
        if isinstance(asked, PartMissing):
            raise asked
        return asked

    monkeypatch.setattr(gpu, "gpu_name", lambda: "a GPU")
    monkeypatch.setattr(ask_vllm, "measure", measure)


async def test_without_a_gpu_the_cpu_is_measured_and_the_page_says_what_needs_one(
    monkeypatch: pytest.MonkeyPatch, parts: list[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(gpu, "gpu_name", lambda: "")
    out = tmp_path / "gpu.md"
    figures = await gpu.measure(quick=True, out=out, machine="two cores")
    assert (parts, len(figures)) == (["cpu"], 2)
    page = out.read_text()
    assert f"| 12kB: into pages | µs | 40 | {NEEDS_A_GPU} |" in page
    assert "two cores" in page


async def test_with_a_gpu_both_are_measured_and_vllm_is_asked(
    monkeypatch: pytest.MonkeyPatch, parts: list[str]
) -> None:
    with_gpu(monkeypatch, [ASKED])
    told: list[str] = []
    figures = await gpu.measure(quick=False, tell=told.append)
    assert parts == ["cpu", "cuda"]
    assert "gpu.cuda.ask.ids.32.median" in {figure.name for figure in figures}
    assert "| 32 frames: by ids, cold | ms | - | 35 |" in told[0]


async def test_a_gpu_without_vllm_still_gets_its_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpu(monkeypatch, PartMissing("vLLM's environment; make vllm-env"))
    told: list[str] = []
    await gpu.measure(quick=False, tell=told.append)
    assert "| 32 frames: by ids, cold | ms | - | needs vLLM's environment; make vllm-env |" in told[0]


async def test_quick_asks_nothing_of_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpu(monkeypatch, PartMissing("asked all the same"))
    told: list[str] = []
    await gpu.measure(quick=True, tell=told.append)
    assert "asked all the same" not in told[0]


async def test_without_torch_nothing_can_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(PartMissing, match="the extra 'encoder'"):
        await gpu.measure(quick=True)
