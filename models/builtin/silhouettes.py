"""Whether a patch of pixels has the outline of one of the four shapes, whole or cut by the picture's border. Pure.

mask ──find_patches──▶ patches ──outline (share of object ½)──▶ points ──least squares over place, size, turn──▶ px
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.builtin.draw import distance
from models.builtin.things import RADIUS_RANGE, ThingShape

_Plane = NDArray[np.floating[Any]]
_Mask = NDArray[np.bool_]

_STEPS = 9
_NUDGE = 0.05
_MOST_TURN = 0.22
_SIZE_SLACK = 0.93, 1.07
_MOST_RUNS = 900
_PLAIN_TURN = 0.0


class Patch(NamedTuple):
    """Connected pixels: rows ``top`` to ``bottom`` and columns ``left`` to ``right``, ends not included."""

    top: int
    bottom: int
    left: int
    right: int
    mask: _Mask
    """Of the whole picture's shape (height, width)."""

    @property
    def area_px(self) -> int:
        return int(np.count_nonzero(self.mask[self.top : self.bottom, self.left : self.right]))

    def around(self, margin_px: int) -> tuple[slice, slice]:
        """Return the rows and columns of its box with a margin, as far as the picture reaches."""
        height, width = self.mask.shape
        rows = slice(max(0, self.top - margin_px), min(height, self.bottom + margin_px))
        return rows, slice(max(0, self.left - margin_px), min(width, self.right + margin_px))

    def touches(self) -> tuple[bool, bool, bool, bool]:
        """Return whether it reaches the picture's top, bottom, left and right border."""
        height, width = self.mask.shape
        return self.top == 0, self.bottom == height, self.left == 0, self.right == width


class Fit(NamedTuple):
    """The best shape for an outline: how far it is off, root mean square in pixels, and its radius."""

    error_px: float
    radius_px: float
    shape: ThingShape


def find_patches(mask: _Mask) -> list[Patch] | None:
    """Return the connected parts of a mask (neighbours by side), or None where it is in far too many pieces."""
    height, width = mask.shape
    padded = np.zeros((height, width + 2), np.int8)
    padded[:, 1:-1] = mask
    change = np.diff(padded, axis=1)
    rows, starts = np.nonzero(change == 1)
    ends = np.nonzero(change == -1)[1]
    if len(rows) > _MOST_RUNS:
        return None
    root = _join(rows.tolist(), starts.tolist(), ends.tolist())
    found = []
    for name in sorted(set(root)):
        mine = [number for number, other in enumerate(root) if other == name]
        part = np.zeros_like(mask)
        for number in mine:
            part[rows[number], starts[number] : ends[number]] = True
        left, right = int(starts[mine].min()), int(ends[mine].max())
        found.append(Patch(int(rows[mine[0]]), int(rows[mine[-1]]) + 1, left, right, part))
    return found


def _join(rows: list[int], starts: list[int], ends: list[int]) -> list[int]:
    """Return for every run of pixels the number of the first run of its patch."""
    root = list(range(len(rows)))

    def top(number: int) -> int:
        while root[number] != number:
            root[number] = root[root[number]]
            number = root[number]
        return number

    above = 0
    for number, row in enumerate(rows):
        while rows[above] < row - 1 or (rows[above] == row - 1 and ends[above] <= starts[number]):
            above += 1
        other = above
        while other < number and rows[other] == row - 1 and starts[other] < ends[number]:
            one, two = top(number), top(other)
            root[max(one, two)] = min(one, two)
            other += 1
    return [top(number) for number in range(len(rows))]


def outline(share: _Plane) -> NDArray[np.float64]:
    """Return where ``share`` of object crosses one half between neighbours, shape (points, 2), as (x, y) in pixels.

    The picture's border is no outline.
    """
    inside = share > 0.5
    y, x = np.nonzero(inside[:, 1:] != inside[:, :-1])
    a, b = share[y, x], share[y, x + 1]
    across = np.stack([x + 0.5 + (0.5 - a) / (b - a), y + 0.5], 1)
    y, x = np.nonzero(inside[1:] != inside[:-1])
    a, b = share[y, x], share[y + 1, x]
    down = np.stack([x + 0.5, y + 0.5 + (0.5 - a) / (b - a)], 1)
    return np.concatenate([across, down]).astype(np.float64)


