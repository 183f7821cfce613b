"""Where a model computes, and in which number type."""

import os
from collections.abc import Callable
from dataclasses import dataclass

_BF16_UNITS = ("avx512_bf16", "amx_bf16", "arm_bf16", "bf16")


@dataclass(frozen=True, slots=True)
class Hardware:
    """What there is to compute with.

    Attributes:
        cuda: There is a GPU that torch can use.
        cuda_bf16: It computes bf16.
        cpu_bf16: The CPU has units for bf16; without them bf16 is four times slower than fp32 (measured, AVX2).
        cores: Processor cores this process may use.
    """

    cuda: bool
    cuda_bf16: bool
    cpu_bf16: bool
    cores: int = 1


@dataclass(frozen=True, slots=True)
class Compute:
    """A torch device and a torch number type, by name, and the threads that compute on the CPU."""

    device: str
    dtype: str
    threads: int = 1


def look_at_hardware() -> Hardware:
    """Return what torch finds on this machine. Imports torch, which takes seconds."""
    import torch

    cuda = torch.cuda.is_available()
    look: Callable[[], dict[str, bool]] = getattr(torch.cpu, "get_capabilities", dict)
    units = look()  # empty with torch 2.11, which cannot tell; fp32 is the safe guess
    return Hardware(
        cuda=cuda,
        cuda_bf16=cuda and torch.cuda.is_bf16_supported(including_emulation=False),
        cpu_bf16=any(units.get(name, False) for name in _BF16_UNITS),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
    )


def choose_compute(
    hardware: Hardware, weights_type: str, *, device: str = "auto", dtype: str = "auto", threads: int = 0
) -> Compute:
    """Return where and how to compute: on a GPU if there is one, in the weights' own type if it is quick there.

    ``threads`` 0 leaves one core to cameras and clients: where all cores compute and something else wants one too,
    the computing threads wait for one another, and a step takes ten times as long (measured on two cores).
    """
    if device == "auto":
        device = "cuda" if hardware.cuda else "cpu"
    if dtype == "auto":
        dtype = _quick_type(hardware, weights_type, on_gpu=device.startswith("cuda"))
    return Compute(device, dtype, threads or max(1, hardware.cores - 1))


def _quick_type(hardware: Hardware, weights_type: str, *, on_gpu: bool) -> str:
    if weights_type not in ("bfloat16", "float16"):
        return "float32"
    if not on_gpu:
        return "bfloat16" if hardware.cpu_bf16 and weights_type == "bfloat16" else "float32"
    return "float16" if weights_type == "float16" or not hardware.cuda_bf16 else "bfloat16"
