"""Settings of the sampler."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """What the sampler looks at and keeps.

    Attributes:
        plane_side_px: Long side of the small brightness plane that everything is measured on.
        motion_per_s: Most samples kept for motion in any one second.
        heartbeat_us: A sample is kept at least this often.
        static_after_us: Nothing moving for this long becomes a static span.
        jpeg_max_side_px: Long side of the kept picture; smaller cameras are not scaled up.
        jpeg_quality: 1 to 100.
    """

    plane_side_px: int = 160
    motion_per_s: int = 4
    heartbeat_us: int = 2_000_000
    static_after_us: int = 2_000_000
    jpeg_max_side_px: int = 960
    jpeg_quality: int = 80

    def __post_init__(self) -> None:
        limits = {
            "plane_side_px": (64, 640),
            "motion_per_s": (1, 60),
            "heartbeat_us": (100_000, 60_000_000),
            "static_after_us": (200_000, 600_000_000),
            "jpeg_max_side_px": (64, 8192),
            "jpeg_quality": (1, 100),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be {low} to {high}, got {value}")
