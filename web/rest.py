"""What travels over REST: the forms that clients fill in, and the replies. ``docs/api.md`` is the same in words."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from core.frames import KeepReason
from core.records import Colour, Direction, GapReason, SceneChangeKind, Side
from featcache.window import Tier
from web.wire import Asked, CameraName, SpanView, StateView, Time, Told


class SourceForm(Asked):
    """Where to read from. A password inside ``url`` is moved into ``password``."""

    url: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2048)]
    username: Annotated[str, StringConstraints(max_length=256)] | None = None
    password: Annotated[str, StringConstraints(max_length=256)] | None = Field(default=None, repr=False)
    transport: Literal["tcp", "udp"] = "tcp"
    loop: bool = False


ShownName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=120, pattern=r"^[^\x00-\x1f\x7f]*$"),
]


class NewCameraForm(Asked):
    id: CameraName
    name: ShownName | None = None
    zone: Annotated[str, StringConstraints(max_length=64)] | None = None
    enabled: bool = True
    source: SourceForm


class CameraPatchForm(Asked):
    """What is left out, or null, stays as it is."""

    name: ShownName | None = None
    zone: Annotated[str, StringConstraints(max_length=64)] | None = None
    enabled: bool | None = None
    source: SourceForm | None = None


class ProbeForm(Asked):
    source: SourceForm


# ---------------------------------------------------------------- replies


class OpenSpanView(Told):
    """``to`` is null while it lasts."""

    from_: Time = Field(alias="from")
    to: Time | None


class GapView(OpenSpanView):
    reason: GapReason


class SourceView(Told):
    url: str
    transport: Literal["tcp", "udp"]
    loop: bool
    username: str | None
    has_password: bool


class WindowView(Told):
    from_: Time | None = Field(alias="from")
    to: Time | None
    frames: int
    bytes: int
    evicted_before: Time | None


class CameraView(Told):
    id: str
    name: str
    enabled: bool
    zone: str
    created_at: Time
    source: SourceView
    state: StateView
    window: WindowView | None
    answered_by: str


class CameraListView(Told):
    cameras: list[CameraView]


class DeletedView(Told):
    deleted_frames: int


class ProbeView(Told):
    """``picture`` is a JPEG data URL."""

    ok: bool
    codec: str | None
    width_px: int
    height_px: int
    frame_rate: float | None
    picture: str | None
    code: str | None
    message: str | None


class FrameView(Told):
    ref: str
    t: Time
    t_us: int
    label: str
    seq: int
    reason: KeepReason
    motion: float
    bytes: int
    tier: Tier


class FrameListView(Told):
    frames: list[FrameView]


class SampleView(Told):
    t: Time
    t_us: int
    reason: KeepReason
    motion: float


class TrackView(SpanView):
    open: bool
    entered: Side | None
    left: Side | None
    direction: Direction | None
    size: float
    colour: Colour | None


class SceneView(Told):
    t: Time
    kind: SceneChangeKind


class TierView(SpanView):
    tier: Tier


class TimelineView(SpanView):
    camera: str
    now: Time
    zone: str
    evicted_before: Time | None
    retention_s: float | None
    samples_total: int
    samples: list[SampleView]
    static: list[SpanView]
    gaps: list[GapView]
    tracks: list[TrackView]
    scenes: list[SceneView]
    tiers: list[TierView]


class ReadinessView(Told):
    ready: bool
    parts: dict[str, bool]
    details: dict[str, str]


class FaultView(Told):
    field: str
    message: str


class ProblemView(Told):
    """RFC 9457. ``errors`` names the fields of an invalid request; ``retryable`` says that trying later helps."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool = False
    errors: list[FaultView] | None = None
