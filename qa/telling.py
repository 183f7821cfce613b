"""An answer while it is being told: its text so far, the citations in it, and how long each stage took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

from core.clock import Clock
from core.ids import CameraId, RequestId
from core.meter import Meter, Metric
from qa.answers import AnswerDelta, Citation, Timings, UsedFrame
from qa.citations import CitationChecker


class Stopwatch:
    """Times one question from its acceptance, in stages. ``lap_ms`` ends a stage and begins the next."""

    def __init__(self, clock: Clock, received_us: int) -> None:
        self._clock = clock
        waited_us = max(0, clock.now_us() - received_us)
        self._lap_us = clock.mono_us()
        self._start_us = self._lap_us - waited_us
        self.timings = Timings(wait_ms=waited_us / 1000)

    def heard(self) -> None:
        """The question is understood; what came before counts as waiting."""
        self.timings = replace(self.timings, wait_ms=self.total_ms())
        self._lap_us = self._clock.mono_us()

    def fetched(self) -> float:
        """The frames are here; return how long it took, in seconds."""
        fetch_ms = self._lap_ms()
        self.timings = replace(self.timings, fetch_ms=fetch_ms)
        return fetch_ms / 1000

    def first_word(self) -> None:
        """The first word is here; what it took since the frames were counts as prefill."""
        self.timings = replace(self.timings, prefill_ms=self._lap_ms(), first_word_ms=self.total_ms())

    def next_word(self) -> float:
        """One more piece of text is here; return the seconds since the one before."""
        return self._lap_ms() / 1000

    def done(self) -> Timings:
        """Return all stages, with the total until now."""
        return replace(self.timings, total_ms=self.total_ms())

    def total_ms(self) -> float:
        return (self._clock.mono_us() - self._start_us) / 1000

    def _lap_ms(self) -> float:
        now_us = self._clock.mono_us()
        lap_us, self._lap_us = now_us - self._lap_us, now_us
        return lap_us / 1000


@dataclass(frozen=True, slots=True)
class Told:
    """What was told."""

    text: str
    citations: tuple[Citation, ...]


class Telling:
    """Turns pieces of text into deltas, and keeps and checks what was said. Empty pieces tell nothing."""

    def __init__(
        self,
        request: RequestId,
        frames: Sequence[UsedFrame],
        zone: ZoneInfo,
        meter: Meter,
        zones: Mapping[CameraId, ZoneInfo] | None = None,
    ) -> None:
        """``zones`` are those of cameras that are in another zone than ``zone``."""
        self._request = request
        self._checker = CitationChecker(frames, zone, zones)
        self._meter = meter
        self._pieces: list[str] = []

    def say(self, text: str) -> AnswerDelta:
        """Add some more text; return it as the message to send."""
        self._pieces.append(text)
        for citation in self._checker.feed(text):
            self._meter.count(Metric.CITATIONS, verified="true" if citation.verified else "false")
        return AnswerDelta(self._request, text)

    def look_at(self, frames: Sequence[UsedFrame]) -> None:
        """Check what is still to be said against these frames."""
        self._checker.look_at(frames)

    def told(self) -> Told:
        """Return everything said so far."""
        return Told("".join(self._pieces), self._checker.citations)
