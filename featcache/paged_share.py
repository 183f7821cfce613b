"""Which frames of a camera have their features on a device, and whose leave it when it is full. Pure.

The device holds the newest: a new frame comes in, the oldest goes back to memory. What cameras may hold there is shared
as the window itself is (``featcache.budget``): evenly, unused share lent.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping
from typing import TypeVar

from core.frames import FarBytes
from featcache.budget import fair_level, next_to_pay

K = TypeVar("K")


class FarTimes:
    """The frames of one camera whose features lie on a device, by time.

    Attributes:
        size_bytes: Bytes of their features.
        room_bytes: Bytes these take there, in whole pages.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self.room_bytes = 0
        self._times: list[int] = []
        self._sizes: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._times)

    def __getitem__(self, number: int) -> int:
        """Return the time of the frame of this number, counted from the oldest."""
        return self._times[number]

    def __contains__(self, t_us: int) -> bool:
        return t_us in self._sizes

    def room_of(self, t_us: int) -> int:
        """Return the bytes that this frame's features take there."""
        return self._sizes[t_us][1]

    def add(self, t_us: int, far: FarBytes) -> None:
        """Note that a frame's features lie there now; so far they did not."""
        self._sizes[t_us] = size_bytes, room_bytes = len(far), far.room_bytes
        insort(self._times, t_us)
        self.size_bytes += size_bytes
        self.room_bytes += room_bytes

    def discard(self, t_us: int) -> None:
        """Note that a frame's features do not lie there, if they did."""
        if t_us in self._sizes:
            del self._times[bisect_left(self._times, t_us)]
            self._forget(t_us)

    def drop_before(self, before_us: int) -> None:
        """Note that no frame with ``t_us < before_us`` is held any more."""
        count = bisect_left(self._times, before_us)
        for t_us in self._times[:count]:
            self._forget(t_us)
        del self._times[:count]

    def _forget(self, t_us: int) -> None:
        size_bytes, room_bytes = self._sizes.pop(t_us)
        self.size_bytes -= size_bytes
        self.room_bytes -= room_bytes


def who_goes(
    held: Mapping[K, FarTimes], newcomer: K, t_us: int, *, room_bytes: int, capacity_bytes: int
) -> list[tuple[K, int]] | None:
    """Return whose frames leave the device, by time, so that a new frame finds room there; None where it does not.

    None where the new frame itself is the next to leave: it is older than the others of its camera, or its camera has
    more than its share. Then nobody leaves.

    Args:
        held: What every camera has there, the newcomer's included.
        t_us, room_bytes: The new frame's time, and what its features would take.
    """
    rooms = {camera: far.room_bytes for camera, far in held.items()}
    rooms[newcomer] += room_bytes
    over_bytes = sum(rooms.values()) - capacity_bytes
    level_bytes = fair_level(rooms.values(), capacity_bytes)
    oldest = {camera: far[0] for camera, far in held.items() if len(far)}
    oldest[newcomer] = min(t_us, oldest.get(newcomer, t_us))
    passed = dict.fromkeys(held, 0)
    going: list[tuple[K, int]] = []
    while over_bytes > 0:
        payer = next_to_pay(rooms, oldest, level_bytes=level_bytes)
        if payer is None or (payer == newcomer and oldest[payer] == t_us):
            return None
        far, gone_us = held[payer], oldest[payer]
        going.append((payer, gone_us))
        over_bytes -= far.room_of(gone_us)
        rooms[payer] -= far.room_of(gone_us)
        passed[payer] += 1
        rest = [far[passed[payer]]] if passed[payer] < len(far) else []
        rest += [t_us] if payer == newcomer else []
        if rest:
            oldest[payer] = min(rest)
        else:
            del oldest[payer]
    return going
