"""Which frames are worth keeping, and why. Pure: reads stream time only."""

from collections import deque

from core.frames import KeepReason

SECOND_US = 1_000_000


class MotionGate:
    """Choose which frames are worth encoding.

    Motion is kept at most ``per_s`` times in any second, evenly enough spread. Only samples kept for motion
    or a scene change count against that cap, so that the first moving frame after a quiet time is kept at
    once, however recent the last heartbeat was. A frame is kept at least every ``heartbeat_us``.
    """

    def __init__(self, *, per_s: int, heartbeat_us: int) -> None:
        self._heartbeat_us = heartbeat_us
        # Four fifths of the even distance: at 10 and 25 frames per second an exact quarter second falls
        # between two frames and the rate would sink to 3.3 and 3.6 per second.
        self._spacing_us = SECOND_US * 4 // (5 * per_s)
        self._busy_us: deque[int] = deque(maxlen=per_s)
        self._kept_us: int | None = None
        self._in_change = False

    def push(self, t_us: int, *, moving: bool, scene_changed: bool = False) -> KeepReason | None:
        """Return why the frame at ``t_us`` is kept, or None to let it go. ``t_us`` must grow."""
        reason = self._judge(t_us, moving, scene_changed)
        self._in_change = scene_changed
        if reason is not None:
            self._kept_us = t_us
        if reason in (KeepReason.MOTION, KeepReason.SCENE_CHANGE):
            self._busy_us.append(t_us)
        return reason

    def reset(self) -> None:
        """Forget what was kept: the next frame is the first of an epoch."""
        self._kept_us = None
        self._busy_us.clear()
        self._in_change = False

    def _judge(self, t_us: int, moving: bool, scene_changed: bool) -> KeepReason | None:
        if self._kept_us is None:
            return KeepReason.FIRST
        if scene_changed and self._has_room(t_us, spaced=self._in_change):
            return KeepReason.SCENE_CHANGE
        if moving and self._has_room(t_us, spaced=True):
            return KeepReason.MOTION
        if t_us - self._kept_us >= self._heartbeat_us:
            return KeepReason.HEARTBEAT
        return None

    def _has_room(self, t_us: int, *, spaced: bool) -> bool:
        if not self._busy_us:
            return True
        if len(self._busy_us) == self._busy_us.maxlen and t_us - self._busy_us[0] < SECOND_US:
            return False
        return not spaced or t_us - self._busy_us[-1] >= self._spacing_us
