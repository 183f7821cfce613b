"""How much to do in one step, so that no step keeps others waiting long. Pure.

A step cannot be interrupted: running answers, pictures and cancels wait for its end. On a fast machine large steps
are cheapest; on a slow one the same step would take many seconds. So the size follows what steps really took.
"""


class Pace:
    """The size of the next step, between ``least`` and ``most``, for a step of about ``target_us``.

    It begins small: the first step on an unknown machine must not be the longest.
    """

    GROWTH = 4

    def __init__(self, *, least: int, most: int, target_us: int) -> None:
        self._least, self._most, self._target_us = min(least, most), most, target_us
        self.size = self._least

    def took(self, size: int, us: int) -> None:
        """Learn that a step of ``size`` took ``us``; grows at most fourfold at a time, shrinks at once."""
        if size < 1:
            return
        fits = size * self._target_us // max(us, 1)
        # A step smaller than the present size that was quick enough says nothing against the present size.
        if fits < self.size and (size >= self.size or us > self._target_us):
            self.size = max(self._least, fits)
        elif fits > self.size and size >= self.size:
            self.size = min(self._most, fits, self.size * self.GROWTH)
