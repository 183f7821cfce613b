"""What the decoder is shown of a span: the frames chosen, or half of them where they do not fit. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.ids import FrameRef
from featcache.window import StoredFrame
from models.decoder import Reads
from models.prompt import Prompt
from qa.answers import UsedFrame
from qa.choose import choose_span
from qa.hear import Heard
from qa.looks import Looks, Sight, camera_of
from qa.prompt import Frame, Setting, build_prompt_of, used_frames


@dataclass(frozen=True, slots=True)
class Shown:
    """The frames of one prompt, camera by camera, each oldest first, whole or by ref.

    ``halved`` where more were tried before.
    """

    heard: Heard
    seen: Looks
    reads: Reads
    stored: tuple[Frame, ...]
    halved: bool = False

    @property
    def frames(self) -> tuple[UsedFrame, ...]:
        """Return the frames as answers show them."""
        return tuple(
            used
            for sight, frames in self._groups()
            for used in used_frames(
                frames, sight.seen.span, sight.heard.camera.zone, self.seen.name_of(sight)
            )
        )

    @property
    def pictures(self) -> int:
        """Return how many pictures the decoder gets to encode itself."""
        if self.reads is not Reads.JPEG:
            return 0
        return sum(1 for frame in self.stored if isinstance(frame, StoredFrame) and frame.jpeg)

    def prompt(self) -> Prompt:
        """Return what the decoder reads."""
        heard = self.heard
        groups = [
            (
                Setting(
                    sight.seen.span,
                    sight.heard.camera.zone,
                    heard.now_us,
                    sight.seen.records,
                    self.seen.name_of(sight),
                ),
                frames,
            )
            for sight, frames in self._groups()
        ]
        whole = Setting(self.seen.span, heard.camera.zone, heard.now_us)
        return build_prompt_of(groups, heard.text, whole=whole, reads=self.reads, history=heard.history)

    def half(self) -> "Shown | None":
        """Return the same with at most half of each camera's frames, evenly chosen, both ends kept where two may be.

        None where this is a half already, or no camera has more than one frame.
        """
        groups = self._groups()
        if self.halved or all(len(frames) < 2 for _, frames in groups):
            return None
        kept: set[FrameRef] = set()
        for sight, frames in groups:
            held = {frame.ref for frame in frames}
            infos = [frame for frame in sight.seen.chosen if frame.ref in held]
            kept |= {frame.ref for frame in choose_span(infos, max_frames=max(1, (len(infos) + 1) // 2))}
        return replace(self, stored=tuple(f for f in self.stored if f.ref in kept), halved=True)

    def used(self, refused: Sequence[FrameRef]) -> int:
        """Return how many frames the decoder looked at, without those that it left out."""
        return len({frame.ref for frame in self.stored} - set(refused))

    def _groups(self) -> list[tuple[Sight, list[Frame]]]:
        """Return the frames of each camera of which something was seen."""
        groups: list[tuple[Sight, list[Frame]]] = [(sight, []) for sight in self.seen.answerable]
        of = {sight.heard.camera.id: frames for sight, frames in groups}
        for frame in self.stored:
            of[camera_of(frame.ref)].append(frame)
        return groups
