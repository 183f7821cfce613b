"""From livelens' own values to what travels. Pure."""

import base64
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import assert_never
from urllib.parse import urlsplit, urlunsplit
from zoneinfo import ZoneInfo

from core.cameras import Camera, ProbeReport, Source
from core.errors import ErrorKind, ServiceError
from core.ids import CameraId, split_frame_ref
from core.records import Gap, ObjectTrack, Record, SceneChange, StaticSpan
from core.spans import Span
from featcache.window import FrameInfo, Head
from qa.answers import Answer, AnswerDelta, AnswerDone, AnswerStarted, Coverage
from qa.labels import crosses_midnight, time_label
from web import rest, wire
from web.ports import CameraStatus
from web.routes import API

_SECRET_IN_QUERY = re.compile(
    r"((?:^|&)[^=&]*(?:pass|pwd|token|secret|key|auth|credential)[^=&]*=)[^&]*", re.IGNORECASE
)
_INSIDE = "something went wrong inside; the server's log says what"


def span_view(span: Span) -> wire.SpanView:
    """Return a span as it travels."""
    return wire.SpanView(from_=span.start_us, to=span.end_us)


def shown_url(url: str) -> str:
    """Return a source's address without anything secret: no login, and secrets in its query masked."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "***"
    query = _SECRET_IN_QUERY.sub(r"\1***", parts.query)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query))


def source_view(source: Source) -> rest.SourceView:
    """Return a source without its password."""
    login = source.credentials
    return rest.SourceView(
        url=shown_url(source.url),
        transport=source.transport.value,
        loop=source.loop,
        username=login.username if login else None,
        has_password=bool(login and login.password),
    )


def state_view(status: CameraStatus, *, now_us: int) -> wire.StateView:
    """Return what a camera is doing at ``now_us``."""
    report = status.report
    last_us = report.last_t_us
    return wire.StateView(
        state=report.state,
        since=report.since_us,
        code=report.code,
        message=report.message,
        clock=report.clock,
        reconnects=report.reconnects,
        frames_total=report.frames_total,
        frame_rate=round(status.frame_rate, 2),
        skipped=dict(report.skipped),
        kept=dict(status.kept),
        last_frame_at=last_us,
        last_frame_age_s=None if last_us is None else round(max(0, now_us - last_us) / 1e6, 3),
        delay_s=None if status.delay_s is None else round(status.delay_s, 3),
        codec=report.codec,
        width_px=report.width_px,
        height_px=report.height_px,
    )


def camera_view(camera: Camera, status: CameraStatus, head: Head | None, *, now_us: int) -> rest.CameraView:
    """Return a camera as every reply shows it; ``head`` is None where the window does not answer."""
    return rest.CameraView(
        id=camera.id,
        name=camera.name,
        enabled=camera.enabled,
        zone=camera.zone.key,
        created_at=camera.created_us,
        source=source_view(camera.source),
        state=state_view(status, now_us=now_us),
        window=None if head is None else window_view(head),
        answered_by=status.answered_by,
    )


def window_view(head: Head) -> rest.WindowView:
    """Return how far a camera's window reaches."""
    return rest.WindowView(
        from_=head.oldest_us,
        to=head.newest_us,
        frames=head.frames,
        bytes=head.size_bytes,
        evicted_before=head.evicted_before_us,
    )


def probe_view(report: ProbeReport) -> rest.ProbeView:
    """Return what a probe found, its picture as a data URL."""
    picture = None
    if report.jpeg is not None:
        picture = f"data:image/jpeg;base64,{base64.b64encode(report.jpeg).decode('ascii')}"
    return rest.ProbeView(
        ok=report.ok,
        codec=report.codec,
        width_px=report.width_px,
        height_px=report.height_px,
        frame_rate=report.frame_rate,
        picture=picture,
        code=report.code,
        message=report.message,
    )


def frame_views(infos: Iterable[FrameInfo], span: Span, zone: ZoneInfo) -> list[rest.FrameView]:
    """Return the frames of ``span`` with the labels they have in prompts about it."""
    dated = crosses_midnight(span, zone)
    return [
        rest.FrameView(
            ref=info.ref,
            t=info.t_us,
            t_us=info.t_us,
            label=time_label(info.t_us, zone, tenths=info.tenths, dated=dated),
            seq=info.seq,
            reason=info.reason,
            motion=round(info.motion, 4),
            bytes=info.size_bytes,
            tier=info.tier,
        )
        for info in infos
    ]


def frame_url(camera_id: CameraId, t_us: int) -> str:
    """Return the path of one sample's picture."""
    return f"{API}/cameras/{camera_id}/frames/{t_us}.jpg"


def thin(infos: Sequence[FrameInfo], span: Span, limit: int) -> list[FrameInfo]:
    """Return at most ``limit`` of the frames: of each equal part of the span the liveliest, earliest on ties."""
    if len(infos) <= limit:
        return list(infos)
    best: dict[int, FrameInfo] = {}
    for info in infos:
        cell = (info.t_us - span.start_us) * limit // span.duration_us
        if cell not in best or info.motion > best[cell].motion:
            best[cell] = info
    return [best[cell] for cell in sorted(best)]


def tier_views(infos: Iterable[FrameInfo]) -> list[rest.TierView]:
    """Return the runs of neighbouring frames that lie in the same place, each from its first to its last + 1 µs."""
    return [
        rest.TierView(from_=run[0].t_us, to=run[-1].t_us + 1, tier=tier)
        for tier, run in ((tier, tuple(run)) for tier, run in groupby(infos, key=lambda info: info.tier))
    ]


