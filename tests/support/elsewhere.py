"""Bytes that pass for such as lie on a device."""

from core.frames import FarBytes


class Elsewhere(FarBytes):
    """Bytes on a device named ``elsewhere``; counts how often they were copied to memory."""

    def __init__(self, data: bytes, *, page_bytes: int = 1) -> None:
        self.data = data
        self.copies = 0
        self._page_bytes = page_bytes

    def __len__(self) -> int:
        return len(self.data)

    @property
    def room_bytes(self) -> int:
        return -(-len(self.data) // self._page_bytes) * self._page_bytes

    def near(self) -> bytes:
        self.copies += 1
        return self.data

    def on(self, device: str) -> bytes | None:
        return self.data if device == "elsewhere" else None
