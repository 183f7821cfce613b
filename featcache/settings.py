"""What an operator may decide about the window."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """The window's limits.

    Attributes:
        pool_budget_bytes: Memory for frames (pictures and features) of all cameras together.
        retention_us: How long a camera's frames and records are kept at most, in µs of stream time.
        int8_features: Keep features at 8 bit with a scale per token: half the memory, slightly other answers.
        max_records: Gaps, static spans, tracks and the like kept per camera; the oldest closed ones go first.
    """

    pool_budget_bytes: int = 1 << 30
    retention_us: int = 3_600_000_000
    max_records: int = 10_000
    int8_features: bool = False

    def __post_init__(self) -> None:
        for name in ("pool_budget_bytes", "retention_us", "max_records"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
