import pytest

from bench import gpu_pool
from bench.gpu_pool import Size, pool_figures
from bench.gpu_table import CPU, sections
from featcache.paged_memory import PagedMemory

pytestmark = pytest.mark.torch


async def test_every_row_of_the_pool_gets_a_figure_in_its_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_pool, "SIZES", tuple(Size(one.name, 4, 8) for one in gpu_pool.SIZES))
    found = {figure.name: figure for figure in await pool_figures(CPU, quick=True)}
    rows = [row for _, rows in sections() for row in rows if row.name.startswith("pool.")]
    assert {f"gpu.cpu.{row.name}" for row in rows} == set(found)
    assert all(found[f"gpu.cpu.{row.name}"].unit == row.unit for row in rows)
    assert all(figure.value > 0 and figure.n >= 10 for figure in found.values())


async def test_bytes_that_came_back_otherwise_are_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PagedMemory, "read", lambda *_: memoryview(b"others"))
    with pytest.raises(AssertionError, match="other bytes than they were given"):
        await pool_figures(CPU, quick=True)
