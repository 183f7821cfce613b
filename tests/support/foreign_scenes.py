"""Scenes by another program: own choice of what happens, own drawing (Pillow polygons), the published truth beside it.

Nothing of ``models.builtin`` is imported, so that what is measured on these scenes says something about the schema
and the model, not about our own drawing code.
"""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

SCHEMA = "livelens.scene-truth/1"
COLOURS = {
    "red": (205, 30, 45),
    "orange": (240, 130, 10),
    "yellow": (235, 215, 60),
    "green": (50, 150, 50),
    "blue": (50, 80, 200),
    "purple": (140, 50, 180),
}
SHAPES = ("circle", "square", "triangle", "cross")
SECOND_US = 1_000_000
_FINE = 2


def invent(seed: int, *, seconds: int = 12, size: tuple[int, int] = (640, 360)) -> dict[str, Any]:
    """Return the truth of a scene in which each of up to four objects keeps to its own quarter of the picture."""
    chance = random.Random(seed)
    looks = [(colour, shape) for colour in COLOURS for shape in SHAPES]
    chance.shuffle(looks)
    quarters = [(x, y) for x in (0.25, 0.75) for y in (0.25, 0.75)]
    chance.shuffle(quarters)
    objects = []
    for number in range(chance.choice((0, 1, 2, 3, 3, 4, 4))):
        (colour, shape), (x, y) = looks[number], quarters[number]
        begin = chance.choice([0, 0, chance.randint(2, seconds - 5)]) * SECOND_US
        end = chance.choice([None, None, begin + chance.randint(2, 4) * SECOND_US])
        path = [{"t_us": begin, "x": x, "y": y}]
        if chance.random() < 0.4:
            away = chance.choice((-0.12, 0.12))
            across, down = (away, 0.0) if size[0] > size[1] else (0.0, away)
            path = [
                {"t_us": begin, "x": round(x - across, 2), "y": round(y - down, 2)},
                {"t_us": begin + 2 * SECOND_US, "x": round(x + across, 2), "y": round(y + down, 2)},
            ]
        objects.append(
            {
                "id": number + 1,
                "colour": colour,
                "shape": shape,
                "radius": round(chance.uniform(0.1, 0.19), 3),
            }
            | {"appears_us": begin, "leaves_us": end, "path": path}
        )
    picture = {"width_px": size[0], "height_px": size[1], "ground": "plain"}
    return {"schema": SCHEMA, "picture": picture, "duration_us": seconds * SECOND_US, "objects": objects}


def draw(truth: dict[str, Any], times_us: list[int], *, seed: int = 0) -> Iterator[NDArray[np.uint8]]:
    """Draw a truth document at the given times, shape (height, width, 3)."""
    size = (truth["picture"]["width_px"], truth["picture"]["height_px"])
    ground = _ground(random.Random(seed), (size[0] * _FINE, size[1] * _FINE))
    shown: list[tuple[int, tuple[float, float]]] | None = None
    for t_us in times_us:
        there = [
            (at, _place(thing["path"], t_us))
            for at, thing in enumerate(truth["objects"])
            if thing["appears_us"] <= t_us and (thing["leaves_us"] is None or t_us < thing["leaves_us"])
        ]
        if there != shown:
            shown, picture = there, ground.copy()
            pen = ImageDraw.Draw(picture)
            for at, place in there:
                _stamp(pen, truth["objects"][at], place, picture.size)
            small = picture.resize(size, Image.Resampling.LANCZOS).filter(ImageFilter.GaussianBlur(0.6))
            pixels = np.asarray(small, dtype=np.uint8)
        yield pixels


def _ground(chance: random.Random, size: tuple[int, int]) -> Image.Image:
    """Return a grey wall, one of two shades in broad boards, or one that darkens to one side."""
    grey, step = chance.randint(60, 190), chance.choice((0, 0, 10, 18))
    ground = Image.new("RGB", size, (grey, grey, grey))
    pen = ImageDraw.Draw(ground)
    boards = chance.choice((2, 5, 40))
    for board in range(boards):
        shade = grey - (step * (board % 2) if boards < 40 else 2 * step * board // boards)
        left, right = size[0] * board // boards, size[0] * (board + 1) // boards
        pen.rectangle((left, 0, right, size[1]), fill=(shade, shade, shade))
    return ground


def _place(path: list[dict[str, float]], t_us: int) -> tuple[float, float]:
    times = [knot["t_us"] for knot in path]
    return (
        float(np.interp(t_us, times, [knot["x"] for knot in path])),
        float(np.interp(t_us, times, [knot["y"] for knot in path])),
    )


def _stamp(pen: Any, thing: dict[str, Any], place: tuple[float, float], size: tuple[int, int]) -> None:
    x, y, r = place[0] * size[0], place[1] * size[1], thing["radius"] * min(size)
    fill = COLOURS[thing["colour"]]
    match thing["shape"]:
        case "circle":
            pen.ellipse((x - r, y - r, x + r, y + r), fill=fill)
        case "square":
            pen.rectangle((x - 0.86 * r, y - 0.86 * r, x + 0.86 * r, y + 0.86 * r), fill=fill)
        case "triangle":
            pen.polygon(
                [(x, y - 1.08 * r), (x - 1.04 * r, y + 0.72 * r), (x + 1.04 * r, y + 0.72 * r)], fill=fill
            )
        case _:
            pen.rectangle((x - r, y - 0.33 * r, x + r, y + 0.33 * r), fill=fill)
            pen.rectangle((x - 0.33 * r, y - r, x + 0.33 * r, y + r), fill=fill)
