"""Whether a picture shows the toy world: the built-in model speaks about nothing else.

picture ──small RGB──▶ chroma against the ground's ──▶ objects: few, of six colours, even, whole shapes
                                    └──▶ ground: brightness in range, one tint, a plane or a few waves, little noise

Every rule is a statement about what the published scenes can look like. Where in doubt the answer is no: a wrong
yes would let a toy speak about a real camera.
"""

from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.frames import Picture
from models.builtin.draw import RGB
from models.builtin.grounds import drawn_ground
from models.builtin.silhouettes import Patch, best_shape, find_patches
from models.builtin.things import MOST_OBJECTS

_Plane = NDArray[np.floating[Any]]
_Mask = NDArray[np.bool_]

SHORT_SIDE_PX = 96
"""Pictures are looked at with this short side; smaller ones are refused."""

_LONGEST = 2.2
_PALETTE = np.array(list(RGB.values()), np.float32)
_COLOUR_OFF = 42.0
"""How far an object's mean colour may lie from the nearest of the six, in each channel."""

_UNEVEN = 26.0
"""Chroma within an object: seven pixels of ten are nearer to its own than this. Thin bars at CRF 35 reach 20."""

_COLOURFUL = 30.0
"""Chroma this far from the ground's is an object; the palest has 80."""

_TINT, _TINT_SPREAD, _TINT_MIDDLE = 20.0, 11.0, 4.0
"""Chroma of the ground itself (16 is drawn), and how far 98 % and half of its pixels may lie from that."""

_LEVELS = (36.0, 214.0)
"""The ground's middle brightness."""

_LEAST_GROUND = 0.35
_SLIVER_PX, _SPECK_PX = 60, 8
"""Areas below which a piece at the border has no outline to judge, and a piece anywhere is a trace of compression."""

_OUTLINE_OFF_PX = 1.2
"""How far an outline may be off its shape, root mean square; drawn ones reach 0.9, nearly all stay below 0.3."""

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
    return None if drawn_ground(luma, ground) else Why.GROUND


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
    if uneven > _UNEVEN:
        return Why.COLOUR
    share = np.where(_grown(mask, 2), away @ own / float(own @ own), 0.0)
    fit = best_shape(share, patch, around=around, good_px=_OUTLINE_OFF_PX)
    return None if fit is not None and fit.error_px <= _OUTLINE_OFF_PX else Why.SHAPE
