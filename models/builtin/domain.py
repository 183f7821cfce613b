"""Whether a picture shows the toy world: the built-in model speaks about nothing else.

picture ──small RGB──▶ chroma against the ground's ──▶ objects: few, of six colours, even, whole shapes
                                    └──▶ ground: brightness in range, one tint, a plane or a few waves, little noise

Every rule is a statement about what the published scenes can look like. Where in doubt the answer is no: a wrong
yes would let a toy speak about a real camera.
"""

from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.frames import Picture
from models.builtin.silhouettes import Patch, best_shape, find_patches
from models.builtin.things import MOST_OBJECTS

_Plane = NDArray[np.floating[Any]]
_Mask = NDArray[np.bool_]

SHORT_SIDE_PX = 96
"""Pictures are looked at with this short side; smaller ones are refused."""

_LONGEST = 2.2
_PALETTE = np.array(
    [(215, 38, 40), (246, 140, 22), (242, 222, 44), (38, 158, 62), (42, 86, 214), (148, 58, 188)], np.float32
)
_COLOUR_OFF = 42.0
"""How far an object's mean colour may lie from the nearest of the six, in each channel."""

_UNEVEN = 26.0
_COLOURFUL = 30.0
_TINT, _TINT_SPREAD, _TINT_MIDDLE = 24.0, 9.5, 4.0
_LEVELS = (36.0, 214.0)
_LEAST_GROUND = 0.35
_SLIVER_PX, _SPECK_PX = 60, 8
_OUTLINE_OFF_PX = 1.2

_BLOCK_PX = 8
_BLOCKS_OFF, _NOISE = 1.3, 7.0
_STEEPEST = 110.0
_MOST_WAVES, _WAVE_HEIGHT, _WAVE_CYCLES = 4, 18.0, 24
_WAVES_OFF = 3.6
_SLOW_CYCLES, _MOST_SLOW = 2.0, 1
_BOARD_STEP, _MOST_BOARDS = 26.0, 6

_LUMA = np.array((0.299, 0.587, 0.114), np.float32)
_CHROMA = np.array([(1, 0, -1), (1, -2, 1)], np.float32).T / np.sqrt(np.array((2, 6), np.float32))


class Why(StrEnum):
    """The first rule that a picture breaks."""

    SIZE = "size"
    COLOURFUL = "colourful"
    TINT = "tint"
    LEVEL = "level"
    OBJECTS = "objects"
    COLOUR = "colour"
    SHAPE = "shape"
    GROUND = "ground"


def in_domain(picture: Picture) -> bool:
    """Return whether a picture can be one of the toy world. Takes milliseconds; call it outside the event loop."""
    return why_not(picture) is None


def why_not(picture: Picture) -> Why | None:
    """Return the first rule that a picture breaks, or None where it can be one of the toy world."""
    wide, high = picture.width_px, picture.height_px
    short = min(wide, high)
    if short < SHORT_SIDE_PX or max(wide, high) > _LONGEST * short:
        return Why.SIZE
    scale = SHORT_SIDE_PX / short
    return why_not_pixels(picture.rgb(round(wide * scale), round(high * scale)))


def why_not_pixels(rgb: NDArray[np.uint8]) -> Why | None:
    """Return the same for a picture of the working size, (height, width, 3)."""
    pixels = rgb.astype(np.float32)
    grey = (rgb.max(axis=2) - rgb.min(axis=2)) < 50
    if grey.mean() < _LEAST_GROUND:
        return Why.COLOURFUL
    chroma = pixels @ _CHROMA
    tint = np.median(chroma[grey], axis=0)
    if float(np.hypot(*tint)) > _TINT:
        return Why.TINT
    away = chroma - tint
    colourful = np.hypot(away[:, :, 0], away[:, :, 1]) > _COLOURFUL
    luma = pixels @ _LUMA
    ground = ~_grown(colourful, 3)
    if ground.mean() < _LEAST_GROUND:
        return Why.COLOURFUL
    if not _LEVELS[0] <= float(np.median(luma[ground])) <= _LEVELS[1]:
        return Why.LEVEL
    if not _one_tint(away, luma, ground):
        return Why.TINT
    broken = _objects_broken(pixels, away, colourful)
    if broken is not None:
        return broken
    return None if _drawn_ground(luma, ground) else Why.GROUND


def _grown(mask: _Mask, by_px: int) -> _Mask:
    grown = mask.copy()
    for _ in range(by_px):
        wider = grown.copy()
        wider[1:] |= grown[:-1]
        wider[:-1] |= grown[1:]
        wider[:, 1:] |= grown[:, :-1]
        wider[:, :-1] |= grown[:, 1:]
        grown = wider
    return grown


