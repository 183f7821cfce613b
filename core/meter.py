"""Names of all metrics, and the small protocol that code counts through. The exporter lives in ``web``."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class MetricKind(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric: its exported name, what it means, and the closed set of labels it carries."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()


class Metric(Enum):
    """Every metric livelens exports. Labels come from small closed sets, never ids or addresses."""

    FRAMES_IN = MetricSpec("livelens_frames_in_total", MetricKind.COUNTER, "Frames decoded")
    FRAMES_SKIPPED = MetricSpec(
        "livelens_frames_skipped_total",
        MetricKind.COUNTER,
        "Packets or frames skipped by ingest",
        ("reason",),
    )
    FRAMES_DROPPED = MetricSpec(
        "livelens_frames_dropped_total", MetricKind.COUNTER, "Frames or samples dropped for load", ("stage",)
    )
    RECONNECTS = MetricSpec("livelens_reconnects_total", MetricKind.COUNTER, "Connections begun anew")
    SAMPLES = MetricSpec("livelens_samples_total", MetricKind.COUNTER, "Frames kept, by reason", ("reason",))
    ENCODED = MetricSpec(
        "livelens_frames_encoded_total", MetricKind.COUNTER, "Frames through the vision encoder"
    )
    ENCODE_SECONDS = MetricSpec(
        "livelens_encode_seconds",
        MetricKind.HISTOGRAM,
        "One encode batch, from the engine's start to its end",
    )
    ENCODE_FAILURES = MetricSpec(
        "livelens_encode_failures_total",
        MetricKind.COUNTER,
        "Frames stored without features because the encoder failed",
    )
    FOREIGN_FRAMES = MetricSpec(
        "livelens_frames_out_of_domain_total",
        MetricKind.COUNTER,
        "Frames stored without features because the encoder knows nothing of such pictures",
    )
    GLASS_SECONDS = MetricSpec(
        "livelens_frame_to_window_seconds",
        MetricKind.HISTOGRAM,
        "Stream time of a sample to its place in the window",
    )
    WINDOW_BYTES = MetricSpec("livelens_window_bytes", MetricKind.GAUGE, "Bytes held, by tier", ("tier",))
    WINDOW_FRAMES = MetricSpec("livelens_window_frames", MetricKind.GAUGE, "Frames held, by tier", ("tier",))
    PUBLISHED = MetricSpec(
        "livelens_frames_published_total",
        MetricKind.COUNTER,
        "Frames written to Redis, also those written again",
    )
    PUBLISH_DROPPED = MetricSpec(
        "livelens_publish_dropped_total",
        MetricKind.COUNTER,
        "Frames and records that left the publish queue for load; they are found again in the pool",
    )
    PUBLISH_WAITING = MetricSpec(
        "livelens_publish_waiting", MetricKind.GAUGE, "Frames and records waiting to be written to Redis"
    )
    REDIS_UP = MetricSpec("livelens_redis_up", MetricKind.GAUGE, "1 while Redis takes what is published")
    REDIS_OUTAGES = MetricSpec(
        "livelens_redis_outages_total", MetricKind.COUNTER, "Times Redis stopped taking writes", ("fault",)
    )
    REDIS_CLOCK_OFFSET_SECONDS = MetricSpec(
        "livelens_redis_clock_offset_seconds", MetricKind.GAUGE, "Redis TIME less service clock"
    )
    PROMOTED = MetricSpec(
        "livelens_frames_promoted_total",
        MetricKind.COUNTER,
        "Spilled frames that readers asked their owner for, by outcome",
        ("outcome",),
    )
    PROMOTE_SECONDS = MetricSpec(
        "livelens_promote_seconds",
        MetricKind.HISTOGRAM,
        "A reader's wait for its owner to publish spilled frames",
    )
    EVICTED = MetricSpec("livelens_frames_evicted_total", MetricKind.COUNTER, "Frames aged out", ("reason",))
    RECORDS_EVICTED = MetricSpec(
        "livelens_records_evicted_total", MetricKind.COUNTER, "Records of the window aged out", ("reason",)
    )
    FEATURES_REFUSED = MetricSpec(
        "livelens_features_refused_total", MetricKind.COUNTER, "Stored features found damaged and left out"
    )
    CAMERAS = MetricSpec("livelens_cameras", MetricKind.GAUGE, "Cameras by state", ("state",))
    QUESTIONS = MetricSpec(
        "livelens_questions_total", MetricKind.COUNTER, "Questions by outcome", ("outcome",)
    )
    FIRST_WORD_SECONDS = MetricSpec(
        "livelens_time_to_first_token_seconds", MetricKind.HISTOGRAM, "Question accepted to first token sent"
    )
    INTER_TOKEN_SECONDS = MetricSpec(
        "livelens_inter_token_seconds", MetricKind.HISTOGRAM, "Gap between two tokens of one answer"
    )
    FETCH_SECONDS = MetricSpec(
        "livelens_window_fetch_seconds", MetricKind.HISTOGRAM, "Fetching one question's frames"
    )
    CHATS = MetricSpec(
        "livelens_chats_total", MetricKind.COUNTER, "Dialogues about still pictures by outcome", ("outcome",)
    )
    CHAT_PICTURES = MetricSpec(
        "livelens_chat_pictures_total",
        MetricKind.COUNTER,
        "Pictures in dialogues, by what was done",
        ("how",),
    )
    CHAT_FIRST_WORD_SECONDS = MetricSpec(
        "livelens_chat_time_to_first_token_seconds",
        MetricKind.HISTOGRAM,
        "Dialogue accepted to first token sent",
    )
    CITATIONS = MetricSpec(
        "livelens_citations_total", MetricKind.COUNTER, "Times named in answers, by check", ("verified",)
    )
    PREFIX_TOKENS = MetricSpec(
        "livelens_prefix_tokens_total",
        MetricKind.COUNTER,
        "Prompt tokens, found in a kept KV cache or not",
        ("hit",),
    )
    ENGINE_RUNNING = MetricSpec("livelens_engine_running", MetricKind.GAUGE, "Answers being decoded")
    ENGINE_RESTARTS = MetricSpec(
        "livelens_engine_restarts_total", MetricKind.COUNTER, "Engine failures survived"
    )
    SOCKETS = MetricSpec("livelens_websockets", MetricKind.GAUGE, "Open WebSocket sessions")
    HTTP_REQUESTS = MetricSpec(
        "livelens_http_requests_total", MetricKind.COUNTER, "HTTP requests", ("route", "method", "status")
    )
    HTTP_SECONDS = MetricSpec(
        "livelens_http_request_seconds", MetricKind.HISTOGRAM, "HTTP request duration", ("route",)
    )
    HOST_CLOCK_STEP_SECONDS = MetricSpec(
        "livelens_host_clock_step_seconds", MetricKind.GAUGE, "Host wall clock less service clock"
    )


class Meter(Protocol):
    """Counts and measures. Every call is cheap and never raises for a known metric."""

    def count(self, metric: Metric, amount: int = 1, /, **labels: str) -> None:
        """Add to a counter."""

    def gauge(self, metric: Metric, value: float, /, **labels: str) -> None:
        """Set a gauge."""

    def observe(self, metric: Metric, value: float, /, **labels: str) -> None:
        """Add one observation to a histogram; seconds for ``*_seconds``."""


class NullMeter:
    """Measures nothing."""

    def count(self, metric: Metric, amount: int = 1, /, **labels: str) -> None:
        pass

    def gauge(self, metric: Metric, value: float, /, **labels: str) -> None:
        pass

    def observe(self, metric: Metric, value: float, /, **labels: str) -> None:
        pass


class TallyMeter:
    """Keeps everything in plain dictionaries, for tests: ``tally.counts[Metric.X, (("reason", "first"),)]``."""

    def __init__(self) -> None:
        self.counts: dict[tuple[Metric, tuple[tuple[str, str], ...]], int] = {}
        self.gauges: dict[tuple[Metric, tuple[tuple[str, str], ...]], float] = {}
        self.observed: dict[tuple[Metric, tuple[tuple[str, str], ...]], list[float]] = {}

    def count(self, metric: Metric, amount: int = 1, /, **labels: str) -> None:
        key = (metric, tuple(sorted(labels.items())))
        self.counts[key] = self.counts.get(key, 0) + amount

    def gauge(self, metric: Metric, value: float, /, **labels: str) -> None:
        self.gauges[metric, tuple(sorted(labels.items()))] = value

    def observe(self, metric: Metric, value: float, /, **labels: str) -> None:
        self.observed.setdefault((metric, tuple(sorted(labels.items()))), []).append(value)

    def total(self, metric: Metric) -> int:
        """Return a counter's sum over all labels."""
        return sum(n for (m, _), n in self.counts.items() if m is metric)
