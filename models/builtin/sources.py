"""Where in its row each word of an answer is to be read from: the cell of a thing, or of a change with its time. Pure.

Told only by the right words, the language part knew the time of every frame and what was new in it, and for two
thousand steps did not learn where to look; attention is therefore shown the place as well.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.builtin.answering import Target
from models.builtin.cells import cell_of
from models.builtin.judging import PIECE_ENDS
from models.builtin.packing import PackedRow
from models.builtin.questions import AskedQuestion
from models.builtin.truth import SceneObject
from models.builtin.watched import LABEL, Change, Watched
from models.builtin.wording import Asked
from models.chat import Cells

SOURCE_HEADS = {
    "thing": (7, 0),
    "minute": (7, 1),
    "second": (7, 2),
    "tenth": (7, 3),
    "label_second": (3, 2),
    "label_tenth": (3, 1),
    "change_before": (4, 0),
    "thing_before": (4, 1),
    "thing_then": (3, 0),
}
"""What is looked for, with the layer, counted from 1, and the head of attention, from 0, that is shown where.

Words of answers look late, when all is known; cells look for their frame's label early, so that a change knows its
time, and for where the thing was in the frame before, so that what left is known where it is no more. Where a thing is,
or a change shows, they look for the one before it, so that a list knows which comes next.
"""

SOURCE_KINDS = tuple(SOURCE_HEADS)

Offsets = Callable[[str], Sequence[tuple[int, int]]]
"""Gives where each token of a text begins and ends, in characters."""

_THING, _MINUTE, _SECOND, _TENTH, _LABEL_SECOND, _LABEL_TENTH, _CHANGE_BEFORE, _THING_BEFORE, _THING_THEN = (
    range(len(SOURCE_KINDS))
)


class Sources(NamedTuple):
    """Token by token, int64 (n,): the place that has to say it, what is looked for, and the place it is read from."""

    places: NDArray[np.int64]
    kinds: NDArray[np.int64]
    origins: NDArray[np.int64]


class _Said(NamedTuple):
    """What one piece of an answer is about: a cell of a used frame."""

    frame: int
    cell: int


def sources_of(
    watched: Watched, cells: Cells, questions: Sequence[AskedQuestion], row: PackedRow, offsets: Offsets
) -> Sources:
    """Return the sources of a row's cells and of all its answers; words that are read from nowhere in particular are
    left out.

    Args:
        questions: Those of the row, in its order.
    """
    stem = int((row.groups == 0).sum()) - 1
    found = [
        *_label_sources(watched, row, offsets),
        *_change_sources(watched, cells, row),
        *_thing_sources(watched, cells, row),
        *_then_sources(watched, cells, row),
    ]
    for number, question in enumerate(questions, start=1):
        places = np.flatnonzero(row.asked == number)
        said = list(_said(question, watched, cells))
        times = list(LABEL.finditer(question.answer))
        breaks = [
            match.start() for match in re.finditer(PIECE_ENDS.get(question.kind, r"(?!)"), question.answer)
        ]
        for place, (start, _) in zip(places, offsets(question.answer), strict=False):
            kind = _clock_part(times, start)
            piece = sum(start >= at for at in breaks)
            if question.kind is Asked.TIME:
                if kind is not None:
                    found.append((int(place), kind, stem))
            elif question.kind is Asked.HOW_MANY:
                if question.target == Target() and question.last in (-1, len(row.frames) - 1):
                    found.append((int(place), _THING, stem))
            elif piece < len(said) and start not in breaks:
                about = said[piece]
                origin = row.frames[about.frame].start + about.cell
                found.append((int(place), _THING if kind is None else kind, origin))
    columns = np.array(found, np.int64).reshape(-1, 3)
    return Sources(columns[:, 0], columns[:, 1], columns[:, 2])


def _label_sources(watched: Watched, row: PackedRow, offsets: Offsets) -> Iterator[tuple[int, int, int]]:
    """Yield where each cell finds its frame's second and tenth: in the label before it."""
    for frame, moment in zip(row.frames, watched.moments, strict=True):
        starts = [start for start, _ in offsets(moment.label)]
        match = LABEL.fullmatch(moment.label)
        assert match is not None, "labels are written by the service"
        first = frame.start - 1 - len(starts)
        second, after = starts.index(match.start(3)), starts.index(match.end(3))
        tenth = after if match.group(4) is None else starts.index(match.start(4))
        for cell in range(frame.start, frame.end):
            yield cell, _LABEL_SECOND, first + second
            yield cell, _LABEL_TENTH, first + tenth