def timeline_view(
    camera: Camera,
    span: Span,
    infos: Sequence[FrameInfo],
    records: Sequence[Record],
    *,
    head: Head,
    now_us: int,
    limit: int,
    retention_us: int | None = None,
) -> rest.TimelineView:
    """Return one span of a camera's memory, with at most ``limit`` samples. Epoch starts are not shown."""
    # Thousands of them, made of checked values: constructed without a second check, at a tenth of the time.
    samples = [
        rest.SampleView.model_construct(
            t=info.t_us, t_us=info.t_us, reason=info.reason, motion=round(info.motion, 4)
        )
        for info in thin(infos, span, limit)
    ]
    return rest.TimelineView(
        camera=camera.id,
        from_=span.start_us,
        to=span.end_us,
        now=now_us,
        zone=camera.zone.key,
        evicted_before=head.evicted_before_us,
        retention_s=None if retention_us is None else retention_us / 1e6,
        samples_total=len(infos),
        samples=samples,
        static=[wire.SpanView(from_=r.start_us, to=r.end_us) for r in records if isinstance(r, StaticSpan)],
        gaps=[
            rest.GapView(from_=r.start_us, to=r.end_us, reason=r.reason)
            for r in records
            if isinstance(r, Gap)
        ],
        tracks=[_track_view(r) for r in records if isinstance(r, ObjectTrack)],
        scenes=[rest.SceneView(t=r.start_us, kind=r.kind) for r in records if isinstance(r, SceneChange)],
        tiers=tier_views(infos),
    )


def _track_view(track: ObjectTrack) -> rest.TrackView:
    return rest.TrackView(
        from_=track.start_us,
        to=track.end_us,
        open=track.open,
        entered=track.entered,
        left=track.left,
        direction=track.direction,
        size=round(track.size, 4),
        colour=track.colour,
    )


def coverage_view(coverage: Coverage) -> wire.CoverageView:
    """Return what of the asked span could be seen."""
    return wire.CoverageView(
        asked=span_view(coverage.asked),
        covered=[span_view(span) for span in coverage.covered],
        static=[span_view(span) for span in coverage.static],
        gaps=[
            wire.CoverageGapView(from_=gap.span.start_us, to=gap.span.end_us, reason=gap.reason)
            for gap in coverage.gaps
        ],
        evicted_before=coverage.evicted_before_us,
        last_frame_age_s=coverage.last_frame_age_s,
    )


def answer_message(answer: Answer, question_id: str) -> wire.ServerMessage:
    """Return one value of an answer under the id that the client gave its question."""
    match answer:
        case AnswerStarted():
            return _started(answer, question_id)
        case AnswerDelta():
            return wire.AnswerDeltaMessage(id=question_id, text=answer.text)
        case AnswerDone():
            return _done(answer, question_id)
        case _:
            assert_never(answer)


def _started(answer: AnswerStarted, question_id: str) -> wire.AnswerStartedMessage:
    return wire.AnswerStartedMessage(
        id=question_id,
        camera=answer.camera_id,
        conversation=answer.conversation,
        window=wire.AnswerWindowView(
            from_=answer.window.start_us, to=answer.window.end_us, text=answer.window_text, zone=answer.zone
        ),
        frames=[
            wire.UsedFrameView(
                ref=frame.ref,
                t=frame.t_us,
                t_us=frame.t_us,
                label=frame.label,
                url=frame_url(split_frame_ref(frame.ref).camera_id, frame.t_us),
            )
            for frame in answer.frames
        ],
        frames_in_span=answer.frames_in_span,
        coverage=coverage_view(answer.coverage),
        others=[
            wire.CameraSightView(
                camera=other.camera_id,
                window=span_view(other.window),
                zone=other.zone,
                frames_in_span=other.frames_in_span,
                coverage=coverage_view(other.coverage),
            )
            for other in answer.others
        ],
    )


def _done(answer: AnswerDone, question_id: str) -> wire.AnswerDoneMessage:
    times = answer.timings
    return wire.AnswerDoneMessage(
        id=question_id,
        outcome=answer.outcome,
        citations=[
            wire.CitationView(
                text=cited.text, offset=cited.offset, t=cited.t_us, frame=cited.frame, verified=cited.verified
            )
            for cited in answer.citations
        ],
        usage=wire.UsageView(
            prompt_tokens=answer.usage.prompt_tokens, completion_tokens=answer.usage.completion_tokens
        ),
        timings=wire.TimingsView(
            wait_ms=round(times.wait_ms, 2),
            fetch_ms=round(times.fetch_ms, 2),
            prefill_ms=round(times.prefill_ms, 2),
            first_word_ms=round(times.first_word_ms, 2),
            total_ms=round(times.total_ms, 2),
        ),
        frames_used=answer.frames_used,
        frames_encoded_now=answer.frames_encoded_now,
        model=answer.model,
        notice=answer.notice,
    )


def error_text(error: ServiceError) -> str:
    """Return what people outside may read of an error."""
    return _INSIDE if error.kind is ErrorKind.INTERNAL else str(error)


def error_message(error: ServiceError, question_id: str | None = None) -> wire.ErrorMessage:
    """Return an error as a message."""
    return wire.ErrorMessage(
        id=question_id, code=error.code, message=error_text(error), retryable=error.retryable
    )
