import pytest

from bench.gpu_table import BATCHES, CPU, GPU, NEEDS_A_GPU, page, sections
from bench.report import Figure


def figure(device: str, row: str, value: float, unit: str) -> Figure:
    return Figure(f"gpu.{device}.{row}", value, unit, (value, value), 3)


def lines(text: str) -> dict[str, list[str]]:
    """Return the cells of each line of a page's tables by what it is about; of equal ones the last."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line
    ]
    return {line[0]: line[1:] for line in cells}


def test_no_row_is_there_twice_and_all_parts_are() -> None:
    names = [row.name for _, rows in sections() for row in rows]
    assert len(names) == len(set(names))
    assert {name.partition(".")[0] for name in names} == {"pool", "encoder", "ask"}
    assert sum(name.startswith("encoder.") for name in names) == 2 * len(BATCHES)


def test_without_a_gpu_its_rows_say_so_and_those_of_the_cpu_have_figures() -> None:
    text = page([figure(CPU, "pool.store.3.2MB", 1012.4, "µs")], machine="two cores")
    assert lines(text)["3.2MB: into pages"] == ["µs", "1,012", NEEDS_A_GPU]
    assert lines(text)["64 frames: by ids, warm"] == ["ms", "-", NEEDS_A_GPU]
    assert "Machine: two cores; GPU: none." in text


def test_with_a_gpu_every_figure_stands_in_its_own_column() -> None:
    figures = [
        figure(CPU, "encoder.small.4", 81.5, "frames/s"),
        figure(GPU, "encoder.small.4", 2345.6, "frames/s"),
        figure(GPU, "encoder.2B.4", 160.0, "frames/s"),
        figure(GPU, "ask.ids_over_pixels.32", 0.21, "x"),
    ]
    text = page(figures, machine="m", gpu="a GPU")
    assert NEEDS_A_GPU not in text
    assert "GPU: a GPU." in text
    small, large = text.split("## Encoder: ")[1:]
    assert lines(small)["batches of 4"] == ["frames/s", "81.5", "2,346"]
    assert lines(large)["batches of 4"] == ["frames/s", "-", "160"]
    assert lines(text)["32 frames: ids over pixels"] == ["x", "-", "0.21"]


def test_with_a_gpu_and_no_vllm_the_questions_say_what_they_need() -> None:
    text = page([], machine="m", gpu="a GPU", lacks="vLLM's environment; make vllm-env")
    assert lines(text)["64 frames: by pixels"][-1] == "needs vLLM's environment; make vllm-env"
    assert lines(text)["3.2MB: into pages"][-1] == "-"


def test_a_figure_in_another_unit_than_its_row_is_refused() -> None:
    with pytest.raises(ValueError, match="is in s, its row in µs"):
        page([figure(CPU, "pool.store.12kB", 1.0, "s")], machine="m")
