"""What an operator may decide about durable state."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """The store's limits.

    Attributes:
        busy_timeout_us: How long a write waits, in µs, for another process that has SQLite's file locked, and
            any call for a free connection.
        connections: Most connections open at a time.
    """

    busy_timeout_us: int = 5_000_000
    connections: int = 5

    def __post_init__(self) -> None:
        for name in ("busy_timeout_us", "connections"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
