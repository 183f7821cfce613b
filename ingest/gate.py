"""Which packets are decoded: asked of a gate, packet by packet, before any work is done."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PacketInfo:
    """What can be said of a packet without decoding it.

    ``t_us`` is its stream time, None where it has none; ``disposable`` means that no other frame needs it.
    """

    t_us: int | None
    size_bytes: int
    keyframe: bool
    disposable: bool


class PacketGate(Protocol):
    """Decides what is decoded. Called in the reader's thread, once per packet, in the order of arrival."""

    def wants(self, packet: PacketInfo) -> bool:
        """Return whether to decode this packet.

        After a packet that others need was let go, decoding goes on at the next keyframe that is wanted.
        """


class EveryPacket:
    """Wants everything."""

    def wants(self, packet: PacketInfo) -> bool:  # noqa: ARG002 - the protocol's name for it
        return True
