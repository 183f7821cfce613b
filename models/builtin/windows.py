"""Draws the window of a question out of a clip, and writes it down as the service does: labels, notes, bounds. Pure."""

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from core.ids import make_frame_ref
from models.builtin.clips import CAMERA, Clip
from models.builtin.watched import UsedMoment, Watched, seen_count
from models.builtin.world import SECOND_US
from models.prompt import FramePart, Part, TextPart

_NOTED_AFTER_US = 2 * SECOND_US
_NOTES, _THINNED, _DATED, _STIRRED = 0.95, 0.35, 0.04, 0.06
_DAY_S = 86_400
_WANTED = (3.0, 1.2, 0.7, 1.0, 2.2)
"""How much a last frame with no, one, ... objects is wanted, against how seldom clips have one."""


@dataclass(frozen=True, slots=True)
class ClipWindow:
    """The used frames of one question: which of the clip's, what they show, and the prompt's parts."""

    clip: Clip
    chosen: tuple[int, ...]
    watched: Watched
    parts: tuple[Part, ...]


def draw_window(random: Random, clip: Clip, frames: int) -> ClipWindow:
    """Return a window of at most ``frames`` kept frames, mostly neighbours, now and then thinned out."""
    count = len(clip.times_us)
    frames = min(frames, count)
    last = _choose_last(random, clip, frames - 1)
    spread = min(last + 1, frames * random.randint(2, 4)) if random.random() < _THINNED else frames
    first = last + 1 - spread
    inner = sorted(random.sample(range(first + 1, first + spread - 1), frames - 2)) if frames > 2 else []
    chosen = (first, *inner, last) if frames > 1 else (last,)
    clock = _draw_clock(random, clip.times_us[chosen[len(chosen) // 2]])
    moments = [UsedMoment(clip.times_us[at] - clip.start_us, label_of(clip, at, clock)) for at in chosen]
    return ClipWindow(
        clip, chosen, Watched(clip.truth, moments), _parts(random, clip, chosen, moments, clock)
    )


@dataclass(frozen=True, slots=True)
class LabelClock:
    """How stream time is written: shifted, so that a clip is seen at all times of the day; with the date where a
    window crosses midnight."""

    shift_us: int = 0
    midnight_us: int | None = None
    day: date = date(2026, 1, 1)

    def text(self, t_us: int) -> str:
        """Return HH:MM:SS, behind the date where there is one."""
        seconds = (t_us + self.shift_us) // SECOND_US % _DAY_S
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        if self.midnight_us is None:
            return clock
        day = self.day if t_us >= self.midnight_us else self.day - timedelta(days=1)
        return f"{day.isoformat()} {clock}"


def _draw_clock(random: Random, middle_us: int) -> LabelClock:
    if random.random() >= _DATED:
        return LabelClock(random.randrange(_DAY_S) * SECOND_US)
    return LabelClock(-middle_us, middle_us, date(2025, 1, 1) + timedelta(days=random.randrange(3_650)))


def _choose_last(random: Random, clip: Clip, earliest: int) -> int:
    """Return the window's last frame: each number of objects about equally often, over many clips.

    Taken evenly, one frame in 27 was empty, and a model trained so had no word for that.
    """
    times = range(earliest, len(clip.times_us))
    counts = [seen_count(clip.truth, clip.times_us[at] - clip.start_us) for at in times]
    weights = [_WANTED[count] / counts.count(count) for count in counts]
    return random.choices(times, weights)[0]


def label_of(clip: Clip, at: int, clock: LabelClock) -> str:
    """Return a kept frame's label: with tenths where the kept frame before it lies in the same second."""
    t_us = clip.times_us[at]
    tenths = at > 0 and clip.times_us[at - 1] // SECOND_US == t_us // SECOND_US
    fraction = f".{t_us % SECOND_US // 100_000}" if tenths else ""
    return f"[{clock.text(t_us)}{fraction}]"


def _parts(
    random: Random, clip: Clip, chosen: tuple[int, ...], moments: list[UsedMoment], clock: LabelClock
) -> tuple[Part, ...]:
    """Return frames behind their labels, with the notes and bounds that the service writes.

    A question that names no span is about everything since its first frame; others begin and end between frames, now
    or in the past.
    """
    first_us, last_us = clip.times_us[chosen[0]], clip.times_us[chosen[-1]]
    names_span = random.random() < 0.5
    start_us = first_us - random.randrange(2 * SECOND_US) if names_span else first_us
    end_us = last_us + random.randrange(1, 2 * SECOND_US)
    now_us = end_us + random.randrange(600 * SECOND_US) if names_span and random.random() < 0.5 else end_us
    notes = [
        (since + _NOTED_AFTER_US, f"(Unchanged since {clock.text(since)}.)")
        for since, until in clip.still
        if since < end_us and until > start_us and since + _NOTED_AFTER_US <= now_us
    ]
    if random.random() >= _NOTES:
        notes = []
    parts: list[Part] = []
    for at, moment in zip(chosen, moments, strict=True):
        while notes and notes[0][0] <= clip.times_us[at]:
            parts.append(TextPart(notes.pop(0)[1]))
        if random.random() < _STIRRED:
            parts.append(TextPart(f"(Camera moved at {clock.text(clip.times_us[at])}.)"))
        parts.append(FramePart(moment.label, make_frame_ref(CAMERA, clip.times_us[at])))
    parts += [TextPart(text) for _, text in notes]
    now, start, end = (clock.text(t_us) for t_us in (now_us, start_us, end_us))
    parts.append(TextPart(f"(It is now {now}. The question is about {start} to {end}.)"))
    return tuple(parts)