def best_shape(share: _Plane, patch: Patch, *, around: tuple[slice, slice], good_px: float) -> Fit | None:
    """Return the shape that explains a patch best, the first better than ``good_px`` if there is one.

    Args:
        share: How much of each pixel of ``around`` belongs to the object, 0 to 1; nothing but this object.
        around: Rows and columns of the picture that ``share`` covers.
    """
    corner = around[1].start, around[0].start
    points = outline(share) + corner
    if len(points) < 6:
        return None
    short = min(patch.mask.shape)
    least, most = RADIUS_RANGE[0] * short * _SIZE_SLACK[0], RADIUS_RANGE[1] * short * _SIZE_SLACK[1]
    starts, best = _starts(patch, short), None
    for shape in ThingShape:
        params = _fitted(shape, points, starts, least, most)
        errors = np.sqrt(np.mean(_off(shape, params, points) ** 2, axis=1))
        for number in np.argsort(errors)[:2]:
            error = float(errors[number]) + _missing(shape, params[number], share, corner)
            if best is None or error < best.error_px:
                best = Fit(error, float(params[number, 2]), shape)
        if best is not None and best.error_px <= good_px:
            break
    return best


def _starts(patch: Patch, short: int) -> NDArray[np.float64]:
    """Return first guesses (guesses, 4) of x, y, radius and turn: one for a whole patch, more for a cut one."""
    up, low, left, right = patch.touches()
    wide, high = patch.right - patch.left, patch.bottom - patch.top
    if not any((up, low, left, right)):
        middle = (patch.left + patch.right) / 2, (patch.top + patch.bottom) / 2
        return np.array([[*middle, max(wide, high) / 2, _PLAIN_TURN]])
    guesses = [
        (x, y, radius, _PLAIN_TURN)
        for radius in (0.10 * short, 0.14 * short, 0.18 * short)
        for x in _middles(patch.left, patch.right, left, right, radius, radius)
        for y in _middles(patch.top, patch.bottom, up, low, radius, 0.72 * radius)
    ]
    return np.array(guesses)


def _middles(low: int, high: int, cut_low: bool, cut_high: bool, before: float, behind: float) -> list[float]:
    if cut_low and not cut_high:
        return [high - before, high - behind] if before != behind else [high - before]
    if cut_high and not cut_low:
        return [low + before]
    return [(low + high) / 2, high - behind] if before != behind else [(low + high) / 2]


def _off(shape: ThingShape, params: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far outside each guess's outline each point lies, (guesses, points) in pixels."""
    x, y, radius, turn = (params[:, number, None] for number in range(4))
    across, down = points[None, :, 0] - x, points[None, :, 1] - y
    cos, sin = np.cos(turn), np.sin(turn)
    off = distance(shape, across * cos + down * sin, down * cos - across * sin, radius)  # type: ignore[arg-type]  # one radius a guess
    return np.asarray(off, np.float64)


def _fitted(
    shape: ThingShape,
    points: NDArray[np.float64],
    starts: NDArray[np.float64],
    least: float,
    most: float,
) -> NDArray[np.float64]:
    """Return each guess after a few steps of damped least squares over place, radius and turn."""
    params = starts.copy()
    nudge = np.array([_NUDGE, _NUDGE, _NUDGE, _NUDGE / 15])
    damping = np.diag([0.3, 0.3, 1.0, 200.0])
    low = np.array([-np.inf, -np.inf, least, -_MOST_TURN])
    high = np.array([np.inf, np.inf, most, _MOST_TURN])
    count = len(params)
    for _ in range(_STEPS):
        tried = np.concatenate([params, *(params + nudge * (np.arange(4) == n) for n in range(4))])
        off = _off(shape, tried, points).reshape(5, count, -1)
        weight = 1 / np.maximum(1.0, np.abs(off[0]) / 2)
        slope = (off[1:] - off[0]) / nudge[:, None, None]
        normal = np.einsum("agp,bgp,gp->gab", slope, slope, weight) + damping
        pull = np.einsum("agp,gp,gp->ga", slope, off[0], weight)
        step = np.linalg.solve(normal, pull[:, :, None])[:, :, 0]
        before, params = params, np.clip(params - step, low, high)
        if float(np.abs(params - before).max()) < _NUDGE:
            break
    return params


def _missing(shape: ThingShape, params: NDArray[np.float64], share: _Plane, corner: tuple[int, int]) -> float:
    """Return in pixels of outline how much of the shape is not there, or of the patch not in the shape."""
    height, width = share.shape
    grid = np.stack(np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5), -1).reshape(-1, 2) + corner
    drawn = np.clip(0.5 - _off(shape, params[None], grid)[0], 0, 1).reshape(share.shape)
    wrong = float(np.abs(drawn - np.clip(share, 0, 1)).sum())
    around = 7 * float(params[2])
    return max(0.0, wrong / around - 0.5)
