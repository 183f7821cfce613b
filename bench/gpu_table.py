"""The table of ``bench gpu``: which rows there are, and the page that holds them. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.report import Figure

CPU, GPU = "cpu", "cuda"
SIZES = ("12kB", "256kB", "3.2MB")
BATCHES = (1, 2, 4, 8, 16, 32)
FRAMES = (4, 16, 32, 64)
NEEDS_A_GPU = "needs a GPU"

_HEAD = """# What a GPU is for

Written by `python -m bench gpu --out docs/gpu.md`; medians. *On the CPU* is the same code on this machine's own memory and cores; `-` stands where that was not
measured. What each row means stands in [bench](bench.md).
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One line: the name that its figures end with, what it is in words, and the unit."""

    name: str
    words: str
    unit: str


def sections() -> Iterator[tuple[str, tuple[Row, ...]]]:
    """Yield the sections of the table with their rows, in order."""
    yield (
        "Pool: one frame's features",
        tuple(
            Row(f"pool.{step}.{size}", f"{size}: {words}", "µs")
            for size in SIZES
            for step, words in (
                ("store", "into pages"),
                ("back", "from pages to memory"),
                ("put_memory", "`MemoryPool.put` without pages"),
                ("put_pages", "`MemoryPool.put` with full pages: the oldest goes back to memory"),
            )
        ),
    )
    yield (
        "Pool: the features of a question about 32 frames, ready for a model on the device",
        tuple(
            Row(f"pool.question_{way}.{size}", f"{size}: {words}", "ms")
            for size in SIZES
            for way, words in (("pages", "gathered from pages there"), ("memory", "by way of memory"))
        ),
    )
    for model, words in (
        ("small", "5 million weights, 24 tokens a frame"),
        ("2B", "Qwen3-VL-2B's tower, 196 tokens a frame"),
    ):
        yield (
            f"Encoder: {words}",
            tuple(Row(f"encoder.{model}.{batch}", f"batches of {batch}", "frames/s") for batch in BATCHES),
        )
    yield (
        "Question to first word in vLLM",
        (
            *(
                Row(f"ask.{way}.{frames}.median", f"{frames} frames: {words}", "ms")
                for frames in FRAMES
                for way, words in (
                    ("pixels", "by pixels"),
                    ("inline", "features inline"),
                    ("ids", "by ids, cold"),
                    ("ids_warm", "by ids, warm"),
                )
            ),
            Row("ask.ids_over_pixels.32", "32 frames: ids over pixels", "x"),
            Row("ask.warm_64_over_ids_4", "64 frames warm over 4 frames cold", "x"),
            Row("ask.own_share.64.p95", "64 frames: accepted to request sent, p95", "ms"),
        ),
    )


def page(figures: Iterable[Figure], *, machine: str = "", gpu: str = "", lacks: str = "") -> str:
    """Return the page. Figures are named ``gpu.DEVICE.ROW``.

    Args:
        gpu: Its name; empty where there is none.
        lacks: Why nothing was asked of vLLM, where there is a GPU and yet nothing was.
    """
    found = {figure.name: figure for figure in figures}
    told = [_HEAD, f"Machine: {machine}; GPU: {gpu or 'none'}.\n"]
    for title, rows in sections():
        told.append(f"## {title}\n")
        told.append("\n".join(_lines(rows, found, gpu=gpu, lacks=lacks)) + "\n")
    return "\n".join(told)


def _lines(rows: Sequence[Row], found: Mapping[str, Figure], *, gpu: str, lacks: str) -> Iterator[str]:
    yield "| what | unit | on the CPU | on the GPU |"
    yield "| --- | --- | --- | --- |"
    for row in rows:
        on_gpu = "-" if gpu else NEEDS_A_GPU
        if gpu and lacks and row.name.startswith("ask."):
            on_gpu = f"needs {lacks}"
        cells = [_cell(found, CPU, row, "-"), _cell(found, GPU, row, on_gpu)]
        yield f"| {row.words} | {row.unit} | {' | '.join(cells)} |"


def _cell(found: Mapping[str, Figure], device: str, row: Row, otherwise: str) -> str:
    figure = found.get(f"gpu.{device}.{row.name}")
    if figure is None:
        return otherwise
    if figure.unit != row.unit:
        raise ValueError(f"{figure.name} is in {figure.unit}, its row in {row.unit}")
    return f"{figure.value:,.0f}" if abs(figure.value) >= 100 else f"{figure.value:.3g}"
