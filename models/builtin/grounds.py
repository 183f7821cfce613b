"""Whether the brightness of a ground is one that scenes are drawn with: a plane, a few waves, or boards. Pure.

luma, ground mask ──plane | boards | waves──▶ what is left ──▶ noise alone? small, without peaks, gone in means

A real surface looks alike but for slow shading, marks and dirt, which are what is looked for here.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_Plane = NDArray[np.floating[Any]]
_Mask = NDArray[np.bool_]

_LEAST_SEEN = 0.17
"""Share of the picture that must be ground, neither black nor white, for anything to be said about it."""

_LEAST_UNCUT = 0.9
"""Share of a ground of waves or boards that is neither."""

_BLOCK_PX = 8
_NOISE = 7.0
"""Standard deviation of noise at the working size; drawn noise comes to at most 4.9 there."""

_PEAKS, _PEAK_SHARE = 5.0, 0.005
"""Pixels this many deviations away, and how many of them: drawn pictures reach 0.0043 where H.264 leaves traces."""

_BLOCK_OFF, _BLOCK_OFF_PER_NOISE, _BLOCK_OFF_MOST, _BLOCK_PEAK = 0.6, 0.28, 1.05, 6.0
"""What may be left of block means, root mean square: some for compression, more with noise; and the largest one."""

_STEEPEST = 110.0
"""Rise of brightness over the picture; 100 is drawn."""

_MOST_WAVES, _WAVE_HEIGHT, _WAVE_CYCLES, _WAVES_OFF = 4, 18.0, 24, 3.6
"""Waves are drawn 14 high with up to 22 cycles over the picture; unexplained stays at most 2.9."""

_SLOW_CYCLES, _MOST_SLOW = 2.0, 1
"""Waves slower than this look like a lens's or a lamp's shading; two of them are hardly ever drawn."""

_BOARD_STEP, _MOST_BOARDS = 26.0, 6
"""Other programs' grounds: boards of two shades."""


def drawn_ground(luma: _Plane, ground: _Mask) -> bool:
    """Return whether a plane with even noise, or up to four waves, explains the ground's brightness."""
    height, width = luma.shape
    down, across = np.mgrid[-0.5 : 0.5 : height * 1j, -0.5 : 0.5 : width * 1j]
    judged = ground & (luma > 4) & (luma < 251)
    if np.count_nonzero(judged) < _LEAST_SEEN * judged.size:
        return False
    terms = np.stack([np.ones(luma.shape), across, down], -1)
    plane, *_ = np.linalg.lstsq(terms[judged], luma[judged], rcond=None)
    if float(np.hypot(plane[1], plane[2])) > _STEEPEST:
        return False
    # Planes are cut off at black and white when drawn; a plane that does not lead there explains nothing black.
    rest = np.where(ground, luma - np.clip(terms @ plane, 0, 255), 0.0)
    if _even(rest, ground, _NOISE):
        return True
    if np.count_nonzero(judged) < _LEAST_UNCUT * np.count_nonzero(ground):
        return False
    if _boards(luma, judged) or _boards(luma.T, judged.T):
        return True
    return _few_waves(np.where(judged, luma - float(luma[judged].mean()), 0.0), judged)


