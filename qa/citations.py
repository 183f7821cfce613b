"""Times that an answer names, checked while it is being written against the frames that were looked at."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

from core.ids import CAMERA_ID_PATTERN, CameraId, split_frame_ref
from qa.answers import Citation, UsedFrame
from qa.labels import local_time

_LABEL = re.compile(
    rf"\[(?:(?!\d{{4}}-\d\d-\d\d )(?P<camera>{CAMERA_ID_PATTERN}) )?"
    r"(?:(?P<day>\d{4}-\d\d-\d\d) )?(?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<tenth>\d))?\]",
    re.ASCII,
)
_LONGEST = 64 + len("[2026-11-30 14:03:05.2]")


class CitationChecker:
    """Finds labels in a stream of text, also where a label comes in pieces. Pure; fed with each delta.

    A label names the first used frame whose local time it matches: as far as it is written, so that one
    without tenths matches any frame of its second, one without a date any day, and one without a camera any camera.
    """

    def __init__(
        self,
        frames: Sequence[UsedFrame],
        zone: ZoneInfo,
        zones: Mapping[CameraId, ZoneInfo] | None = None,
    ) -> None:
        """``zones`` are those of cameras that are in another zone than ``zone``."""
        self._zone = zone
        self._zones = zones or {}
        self.look_at(frames)
        self._tail = ""  # text from an opened bracket on that may yet become a label
        self._seen = 0  # characters before the tail
        self._found: list[Citation] = []

    def look_at(self, frames: Sequence[UsedFrame]) -> None:
        """Check what is still to come against these frames."""
        self._frames = tuple(frames)
        self._written: tuple[tuple[UsedFrame, _Written], ...] | None = None

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Return all found so far, in the order of the text."""
        return tuple(self._found)

    def feed(self, text: str) -> tuple[Citation, ...]:
        """Take some more text; return the citations that it completed."""
        text = self._tail + text
        fresh = tuple(self._check(match) for match in _LABEL.finditer(text))
        opened = text.rfind("[")
        keep = (
            opened
            if opened >= 0 and len(text) - opened < _LONGEST and "]" not in text[opened:]
            else len(text)
        )
        self._seen += keep
        self._tail = text[keep:]
        self._found.extend(fresh)
        return fresh

    def _check(self, match: re.Match[str]) -> Citation:
        offset = self._seen + match.start()
        if self._written is None:  # not before the first label: no question waits for it
            self._written = tuple((frame, self._write(frame)) for frame in self._frames)
        for frame, written in self._written:
            if written.is_meant_by(match):
                return Citation(match[0], offset, frame.t_us, frame.ref, True)
        return Citation(match[0], offset, None, None, False)

    def _write(self, frame: UsedFrame) -> "_Written":
        camera_id = split_frame_ref(frame.ref).camera_id
        at = local_time(frame.t_us, self._zones.get(camera_id, self._zone))
        return _Written(camera_id, f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}", str(at.microsecond // 100_000))


class _Written(NamedTuple):
    """Whose a frame is, and its time, as labels say it."""

    camera: str
    day: str
    clock: str
    tenth: str

    def is_meant_by(self, match: re.Match[str]) -> bool:
        said = match.groupdict()
        return said["clock"] == self.clock and all(
            said[name] in (None, getattr(self, name)) for name in ("camera", "day", "tenth")
        )
