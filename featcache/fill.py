"""From the sampler's samples to frames in the window: number, encode, store, count."""

import logging
from collections.abc import Callable
from typing import Protocol

from core.channel import Channel
from core.clock import Clock
from core.errors import ServiceError
from core.frames import BadFeatures, Features, Picture, Sample
from core.ids import JPEG_ONLY, CameraId, Incarnation, make_frame_ref
from core.meter import Meter, Metric
from featcache.errors import FrameTooLarge, WindowUnavailable
from featcache.window import Head, StoredFrame, Window

logger = logging.getLogger(__name__)


class Encoder(Protocol):
    """Turns pictures into vision tokens, once each."""

    @property
    def version(self) -> str:
        """Return 12 hex digits that name encoder, processor settings and our format."""

    @property
    def frame_detail(self) -> str:
        """Return the last part of a frame's ref, naming tokens and storage kind, such as ``196``."""

    async def encode(self, picture: Picture) -> Features | None:
        """Return the picture's features, None where it knows nothing of such pictures.

        Raises a ServiceError where it cannot.
        """


async def fill(
    samples: Channel[Sample],
    window: Window,
    *,
    camera_id: CameraId,
    incarnation: Incarnation,
    encoder: Encoder | None,
    clock: Clock,
    meter: Meter,
    first_seq: int = 0,
    on_stored: Callable[[StoredFrame], None] | None = None,
) -> None:
    """Store every sample of one camera until ``samples`` is closed and empty.

    One sample at a time: while the encoder is busy the channel holds a few and drops the oldest, so that a
    slow encoder costs samples, never latency. A frame whose encoding fails, or that the encoder knows nothing
    of, is stored without features. A frame the window cannot take is dropped and counted. Cancelled, it leaves
    whole frames only.

    Args:
        encoder: None stores pictures only.
        first_seq: The least number for the next frame; the numbers go on from what the window has held of
            this incarnation.
        on_stored: Called with each frame after it can be asked about; must not wait.
    Raises:
        UnknownCamera: the camera's window was never opened.
        StaleIncarnation: the camera was deleted or registered anew meanwhile.
    """
    head = await window.head(camera_id)
    seq = max(first_seq, head.next_seq)
    previous_us = _previous_us(head)
    encode_faults = _Fault("encoding failed, frames are stored without features", camera_id, clock)
    window_faults = _Fault("the window did not take frames", camera_id, clock)
    async for sample in samples:
        features = await _encode(encoder, sample.picture, meter, encode_faults)
        frame = _frame(sample, features, encoder, seq=seq, previous_us=previous_us)
        del sample  # a decoded picture is megabytes; it must not wait here for the next one
        try:
            await window.put(frame, incarnation=incarnation)
        except (WindowUnavailable, FrameTooLarge) as error:
            meter.count(Metric.FRAMES_DROPPED, stage="window")
            window_faults.happened(error)
            continue
        seq, previous_us = seq + 1, frame.t_us
        meter.observe(Metric.GLASS_SECONDS, max(0, clock.now_us() - frame.t_us) / 1e6)
        if on_stored is not None:
            on_stored(frame)


async def _encode(
    encoder: Encoder | None, picture: Picture, meter: Meter, faults: "_Fault"
) -> Features | None:
    if encoder is None:
        return None
    try:
        features = await encoder.encode(picture)
        if features is None:
            meter.count(Metric.FOREIGN_FRAMES)
            return None
        if features.encoder_version != encoder.version:
            raise BadFeatures(f"features of {features.encoder_version!r} from encoder {encoder.version!r}")
    except (ServiceError, BadFeatures) as error:
        meter.count(Metric.ENCODE_FAILURES)
        faults.happened(error)
        return None
    return features


def _previous_us(head: Head) -> int | None:
    """Return the stream time of the newest frame ever held, also where it has aged out."""
    if head.newest_us is not None:
        return head.newest_us
    return None if head.evicted_before_us is None else head.evicted_before_us - 1


def _frame(
    sample: Sample, features: Features | None, encoder: Encoder | None, *, seq: int, previous_us: int | None
) -> StoredFrame:
    if features is None or encoder is None:
        ref = make_frame_ref(sample.camera_id, sample.t_us, encoder=JPEG_ONLY)
    else:
        ref = make_frame_ref(
            sample.camera_id, sample.t_us, encoder=encoder.version, detail=encoder.frame_detail
        )
    return StoredFrame(
        ref=ref,
        camera_id=sample.camera_id,
        t_us=sample.t_us,
        seq=seq,
        reason=sample.reason,
        motion=sample.motion,
        tenths=previous_us is not None and previous_us // 1_000_000 == sample.t_us // 1_000_000,
        jpeg=sample.jpeg,
        width_px=sample.picture.width_px,
        height_px=sample.picture.height_px,
        features=features,
    )


class _Fault:
    """A fault that may come with every frame: reported once a second, with how often and the last cause."""

    _EVERY_US = 1_000_000

    def __init__(self, what: str, camera_id: CameraId, clock: Clock) -> None:
        self._what = what
        self._camera_id = camera_id
        self._clock = clock
        self._since = 0
        self._quiet_until_us: int | None = None

    def happened(self, error: Exception) -> None:
        """Count one, and log if the last report is a second ago."""
        self._since += 1
        now_us = self._clock.mono_us()
        if self._quiet_until_us is not None and now_us < self._quiet_until_us:
            return
        logger.warning(
            self._what,
            extra={
                "camera_id": self._camera_id,
                "times": self._since,
                "cause": f"{type(error).__name__}: {error}",
            },
        )
        self._since = 0
        self._quiet_until_us = now_us + self._EVERY_US
