"""Draws the toy world with numpy: grounds once, objects smooth-edged in their own little boxes."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.builtin.things import Ground, ThingColour, ThingShape
from models.builtin.truth import SceneObject, SceneTruth

Pixels = NDArray[np.uint8]
_Plane = NDArray[np.floating[Any]]

RGB = {
    ThingColour.RED: (215, 38, 40),
    ThingColour.ORANGE: (246, 140, 22),
    ThingColour.YELLOW: (242, 222, 44),
    ThingColour.GREEN: (38, 158, 62),
    ThingColour.BLUE: (42, 86, 214),
    ThingColour.PURPLE: (148, 58, 188),
}
"""Colours as drawn, before each object's own shade."""

_NOISE_TILES = 3
_LOOKS_KEPT = 64


@dataclass(frozen=True, slots=True)
class _Looks:
    rgb: NDArray[np.float32]
    turn: float
    shade: float


class Painter:
    """Draws any instant of one scene; the same seed gives the same pictures."""

    def __init__(self, seed: int, *, width_px: int, height_px: int, ground: Ground) -> None:
        self._seed = seed
        self._random = np.random.default_rng([seed, 1])
        self._size = (height_px, width_px)
        self._ground = _draw_ground(self._random, self._size, ground)
        self._noise = self._draw_noise(ground)
        self._looks: dict[int, _Looks] = {}

    def paint(self, truth: SceneTruth, t_us: int) -> Pixels:
        """Return the picture at ``t_us``, shape (height, width, 3), 0-255."""
        picture = self._noisy_ground(t_us)
        for thing in truth.objects:
            if thing.present(t_us):
                self._draw(picture, thing, t_us)
        return picture

    def _draw_noise(self, ground: Ground) -> tuple[NDArray[np.int16], ...]:
        """Return a few tiles of camera noise; noisy grounds get much of it, others at most a little."""
        low, high = (5.0, 12.0) if ground is Ground.NOISY else (0.0, 2.5)
        sigma = float(self._random.uniform(low, high))
        if sigma < 0.8:
            return ()
        tiles = self._random.normal(0.0, sigma, (_NOISE_TILES, *self._size, 1))
        return tuple(np.asarray(tile, dtype=np.int16) for tile in tiles)

    def _noisy_ground(self, t_us: int) -> Pixels:
        if not self._noise:
            return self._ground.copy()
        chance = np.random.default_rng([self._seed, 2, t_us])
        tile = self._noise[int(chance.integers(len(self._noise)))]
        tile = np.roll(
            tile, (int(chance.integers(self._size[0])), int(chance.integers(self._size[1]))), axis=(0, 1)
        )
        return np.asarray(np.clip(self._ground + tile, 0, 255), dtype=np.uint8)

    def _looks_of(self, number: int) -> tuple[float, float, NDArray[np.float32]]:
        if number not in self._looks:
            if len(self._looks) >= _LOOKS_KEPT:  # a scene without end has ever new objects
                self._looks.clear()
            chance = np.random.default_rng([self._seed, 3, number])
            jitter = chance.uniform(-12, 12, 3).astype(np.float32)
            self._looks[number] = _Looks(
                jitter, float(chance.uniform(-0.14, 0.14)), float(chance.uniform(0, 0.12))
            )
        looks = self._looks[number]
        return looks.turn, looks.shade, looks.rgb

    def _draw(self, picture: Pixels, thing: SceneObject, t_us: int) -> None:
        height, width = self._size
        spot = thing.spot(t_us)
        x, y, radius = spot.x * width, spot.y * height, thing.radius * min(self._size)
        reach = math.ceil(radius * 1.3) + 1
        left, right = max(0, int(x) - reach), min(width, int(x) + reach + 1)
        top, bottom = max(0, int(y) - reach), min(height, int(y) + reach + 1)
        if left >= right or top >= bottom:
            return
        across = (np.arange(left, right, dtype=np.float32) + 0.5 - x)[None, :]
        down = (np.arange(top, bottom, dtype=np.float32) + 0.5 - y)[:, None]
        turn, shade, jitter = self._looks_of(thing.number)
        cos, sin = math.cos(turn), math.sin(turn)
        inside = np.clip(
            0.5 - distance(thing.shape, across * cos + down * sin, down * cos - across * sin, radius), 0, 1
        )
        rgb = np.array(RGB[thing.colour], np.float32) + jitter
        lit = rgb[None, None, :] * (1 - shade * (down / radius))[:, :, None]
        box = picture[top:bottom, left:right]
        mixed = box + (lit - box) * inside[:, :, None]
        picture[top:bottom, left:right] = np.clip(mixed, 0, 255).astype(np.uint8)


def distance(shape: ThingShape, x: _Plane, y: _Plane, radius: float) -> _Plane:
    """Return how far each pixel lies outside the shape's edge, in pixels; negative inside. ``y`` points down."""
    match shape:
        case ThingShape.CIRCLE:
            found = np.hypot(x, y) - radius
        case ThingShape.SQUARE:
            found = np.maximum(np.abs(x), np.abs(y)) - radius * 0.86
        case ThingShape.TRIANGLE:
            floor = y - radius * 0.72
            slopes = np.abs(x) * 0.866 - (y + radius * 1.08) * 0.5
            found = np.maximum(floor, slopes)
        case ThingShape.CROSS:
            long, thin = radius, radius * 0.33
            upright = np.maximum(np.abs(x) - thin, np.abs(y) - long)
            lying = np.maximum(np.abs(x) - long, np.abs(y) - thin)
            found = np.minimum(upright, lying)
    return np.asarray(found, dtype=np.float32)


def _draw_ground(random: np.random.Generator, size: tuple[int, int], ground: Ground) -> Pixels:
    height, width = size
    level, tint = float(random.uniform(45, 205)), random.uniform(-10, 10, 3)
    down, across = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j].astype(np.float32)
    plane = np.full(size, level, np.float32)
    if ground is Ground.GRADED:
        angle = float(random.uniform(0, 2 * math.pi))
        plane += float(random.uniform(30, 100)) * (
            (across - 0.5) * math.cos(angle) + (down - 0.5) * math.sin(angle)
        )
    elif ground is Ground.TEXTURED:
        waves = int(random.integers(2, 5))
        for _ in range(waves):
            many_x, many_y = random.uniform(-22, 22, 2)
            phase = float(random.uniform(0, 2 * math.pi))
            plane += float(random.uniform(5, 14)) * np.sin(6.2832 * (across * many_x + down * many_y) + phase)
    return np.clip(plane[:, :, None] + tint, 0, 255).astype(np.uint8)