def _one_tint(away: _Plane, luma: _Plane, ground: _Mask) -> bool:
    """Return whether the ground has one tint: only its brightness varies. At 0 and 255 colours are cut off."""
    judged = ground & (luma > 18) & (luma < 236)
    off = np.hypot(away[:, :, 0], away[:, :, 1])[judged]
    _probe("tint", float(np.percentile(off, 98)), float(np.percentile(off, 50)))
    middle, most = np.percentile(off, (50, 98)) if off.size else (np.inf, np.inf)
    return bool(middle <= _TINT_MIDDLE and most <= _TINT_SPREAD)


# ---------------------------------------------------------------- objects


def _objects_broken(pixels: _Plane, away: _Plane, colourful: _Mask) -> Why | None:
    patches = find_patches(colourful)
    if patches is None:
        return Why.OBJECTS
    real = [patch for patch in patches if patch.area_px > _SPECK_PX]
    if len(real) > MOST_OBJECTS + 1 or len(patches) > 4 * MOST_OBJECTS:
        return Why.OBJECTS
    for patch in real:
        broken = _patch_broken(pixels, away, patch)
        if broken is not None:
            return broken
    return None


def _patch_broken(pixels: _Plane, away: _Plane, patch: Patch) -> Why | None:
    cut = any(patch.touches())
    if cut and patch.area_px <= _SLIVER_PX:
        return None
    around = patch.around(4)
    mask, away, pixels = patch.mask[around], away[around], pixels[around]
    inner = mask & ~_grown(~mask, 2)
    if np.count_nonzero(inner) < 6:
        inner = mask & ~_grown(~mask, 1)
    if np.count_nonzero(inner) < 4:
        return None if cut else Why.SHAPE
    colour = np.median(pixels[inner], axis=0)
    if float(np.abs(_PALETTE - colour).max(axis=1).min()) > _COLOUR_OFF:
        return Why.COLOUR
    own = np.median(away[inner], axis=0)
    uneven = float(np.percentile(np.hypot(*(away[inner] - own).T), 70))
    _probe("uneven", uneven)
    if uneven > _UNEVEN:
        return Why.COLOUR
    share = np.where(_grown(mask, 2), away @ own / float(own @ own), 0.0)
    fit = best_shape(share, patch, around=around, good_px=_OUTLINE_OFF_PX)
    _probe("outline", fit.error_px if fit else 99)
    _probe("colour", float(np.abs(_PALETTE - colour).max(axis=1).min()))
    return None if fit is not None and fit.error_px <= _OUTLINE_OFF_PX else Why.SHAPE


def _probe(*_: object) -> None:
    pass


# ---------------------------------------------------------------- ground


def _drawn_ground(luma: _Plane, ground: _Mask) -> bool:
    """Return whether a plane with even noise, or up to four waves, explains the ground's brightness."""
    height, width = luma.shape
    down, across = np.mgrid[-0.5 : 0.5 : height * 1j, -0.5 : 0.5 : width * 1j]
    judged = ground & (luma > 4) & (luma < 251)
    terms = np.stack([np.ones(luma.shape), across, down], -1)
    plane, *_ = np.linalg.lstsq(terms[judged], luma[judged], rcond=None)
    if float(np.hypot(plane[1], plane[2])) > _STEEPEST:
        return False
    rest = np.where(judged, luma - terms @ plane, 0.0)
    if _even(rest, judged, _NOISE) or _boards(luma, judged) or _boards(luma.T, judged.T):
        return True
    return _few_waves(np.where(judged, luma - float(luma[judged].mean()), 0.0), judged)


def _even(rest: _Plane, judged: _Mask, most_noise: float) -> bool:
    height, width = (side // _BLOCK_PX * _BLOCK_PX for side in rest.shape)
    shape = height // _BLOCK_PX, _BLOCK_PX, width // _BLOCK_PX, _BLOCK_PX
    count = judged[:height, :width].reshape(shape).sum(axis=(1, 3))
    total = rest[:height, :width].reshape(shape).sum(axis=(1, 3))
    used = count >= _BLOCK_PX**2 // 2
    if not used.any():
        return False
    means = total[used] / count[used]
    noise = float(rest[judged].std())
    _probe("blocks", float(np.sqrt(np.mean(means**2))), noise, most_noise)
    return float(np.sqrt(np.mean(means**2))) <= _BLOCKS_OFF and noise <= most_noise


def _boards(luma: _Plane, judged: _Mask) -> bool:
    """Return whether columns of one brightness explain the ground, in a few broad boards of two shades."""
    filled = judged.sum(axis=0)
    if filled.min() < 8:
        return False
    profile = np.where(judged, luma, 0.0).sum(axis=0) / filled
    low, high = float(profile.min()), float(profile.max())
    bright = profile > (low + high) / 2
    changes = np.flatnonzero(bright[1:] != bright[:-1])
    if high - low > _BOARD_STEP or len(changes) >= _MOST_BOARDS:
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
    _probe("waves", float(left[judged].std()), tall, len(waves), [tuple(w) for w in waves])
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
