"""Which of a source's tracks is read. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VideoTrack:
    """What a source says of one video track.

    Attributes:
        index: Its place among all tracks of the source.
        decodable: There is a decoder for it.
        attached: A still picture that belongs to the file, such as a cover.
    """

    index: int
    width_px: int
    height_px: int
    decodable: bool
    attached: bool


def best_track(tracks: Sequence[VideoTrack]) -> VideoTrack | None:
    """Return the largest track that can be decoded, the first one of equal size; None where there is none."""
    usable = [track for track in tracks if track.decodable and not track.attached]
    return max(usable, key=lambda track: (track.width_px * track.height_px, -track.index), default=None)
