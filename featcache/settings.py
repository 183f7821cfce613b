"""What an operator may decide about the window."""

import re
from dataclasses import dataclass

LEAST_GPU_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """The window's limits.

    Attributes:
        pool_budget_bytes: Memory for frames (pictures and features) of all cameras together.
        gpu_budget_bytes: GPU memory, taken at the start, for the features of the newest frames, on top of
            ``pool_budget_bytes``; pictures stay in memory. 0 takes none.
        gpu_device: The GPU: ``cuda`` or ``cuda:1``; ``cpu`` tries the same in the machine's memory.
        retention_us: How long a camera's frames and records are kept at most, in µs of stream time.
        int8_features: Keep features at 8 bit with a scale per token: half the memory, slightly other answers.
        max_records: Gaps, static spans, tracks and the like kept per camera; the oldest closed ones go first.
    """

    pool_budget_bytes: int = 1 << 30
    retention_us: int = 3_600_000_000
    max_records: int = 10_000
    int8_features: bool = False
    gpu_budget_bytes: int = 0
    gpu_device: str = "cuda"

    def __post_init__(self) -> None:
        for name in ("pool_budget_bytes", "retention_us", "max_records"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.gpu_budget_bytes and self.gpu_budget_bytes < LEAST_GPU_BYTES:
            raise ValueError(
                f"gpu_budget_bytes must be 0 or at least {LEAST_GPU_BYTES}, got {self.gpu_budget_bytes}"
            )
        if not re.fullmatch(r"cpu|cuda(:\d{1,2})?", self.gpu_device):
            raise ValueError(f"gpu_device must be cuda, cuda:N or cpu, got {self.gpu_device!r}")
