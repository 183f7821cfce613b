"""Cameras in, frames with stream time out.

Reads RTSP cameras, files and streams that a ``FeedKind`` makes, each in a thread of its own; gives every good
frame its place in stream time, which never goes back; reconnects with growing pauses; tells state, gaps and
epochs. It alone decodes, and asks a ``PacketGate`` what to decode. Which frames matter is for ``sampler`` to
say, where they and the records are kept for ``featcache``.

    Camera --pump--> Frame, Frame, Frame ...      (channel, oldest dropped)
                 --> StateReport                  (at each change, counters once a second)
                 --> Gap, EpochStart              (records for the window)
    Source --probe-> ProbeReport
"""

from ingest.address import check_source, masked, parse_source
from ingest.errors import AmbiguousAddress, SourceError, SourceRefused
from ingest.feeds import NO_FEEDS, Feed, FeedKind, Feeds, Wait
from ingest.gate import EveryPacket, PacketGate, PacketInfo
from ingest.probe import probe
from ingest.pump import pump
from ingest.settings import IngestSettings

__all__ = [
    "NO_FEEDS",
    "AmbiguousAddress",
    "EveryPacket",
    "Feed",
    "FeedKind",
    "Feeds",
    "IngestSettings",
    "PacketGate",
    "PacketInfo",
    "SourceError",
    "SourceRefused",
    "Wait",
    "check_source",
    "masked",
    "parse_source",
    "probe",
    "pump",
]
