"""Changes of the whole picture: a light, a push against the camera, a cover. Pure: reads stream time only."""

from dataclasses import dataclass

import cv2
import numpy as np

from core.records import SceneChange, SceneChangeKind
from sampler.background import Difference
from sampler.plane import Plane, edges

JUMP = float(np.log(1.35))  # of mean brightness in 0.2 s; exposure of a real camera drifts by 1.13 at most
JUMP_SHARE = 0.75  # of the picture, all brighter or all darker
BURST = 0.05  # of the picture moving ...
LOST = 0.6  # ... and so many of the edges of the scene gone in most quarters that have any,
LOST_ANYWHERE = 0.4  # and so many in each of them
EDGE = 24.0
SETTLED_US = 600_000
GIVE_UP_US = 10_000_000
CALM = 0.004
PLAIN = 0.25  # of the edges before: hardly anything to see any more
KIN = 0.5  # correlation of edges from which on two pictures show the same view
DARK = 24.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a settled upheaval was.

    ``change`` is None where the old view has come back by itself; ``background`` is what the scene looks
    like with nothing in it from now on.
    """

    change: SceneChange | None
    background: Plane


class SceneWatch:
    """Notice that the whole picture changes, wait until it has settled, then say what it was.

    Nothing is said of tracks meanwhile: ``unsettled`` and ``covered`` tell the caller to hold new ones back.
    """

    def __init__(self) -> None:
        self._since_us: int | None = None
        self._calm_us: int | None = None
        self._jump = 0.0
        self._at_once = False
        self._before: Plane | None = None
        self._uncovered: Plane | None = None

    @property
    def unsettled(self) -> bool:
        return self._since_us is not None

    @property
    def covered(self) -> bool:
        return self._uncovered is not None

    def reset(self) -> None:
        """Forget a change that has not settled; a cover stays a cover."""
        self._since_us = self._calm_us = self._before = None

    def push(
        self,
        t_us: int,
        plane: Plane,
        *,
        past: Plane,
        background: Plane,
        difference: Difference,
        moved_share: float,
    ) -> Verdict | None:
        """Take one frame.

        ``past`` is the plane about 0.2 s ago, ``background`` the reference and ``difference`` what
        ``plane`` differs from it.

        Returns a verdict on the frame at which the picture has settled, else None.
        """
        jump = _jump(plane, past)
        if self._since_us is None:
            if abs(jump) > JUMP or (moved_share > BURST and self._lost(plane, background, difference)):
                self._since_us, self._calm_us = t_us, None
                self._before = background.copy()
                self._jump = jump
            return None
        self._jump = jump if abs(jump) > abs(self._jump) else self._jump
        if moved_share > CALM:
            self._calm_us = None
            if t_us - self._since_us > GIVE_UP_US:
                self.reset()
            return None
        if self._calm_us is None:
            self._calm_us = t_us
        if t_us - self._calm_us < SETTLED_US or self._before is None:
            return None
        verdict = self._judge(self._since_us, plane, self._before)
        self.reset()
        return verdict

    def _lost(self, plane: Plane, background: Plane, difference: Difference) -> bool:
        return self.covered or _edges_lost(plane, background, difference)

    def _judge(self, start_us: int, plane: Plane, before: Plane) -> Verdict:
        if self._uncovered is not None:
            known = self._uncovered
            if detail(plane) < PLAIN * detail(known):
                return Verdict(None, before)
            self._uncovered = None
            change = SceneChange(start_us, SceneChangeKind.CAMERA_UNCOVERED)
            return Verdict(change, known if likeness(plane, known) >= KIN else plane)
        kind = self._kind(plane, before)
        if kind is SceneChangeKind.CAMERA_COVERED:
            self._uncovered = before
        if kind is None:
            return Verdict(None, before)
        return Verdict(SceneChange(start_us, kind), plane)

    def _kind(self, plane: Plane, before: Plane) -> SceneChangeKind | None:
        switched = abs(self._jump) > JUMP
        change = float(np.log((plane.mean() + 8) / (before.mean() + 8)))
        lit = SceneChangeKind.LIGHT_ON if change > 0 else SceneChangeKind.LIGHT_OFF
        lasting = switched and abs(change) > JUMP / 2 and (change > 0) == (self._jump > 0)
        kin = likeness(plane, before)
        if detail(plane) < PLAIN * detail(before) and kin < KIN:
            dark_at_once = lasting and float(plane.mean()) < DARK and abs(self._jump) > 0.7 * abs(change)
            return lit if dark_at_once else SceneChangeKind.CAMERA_COVERED
        if kin >= KIN or detail(before) < PLAIN * detail(plane):
            if lasting:
                return lit
            if kin >= KIN:
                return SceneChangeKind.CAMERA_MOVED if _pushed(plane, before) else None
        return SceneChangeKind.CAMERA_MOVED if _everywhere(plane, before) else None


def detail(plane: Plane) -> float:
    """Return how much there is to see: mean edge strength in grey levels."""
    return float(edges(plane).mean())


def likeness(one: Plane, other: Plane) -> float:
    """Return the correlation of the edges of two pictures, -1 to 1; brightness does not matter."""
    a, b = np.sqrt(edges(one)), np.sqrt(edges(other))
    a -= a.mean()
    b -= b.mean()
    return float((a * b).sum() / max(float(np.sqrt((a * a).sum() * (b * b).sum())), 1e-6))


def _jump(plane: Plane, past: Plane) -> float:
    """Return the logarithm of how much brighter all of the picture has become, 0 where only a part has."""
    ratio = float(np.log((plane.mean() + 8) / (past.mean() + 8)))
    if abs(ratio) <= JUMP:
        return 0.0
    step = (plane - past) if ratio > 0 else (past - plane)
    return ratio if np.count_nonzero(step > 5) > JUMP_SHARE * step.size else 0.0


def _quarters(plane: Plane) -> list[tuple[slice, slice]]:
    rows, columns = plane.shape[0] // 2, plane.shape[1] // 2
    return [
        (slice(top, top + rows), slice(left, left + columns)) for top in (0, rows) for left in (0, columns)
    ]


def _edges_lost(plane: Plane, background: Plane, difference: Difference) -> bool:
    """Return whether the edges of the scene have changed wherever it has some.

    A large thing that passes hides those behind it and leaves the others alone; a push changes them all.
    """
    known = edges(background)
    now = edges(plane) / max(difference.gain, 0.3)
    lost = (cv2.absdiff(now, known) > 0.5 * known) | (difference.amount > np.maximum(10, 0.3 * known))
    shares = [
        float(lost[part][known[part] > EDGE].mean())
        for part in _quarters(background)
        if np.count_nonzero(known[part] > EDGE) >= 25
    ]
    return len(shares) >= 2 and min(shares) > LOST_ANYWHERE and float(np.median(shares)) > LOST


def _everywhere(plane: Plane, before: Plane) -> bool:
    """Return whether no quarter of the picture with something to see shows what it showed."""
    parts = [part for part in _quarters(plane) if detail(before[part]) > 1.0]
    return all(likeness(plane[part], before[part]) < KIN for part in parts)


def _pushed(plane: Plane, before: Plane) -> bool:
    """Return whether the same view lies elsewhere: shifted by more than a pixel of the plane."""
    window = cv2.createHanningWindow((plane.shape[1], plane.shape[0]), cv2.CV_32F)
    (dx, dy), _ = cv2.phaseCorrelate(before.copy(), plane.copy(), window)  # it windows its arguments in place
    if float(np.hypot(dx, dy)) < 1.0:
        return False
    shift = np.array([[1, 0, -dx], [0, 1, -dy]], dtype=np.float32)
    back = cv2.warpAffine(plane, shift, (plane.shape[1], plane.shape[0]), borderMode=cv2.BORDER_REPLICATE)
    inner = np.s_[8:-8, 8:-8]
    return float(cv2.absdiff(back, before)[inner].mean()) < 0.6 * float(
        cv2.absdiff(plane, before)[inner].mean()
    )
