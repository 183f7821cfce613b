"""Which packets are decoded."""

from ingest.gate import EveryPacket, PacketInfo


def test_the_default_gate_wants_everything() -> None:
    assert EveryPacket().wants(PacketInfo(None, 1, keyframe=False, disposable=True))