def _change_sources(watched: Watched, cells: Cells, row: PackedRow) -> Iterator[tuple[int, int, int]]:
    """Yield where each change finds the one before it, the first one at the row's first token."""
    said = (_changed(change, watched, cells) for change in watched.changes())
    yield from _each_before((row.frames[about.frame].start + about.cell for about in said), _CHANGE_BEFORE, 0)


def _thing_sources(watched: Watched, cells: Cells, row: PackedRow) -> Iterator[tuple[int, int, int]]:
    """Yield where each thing of a frame finds the one before it, the first one right before the frame."""
    for at, frame in enumerate(row.frames):
        places = (frame.start + _seen(thing, at, watched, cells).cell for thing in watched.things(at))
        yield from _each_before(places, _THING_BEFORE, frame.start - 1)


def _each_before(places: Iterable[int], kind: int, before: int) -> Iterator[tuple[int, int, int]]:
    """Yield each place with the one before it, the first with ``before``; two in one cell are one."""
    for place in places:
        if before < place:
            yield place, kind, before
        before = place


def _then_sources(watched: Watched, cells: Cells, row: PackedRow) -> Iterator[tuple[int, int, int]]:
    """Yield where each thing of a frame, and each that is gone, finds itself in the frame before; a new one finds what
    stands right before its frame."""
    for at, frame in enumerate(row.frames[1:], start=1):
        before = row.frames[at - 1].start
        for thing in watched.ever():
            here, there = watched.seen(thing, at), watched.seen(thing, at - 1)
            then = cell_of(watched.spot(thing, at - 1), cells)
            if here or there:
                place = cell_of(watched.spot(thing, at), cells) if here else then
                yield frame.start + place, _THING_THEN, before + then if there else frame.start - 1


def _clock_part(times: Sequence[re.Match[str]], start: int) -> int | None:
    """Return which part of a label the token that begins at ``start`` says; None outside labels, and for hours."""
    for match in times:
        if match.start(2) <= start < match.end(2):
            return _MINUTE
        if match.start(3) <= start < match.end(3):
            return _SECOND
        if match.end(3) <= start < match.end():
            return _TENTH
    return None


def _said(question: AskedQuestion, watched: Watched, cells: Cells) -> Iterator[_Said]:
    """Yield what the pieces of an answer are about, in their order."""
    last = question.last % len(watched.moments)
    match question.kind:
        case Asked.SEE:
            yield from (_seen(thing, last, watched, cells) for thing in watched.things(last))
        case Asked.HAPPENED:
            for change in watched.changes():
                yield _changed(change, watched, cells)
        case Asked.MOVED:
            for thing in watched.movers():
                yield _seen(thing, watched.last_seen(thing), watched, cells)
        case Asked.HOW_MANY | Asked.TIME:
            return
        case Asked.APPEARED | Asked.LEFT:
            came = question.kind is Asked.APPEARED
            for thing in filter(question.target.matches, watched.ever()):
                at = watched.appeared(thing) if came else watched.left(thing)
                if at is None:
                    yield _seen(thing, 0 if came else last, watched, cells)
                else:
                    yield _changed(Change(thing, came, at), watched, cells)
        case Asked.WAY:
            for thing in filter(question.target.matches, watched.ever()):
                yield _seen(thing, watched.last_seen(thing), watched, cells)
        case _:
            for thing in filter(question.target.matches, watched.things(last)):
                yield _seen(thing, last, watched, cells)


def _seen(thing: SceneObject, at: int, watched: Watched, cells: Cells) -> _Said:
    return _Said(at, cell_of(watched.spot(thing, at), cells))


def _changed(change: Change, watched: Watched, cells: Cells) -> _Said:
    return _Said(change.at, cell_of(watched.shown_at(change), cells))
