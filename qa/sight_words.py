"""What livelens itself says of the cameras of a question: what was measured, what was not seen, and why. Pure."""

from core.ids import CameraId
from qa.answers import Outcome, UsedFrame
from qa.labels import crosses_midnight, time_label
from qa.looks import Looks, Sight, said_of
from qa.ports import Evidence, Measured, WordMeasured
from qa.wording import outcome_sentences, thinned_text, unseen_texts


def measure(seen: Looks, word_measured: WordMeasured) -> tuple[tuple[str, ...], tuple[UsedFrame, ...]]:
    """Return what was measured, camera by camera, and the frames that it names."""
    sentences: list[str] = []
    frames: list[UsedFrame] = []
    for sight in seen.sights:
        heard, camera = sight.heard, seen.name_of(sight)
        if sight.seen.outcome is not Outcome.OK:
            sentences += said_of(camera, _why_not(sight), heard.language)
            continue
        measured = word_measured(_evidence(sight), heard.language)
        sentences += said_of(camera, measured.sentences, heard.language)
        frames += _named_frames(measured, sight, camera)
    return tuple(sentences), tuple(frames)


def _evidence(sight: Sight) -> Evidence:
    heard, seen = sight.heard, sight.seen
    return Evidence(
        span=seen.span,
        zone=heard.camera.zone,
        now_us=heard.now_us,
        records=seen.records,
        frames=seen.chosen,
        coverage=seen.coverage,
        dated=crosses_midnight(seen.span, heard.camera.zone),
        text=heard.text,
    )


def _named_frames(measured: Measured, sight: Sight, camera: CameraId | None) -> tuple[UsedFrame, ...]:
    """Return the frames that a measured answer names, with their labels, oldest first."""
    tenths = {frame.ref: frame.tenths for frame in sight.seen.frames}
    zone = sight.heard.camera.zone
    dated = crosses_midnight(sight.seen.span, zone)
    return tuple(
        UsedFrame(
            frame.ref,
            frame.t_us,
            time_label(frame.t_us, zone, tenths=tenths.get(frame.ref, False), dated=dated, camera=camera),
        )
        for frame in sorted(measured.frames, key=lambda frame: frame.t_us)
    )


def unanswerable(seen: Looks) -> tuple[str, ...]:
    """Return why nothing was seen of any camera, and what to try."""
    return tuple(
        sentence
        for sight in seen.sights
        for sentence in said_of(seen.name_of(sight), _why_not(sight), sight.heard.language)
    )


def _why_not(sight: Sight) -> tuple[str, ...]:
    heard, seen = sight.heard, sight.seen
    return outcome_sentences(
        seen.outcome,
        seen.coverage,
        head=seen.head,
        zone=heard.camera.zone,
        now_us=heard.now_us,
        language=heard.language,
    )


def limits_of_sight(seen: Looks, used: int) -> tuple[str, ...]:
    """Return what a model did not see: cameras without pictures, frames thinned out, gaps, and what has aged out."""
    language, held = seen.sights[0].heard.language, seen.frames_in_span
    told = [thinned_text(used, held, language)] if used < held else []
    for sight in seen.sights:
        heard = sight.heard
        unseen = (
            unseen_texts(
                sight.seen.coverage,
                head=sight.seen.head,
                zone=heard.camera.zone,
                now_us=heard.now_us,
                language=language,
            )
            if sight.seen.outcome is Outcome.OK
            else _why_not(sight)
        )
        told += said_of(seen.name_of(sight), unseen, language)
    return tuple(told)
