"""Who gives way when the window is full. Pure arithmetic over bytes held per camera.

A budget is split evenly over the cameras; what one of them does not use is lent to the others, evenly too.
So there is one level for all: cameras at or below it keep what they have, those above it pay.
"""

from collections.abc import Collection, Mapping
from typing import TypeVar

K = TypeVar("K")


def fair_level(held_bytes: Collection[int], budget_bytes: int) -> int:
    """Return the most bytes each camera may hold so that all of them together stay within the budget.

    The largest level with ``sum(min(held, level)) <= budget``; where everything fits, the largest holding
    plus what is free.

    Source: max-min fairness (water filling), Bertsekas and Gallager, Data Networks, section 6.5.2.
    """
    left_bytes, sharers = budget_bytes, len(held_bytes)
    for held in sorted(held_bytes):
        if held * sharers > left_bytes:
            return left_bytes // sharers
        left_bytes -= held
        sharers -= 1
    return max(held_bytes, default=0) + left_bytes


def next_to_pay(held_bytes: Mapping[K, int], oldest_us: Mapping[K, int], *, level_bytes: int) -> K | None:
    """Return the camera above the level whose oldest frame is the oldest; None where nobody is above it.

    ``oldest_us`` names each camera's oldest frame, in stream time; a camera without frames is not in it.
    """
    payers = [key for key in oldest_us if held_bytes[key] > level_bytes]
    return min(payers, key=lambda key: oldest_us[key], default=None)


def retention_cutoff_us(newest_us: int, retention_us: int) -> int:
    """Return the stream time before which nothing is kept, seen from ``newest_us``."""
    return newest_us - retention_us
