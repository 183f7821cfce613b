"""Measurements in English."""

from collections.abc import Sequence

from core.records import Colour, Direction, SceneChangeKind, Side
from qa.measured_words import Ending, Rest, Route, Story

_FROM = {
    Side.LEFT: "from the left",
    Side.RIGHT: "from the right",
    Side.TOP: "from the top",
    Side.BOTTOM: "from the bottom",
}
_BY = {
    Side.LEFT: "on the left",
    Side.RIGHT: "on the right",
    Side.TOP: "at the top",
    Side.BOTTOM: "at the bottom",
}
_WAY = {
    Direction.LEFT: "to the left",
    Direction.RIGHT: "to the right",
    Direction.UP: "up",
    Direction.DOWN: "down",
}
_CHANGE = {
    SceneChangeKind.LIGHT_ON: "A light went on",
    SceneChangeKind.LIGHT_OFF: "A light went out",
    SceneChangeKind.CAMERA_MOVED: "The camera was moved",
    SceneChangeKind.CAMERA_COVERED: "The camera was covered",
    SceneChangeKind.CAMERA_UNCOVERED: "The camera was uncovered",
}
_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


class EnglishWords:
    """Says it in English."""

    def one(self, story: Story) -> str:
        extent = f"{_duration(story.duration_us)}, {_size(story.size)}"
        return f"Something{_coloured(story.colour, before=' ')} {_course(story)} ({extent})."

    def several(self, start: str, end: str, stories: Sequence[Story]) -> str:
        parts = [f"one{_coloured(s.colour, before=' ')} {_course(s)}" for s in stories]
        return f"{_NUMBERS[len(stories)]} things moved from {start} to {end}: {'; '.join(parts)}."

    def many(self, start: str, end: str, count: int, routes: Sequence[Route]) -> str:
        parts = [f"{number} {_route(entered, left)}" for entered, left, number in routes]
        return f"{count} things moved from {start} to {end}: {', '.join(parts)}."

    def change(self, kind: SceneChangeKind, at: str) -> str:
        return f"{_CHANGE[kind]} at {at}."

    def gap(self, text: str) -> str:
        return f"{text}."

    def still(self, since: str, until: str, *, ongoing: bool) -> str:
        if ongoing:
            return f"Nothing has moved since {since}; last looked at {until}."
        return f"Nothing moved from {since} to {until}." if since != until else f"Nothing moved at {until}."

    def slight(self, start: str, end: str) -> str:
        return f"Only slight changes from {start} to {end}; nothing that could be followed."

    def quiet_since(self, since: str, until: str) -> str:
        return f"Nothing has moved since {since}; last looked at {until}."

    def looked(self, at: str) -> str:
        return f"Last looked at {at}."

    def unseen(self, span: str) -> str:
        return f"No picture is held of {span}."

    def rest(self, rest: Rest, start: str, end: str) -> str:
        parts = [
            _plural(rest.movements, "more movement"),
            _plural(rest.changes, "change of the whole picture", "changes of the whole picture"),
            _plural(rest.gaps, "time without signal", "times without signal"),
        ]
        said = _list([part for part in parts if part])
        return f"{said} between {start} and {end}."

    def count(self, things: int, at_once: int) -> str:
        if things == 0:
            return "Nothing moved, so there is nothing to count."
        if things == 1:
            return "One thing moved."
        return f"{things} things moved, at most {at_once} at the same time."

    def presence(self, at: str, *, there: bool) -> str:
        if there:
            return f"Something is there now ({at})."
        return f"Nothing that has moved is there now ({at})."

    def colour(self, colour: Colour | None, at: str) -> str:
        if colour is None:
            return f"What moved last has no single colour ({at})."
        return f"What moved last looks {colour.value} ({at})."

    def way(self, story: Story) -> str:
        if story.direction is None and story.left is None:
            return f"What moved last stayed about where it was ({story.went})."
        moved = f"moved {_WAY[story.direction]}" if story.direction else ""
        left = f"left {_BY[story.left]}" if story.left else ""
        return f"What moved last {' and '.join(part for part in (moved, left) if part)} ({story.went})."

    def lasted(self, story: Story) -> str:
        verb = "has been there for" if story.ending is Ending.STILL_THERE else "was there for"
        if story.present:
            return f"What moved last {verb} at least {_duration(story.duration_us)} ({story.went})."
        return f"What moved last {verb} {_duration(story.duration_us)} ({story.came} to {story.went})."


def _course(story: Story) -> str:
    if story.present:
        came = f"was already there at {story.came}"
    elif story.entered is not None:
        came = f"came in {_FROM[story.entered]} at {story.came}"
    else:
        came = f"appeared at {story.came}"
    moved = f"moved {_WAY[story.direction]}" if story.direction else ""
    match story.ending:
        case Ending.LEFT:
            by = f" {_BY[story.left]}" if story.left else ""
            went = f"left{by} at {story.went}"
        case Ending.STILL_THERE:
            went = f"is still there at {story.went}"
        case Ending.STILL_THEN:
            went = f"was still there at {story.went}"
        case Ending.LAST_SEEN:
            went = f"was last seen moving at {story.went}"
    return f"{came}, {moved} and {went}" if moved else f"{came} and {went}"


def _coloured(colour: Colour | None, *, before: str) -> str:
    return "" if colour is None else f"{before}{colour.value}"


def _duration(us: int) -> str:
    seconds = round(us / 1_000_000)
    if seconds < 1:
        return "under 1 s"
    if seconds < 100:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def _size(share: float) -> str:
    return "under 1% of the picture" if share < 0.01 else f"up to {round(share * 100)}% of the picture"


def _route(entered: Side | None, left: Side | None) -> str:
    if entered is not None and left is not None:
        return f"{_FROM[entered]} and out {_BY[left]}"
    if entered is not None:
        return f"in {_FROM[entered]}"
    if left is not None:
        return f"out {_BY[left]}"
    return "inside the picture"


def _plural(count: int, one: str, more: str | None = None) -> str:
    if count == 0:
        return ""
    return f"{count} {one if count == 1 else more or one + 's'}"


def _list(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