def _even(rest: _Plane, judged: _Mask, most_noise: float) -> bool:
    """Return whether what a model of the ground leaves is noise alone: small, without peaks, and gone in means."""
    if np.count_nonzero(judged) < _LEAST_SEEN * judged.size:
        return False
    noise = float(rest[judged].std())
    peaks = np.count_nonzero(np.abs(rest[judged]) > _PEAKS * max(noise, 1.0))
    if noise > most_noise or peaks > _PEAK_SHARE * rest.size:
        return False
    height, width = (side // _BLOCK_PX * _BLOCK_PX for side in rest.shape)
    shape = height // _BLOCK_PX, _BLOCK_PX, width // _BLOCK_PX, _BLOCK_PX
    count = judged[:height, :width].reshape(shape).sum(axis=(1, 3))
    total = rest[:height, :width].reshape(shape).sum(axis=(1, 3))
    used = count >= _BLOCK_PX**2 // 2
    if not used.any():
        return False
    means = total[used] / count[used]
    off = float(np.sqrt(np.mean(means**2)))
    return (
        off <= min(_BLOCK_OFF_MOST, _BLOCK_OFF + _BLOCK_OFF_PER_NOISE * noise)
        and float(np.abs(means).max()) <= _BLOCK_PEAK
    )


def _boards(luma: _Plane, judged: _Mask) -> bool:
    """Return whether columns of one brightness explain the ground, in a few broad boards of two shades."""
    filled = judged.sum(axis=0)
    if filled.min() < 8:
        return False
    profile = np.where(judged, luma, 0.0).sum(axis=0) / filled
    low, high = float(profile.min()), float(profile.max())
    bright = profile > (low + high) / 2
    changes = np.flatnonzero(bright[1:] != bright[:-1])
    if not 1.0 < high - low <= _BOARD_STEP or len(changes) >= _MOST_BOARDS:
        return False
    level = np.where(bright, np.median(profile[bright]), np.median(profile[~bright]))
    settled = np.ones(len(profile), np.bool_)
    for step in (-1, 0, 1, 2):
        settled[np.clip(changes + step, 0, len(profile) - 1)] = False
    return _even(np.where(judged & settled, luma - level, 0.0), judged & settled, _NOISE)


class _Wave(NamedTuple):
    down: float
    across: float


def _few_waves(rest: _Plane, judged: _Mask) -> bool:
    height = rest.shape[0]
    waves: list[_Wave] = []
    left = rest
    for _ in range(_MOST_WAVES):
        power = np.abs(np.fft.rfft2(left))[:, : _WAVE_CYCLES + 1]
        power[_WAVE_CYCLES + 1 : height - _WAVE_CYCLES] = 0
        power[0, 0] = 0
        row, column = np.unravel_index(int(power.argmax()), power.shape)
        waves.append(_Wave(float(row if row <= _WAVE_CYCLES else row - height), float(column)))
        waves, left, tall = _refined(rest, judged, waves)
        if tall > _WAVE_HEIGHT:
            return False
        if float(left[judged].std()) <= _WAVES_OFF / 6:
            break
    slow = sum(np.hypot(wave.down, wave.across) < _SLOW_CYCLES for wave in waves)
    return (
        slow <= _MOST_SLOW
        and len(waves) > 1
        and float(left[judged].std()) <= _WAVES_OFF
        and _even(left, judged, _WAVES_OFF)
    )


def _refined(rest: _Plane, judged: _Mask, waves: list[_Wave]) -> tuple[list[_Wave], _Plane, float]:
    """Return the waves with their cycles fitted, what they leave unexplained, and the tallest one's height."""
    height, width = rest.shape
    y, x = np.nonzero(judged)
    y, x = y[::2] / height, x[::2] / width
    wanted = rest[judged][::2]
    for step in range(4):
        phases = [2 * np.pi * (wave.down * y + wave.across * x) for wave in waves]
        sines, cosines = [np.sin(p) for p in phases], [np.cos(p) for p in phases]
        terms = np.stack([np.ones(len(y)), *sines, *cosines], 1)
        weights = np.linalg.solve(terms.T @ terms + 1e-3 * np.eye(terms.shape[1]), terms.T @ wanted)
        count = len(waves)
        a, b = weights[1 : 1 + count], weights[1 + count :]
        if step == 3:
            break
        slopes = [2 * np.pi * (a[n] * cosines[n] - b[n] * sines[n]) for n in range(count)]
        jacobian = np.stack([terms_ for s in slopes for terms_ in (s * y, s * x)] + list(terms.T), 1)
        off = wanted - terms @ weights
        move = np.linalg.solve(jacobian.T @ jacobian + 1e-3 * np.eye(jacobian.shape[1]), jacobian.T @ off)
        move = np.clip(move, -0.7, 0.7)
        waves = [
            _Wave(wave.down + float(move[2 * n]), wave.across + float(move[2 * n + 1]))
            for n, wave in enumerate(waves)
        ]
    rows, columns = np.arange(height) / height, np.arange(width) / width
    drawn = np.full(rest.shape, float(weights[0]))
    for wave, sine, cosine in zip(waves, a, b, strict=True):
        turn = np.exp(2j * np.pi * wave.down * rows)[:, None] * np.exp(2j * np.pi * wave.across * columns)
        drawn += sine * turn.imag + cosine * turn.real
    return waves, np.where(judged, rest - drawn, 0.0), float(np.hypot(a, b).max())
