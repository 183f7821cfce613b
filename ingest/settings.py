"""Settings of ``ingest``."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """How sources are read. All times in seconds."""

    enabled: bool = True
    """Take cameras in. If not, this process keeps no window and encodes nothing; it answers from the one in ``redis.url``."""
    connect_timeout_s: float = 10.0
    """From the first attempt to reach a source to its first facts: connected, asked, tracks known."""
    read_timeout_s: float = 10.0
    """A connection that brings no video packet for so long counts as stalled."""
    stop_timeout_s: float = 2.0
    """How long ending a source may take before its thread is left to end by itself."""
    first_pause_s: float = 0.5
    """Pause before the first attempt to reconnect; it doubles with each further one."""
    longest_pause_s: float = 15.0
    """The pause grows up to this."""
    slow_pause_s: float = 20.0
    """Pause after a refused password or a source without video, so that no account is locked; doubles too."""
    longest_slow_pause_s: float = 300.0
    """The pause after refusals grows up to this."""
    healthy_after_s: float = 10.0
    """Frames for so long make the next pause a first one again."""
    analyze_s: float = 0.2
    """How much of a live stream is looked at before its first packet is handed on."""
    undecodable_packets: int = 60
    """So many packets in a row that cannot be decoded end the connection."""
    handover_frames: int = 8
    """Decoded frames that may wait for the event loop; one more makes the oldest leave."""
    report_every_s: float = 1.0
    """Counters are reported at most this often; a changed state at once."""
    tls_verify: bool = True
    """Check the certificate of ``rtsps`` sources, and that it was made out to their host."""
    tls_ca_file: str | None = None
    """Whom to trust, a PEM file; None for whom the system trusts."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, int | float) and not isinstance(value, bool) and value <= 0:
                raise ValueError(f"{item.name} must be above 0, got {value}")
        if self.longest_pause_s < self.first_pause_s or self.longest_slow_pause_s < self.slow_pause_s:
            raise ValueError("a longest pause must not be shorter than the first one")
