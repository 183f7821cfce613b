"""A large value in pieces, sent as they lie: not joined with one another, nor with the commands around them.

A frame of 3 MB joined is 3 MB of fresh memory to be filled, and the client would join the batch once more before
it is written. Here each piece goes to the socket in slices that it takes at once. A large reply is taken as it was
read, where the client copies it once more to take the line's end off. Both stand in front of the client's own ways:
should it change those, they are not asked any more, and nothing but speed is lost.
"""

from asyncio import IncompleteReadError
from collections.abc import Sequence
from typing import Any

_LARGE_BYTES = 64 * 1024
_SLICE_BYTES = 128 * 1024  # a unix socket takes about 200 kB at a time by default


class Pieces:
    """A value of a command that is the concatenation of some buffers."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[bytes | memoryview]) -> None:
        self.parts = tuple(parts)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def join(self) -> bytes:
        """Return the value in one piece, for those who need it so."""
        return b"".join(self.parts)


def gathering(connection_class: type) -> type:
    """Return the client's class of connections, made to take ``Pieces`` and to write large commands in slices."""
    return type(f"Gathering{connection_class.__name__}", (_Gathering, connection_class), {})


class _Gathering:
    """Goes in front of a connection class of the client's. ``Any``: its types are the client's own."""

    encoder: Any
    _writer: Any

    def set_parser(self, parser_class: type) -> None:
        super().set_parser(_lean(parser_class))  # type: ignore[misc]  # the client's class is next

    def pack_command(self, *args: Any) -> list[bytes | memoryview]:
        if not any(isinstance(argument, Pieces) for argument in args):
            packed: list[bytes | memoryview] = super().pack_command(*args)  # type: ignore[misc]  # the client's class is next
            return packed
        output: list[bytes | memoryview] = [b"*%d\r\n" % len(args)]
        for argument in args:
            parts = argument.parts if isinstance(argument, Pieces) else (self.encoder.encode(argument),)
            output += [b"$%d\r\n" % sum(map(len, parts)), *parts, b"\r\n"]
        return output

    async def _send_packed_command(self, command: Sequence[bytes | memoryview]) -> None:
        small: list[bytes | memoryview] = []
        for piece in command:
            if len(piece) < _LARGE_BYTES:
                small.append(piece)
                continue
            self._writer.write(b"".join(small))
            small.clear()
            view = memoryview(piece)
            for at in range(0, len(view), _SLICE_BYTES):
                self._writer.write(view[at : at + _SLICE_BYTES])
                await self._writer.drain()
        self._writer.write(b"".join(small))
        await self._writer.drain()


def _lean(parser_class: type) -> type:
    fits = all(hasattr(parser_class, name) for name in ("_read", "_buffer", "_pos", "_stream"))
    return type(f"Lean{parser_class.__name__}", (_Lean, parser_class), {}) if fits else parser_class


class _Lean:
    """Goes in front of a parser of the client's that keeps what it has read until a reply is whole.

    A large value is not kept for that: a connection whose reply was not read to its end is closed anyway.
    """

    _buffer: Any
    _pos: Any
    _stream: Any

    async def _read(self, length: int) -> bytes:
        if length < _LARGE_BYTES or len(self._buffer) > self._pos:
            short: bytes = await super()._read(length)  # type: ignore[misc]  # the client's class is next
            return short
        try:
            value: bytes = await self._stream.readexactly(length)
            await self._stream.readexactly(2)
        except IncompleteReadError as error:
            from redis.exceptions import ConnectionError as Gone

            raise Gone("the server closed the connection in mid-reply") from error
        self._pos += length + 2
        return value
