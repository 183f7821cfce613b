"""What the windows of all cameras of a question hold, seen as one; and whose words and labels are whose."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

from core.ids import CameraId, FrameRef, split_frame_ref
from core.spans import Span
from featcache.window import FrameInfo, WindowReader
from models.decoder import ModelProfile
from qa.answers import CameraSight, Language, Outcome
from qa.hear import Heard
from qa.look import Look, look

_LABEL = re.compile(r"\[(?=\d{4}-\d\d-\d\d |\d\d:\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class Sight:
    """What is held for one camera. ``heard`` is the question as if it were about this camera alone."""

    heard: Heard
    seen: Look


@dataclass(frozen=True, slots=True)
class Looks:
    """What is held for each camera of a question, in the order they were named; at least one."""

    sights: tuple[Sight, ...]

    @property
    def several(self) -> bool:
        return len(self.sights) > 1

    @property
    def answerable(self) -> tuple[Sight, ...]:
        """Return the cameras of which something was seen."""
        return tuple(sight for sight in self.sights if sight.seen.outcome is Outcome.OK)

    @property
    def outcome(self) -> Outcome:
        """Return OK where something was seen of any camera, else what is wrong with the first."""
        return Outcome.OK if self.answerable else self.sights[0].seen.outcome

    @property
    def foreign(self) -> bool:
        return any(sight.seen.foreign for sight in self.sights)

    @property
    def span(self) -> Span:
        """Return the time from the earliest start to the latest end."""
        spans = [sight.seen.span for sight in self.sights]
        return Span(min(span.start_us for span in spans), max(span.end_us for span in spans))

    @property
    def chosen(self) -> tuple[FrameInfo, ...]:
        """Return the frames chosen of what can be answered from, camera by camera, each oldest first."""
        return tuple(frame for sight in self.answerable for frame in sight.seen.chosen)

    @property
    def frames_in_span(self) -> int:
        return sum(len(sight.seen.frames) for sight in self.sights)

    @property
    def others(self) -> tuple[CameraSight, ...]:
        """Return what was seen of the cameras after the first."""
        return tuple(
            CameraSight(
                sight.heard.camera.id,
                sight.seen.span,
                sight.heard.camera.zone.key,
                len(sight.seen.frames),
                sight.seen.coverage,
            )
            for sight in self.sights[1:]
        )

    @property
    def zones(self) -> dict[CameraId, ZoneInfo]:
        return {sight.heard.camera.id: sight.heard.camera.zone for sight in self.sights}

    def name_of(self, sight: Sight) -> CameraId | None:
        """Return what labels of a camera's frames begin with; None where there is one camera."""
        return sight.heard.camera.id if self.several else None


async def look_at_all(heard: Heard, window: WindowReader, *, profile: ModelProfile | None) -> Looks:
    """Return what the window holds for each camera of a question; they share the model's budget evenly.

    Raises:
        WindowUnavailable: as the window says.
    """
    if profile is not None and heard.others:
        share = max(profile.frame_tokens, profile.window_tokens // len(heard.cameras))
        profile = replace(profile, window_tokens=share)
    sights = []
    for camera in heard.cameras:
        alone = heard.about(camera)
        sights.append(Sight(alone, await look(alone, window, profile=profile)))
    return Looks(tuple(sights))


def camera_of(ref: FrameRef) -> CameraId:
    """Return whose frame a ref names."""
    return split_frame_ref(ref).camera_id


def said_of(
    camera: CameraId | None, sentences: Sequence[str], language: Language, *, named: bool = True
) -> tuple[str, ...]:
    """Return what is said of one camera of several: the first sentence says of which, and so does every label."""
    if camera is None:
        return tuple(sentences)
    told = [_LABEL.sub(f"[{camera} ", sentence) for sentence in sentences]
    if told and named:
        told[0] = f"{camera}: {told[0]}" if language is Language.EN else f"{camera}：{told[0]}"
    return tuple(told)
