"""Which seeds are for what, so that nothing is ever measured on scenes that were trained on."""

TRAINING_CLIPS = 10_000_000
CHECKING_CLIPS = 20_000_000
TOWER_FRAMES = 1_000_000_000
"""First seeds of the clips that are trained on, of those only checked with, and of the tower's single frames."""

BENCH = 1 << 40
"""From here on seeds are the bench's and the demo's; training refuses them."""


class SeedRefused(ValueError):
    """A scene that training must not see."""


def for_training(seed: int) -> int:
    """Return ``seed``, or raise SeedRefused where it is the bench's."""
    if seed >= BENCH:
        raise SeedRefused(
            f"training must not see the scene of seed {seed}: seeds from {BENCH} on are the bench's"
        )
    return seed
