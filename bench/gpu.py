"""What a GPU is for: features in its memory, frames encoded, questions answered. ``bench gpu --out FILE`` writes the table.

    on the CPU, and on the GPU where there is one ─▶ pool (gpu_pool) ─▶ encoder (gpu_encoder) ─┐
    on a GPU with vLLM                            ─▶ ask --decoder vllm (ask_vllm) ────────────┴─▶ page (gpu_table)

Everything is measured on the CPU too, as far as it ends in reasonable time: the code is the same, and the two columns tell what
the GPU is worth. Without a GPU its rows say so, and the script is ready for a machine that has one.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path

from bench.gpu_table import CPU, GPU, page
from bench.report import Figure
from bench.rig import PartMissing


async def measure(
    *, quick: bool, out: Path | None = None, machine: str = "", tell: Callable[[str], None] = print
) -> list[Figure]:
    """Return the figures, and write the page of them to ``out``, or tell it. Raises PartMissing without torch.

    Quick, the encoder is the small one only, and nothing is asked of vLLM.
    """
    if importlib.util.find_spec("torch") is None:
        raise PartMissing("the extra 'encoder'")
    from bench.gpu_encoder import encoder_figures
    from bench.gpu_pool import pool_figures

    gpu = gpu_name()
    figures: list[Figure] = []
    for device in (CPU, GPU) if gpu else (CPU,):
        figures += await pool_figures(device, quick=quick)
        figures += encoder_figures(device, quick=quick)
    lacks = ""
    if gpu and not quick:
        asked, lacks = await _asked()
        figures += asked
    _write(page(figures, machine=machine, gpu=gpu, lacks=lacks), out, tell)
    return figures


def gpu_name() -> str:
    """Return the name of the GPU that torch finds; nothing where it finds none."""
    import torch

    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else ""


def _write(text: str, out: Path | None, tell: Callable[[str], None]) -> None:
    if out is None:
        tell(text)
    else:
        out.write_text(text)


async def _asked() -> tuple[list[Figure], str]:
    """Return the figures of questions to vLLM, and what is missing for them."""
    from bench import ask_vllm

    try:
        found = await ask_vllm.measure(quick=False)
    except PartMissing as error:
        return [], str(error)
    return [
        Figure(f"gpu.{GPU}.ask.{one.name.partition('.')[2]}", one.value, one.unit, one.spread, one.n)
        for one in found
    ], ""
