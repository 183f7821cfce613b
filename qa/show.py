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
from qa.look import Look
from qa.prompt import Frame, Setting, build_prompt, used_frames


@dataclass(frozen=True, slots=True)
class Shown:
    """The frames of one prompt, oldest first, whole or by ref. ``halved`` where more were tried before."""

    heard: Heard
    seen: Look
    reads: Reads
    stored: tuple[Frame, ...]
    halved: bool = False

    @property
    def frames(self) -> tuple[UsedFrame, ...]:
        """Return the frames as answers show them."""
        return used_frames(self.stored, self.seen.span, self.heard.camera.zone)

    @property
    def pictures(self) -> int:
        """Return how many pictures the decoder gets to encode itself."""
        if self.reads is not Reads.JPEG:
            return 0
        return sum(1 for frame in self.stored if isinstance(frame, StoredFrame) and frame.jpeg)

    def prompt(self) -> Prompt:
        """Return what the decoder reads."""
        heard, seen = self.heard, self.seen
        setting = Setting(seen.span, heard.camera.zone, heard.now_us, seen.records)
        return build_prompt(heard.text, self.stored, setting=setting, reads=self.reads, history=heard.history)

    def half(self) -> "Shown | None":
        """Return the same with at most half of the frames, evenly chosen, both ends kept where two may be.

        None where this is a half already, or one frame.
        """
        if self.halved or len(self.stored) < 2:
            return None
        held = {frame.ref for frame in self.stored}
        infos = [frame for frame in self.seen.chosen if frame.ref in held]
        kept = {frame.ref for frame in choose_span(infos, max_frames=(len(infos) + 1) // 2)}
        return replace(self, stored=tuple(f for f in self.stored if f.ref in kept), halved=True)

    def used(self, refused: Sequence[FrameRef]) -> int:
        """Return how many frames the decoder looked at, without those that it left out."""
        return len({frame.ref for frame in self.stored} - set(refused))
