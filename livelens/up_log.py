"""What a child process writes: whole lines into a file of bounded size, the newest ones kept at hand."""

import os
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path

LINE_BYTES = 16_384
"""A longer line is cut into pieces, so that a process that never ends its line fills no memory."""

_NOT_SHOWN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


class Lines:
    """Turns chunks of bytes into whole lines of text. Pure."""

    def __init__(self) -> None:
        self._rest = b""

    def push(self, chunk: bytes) -> list[str]:
        """Return the lines that are whole now, colours and control characters taken out."""
        *whole, self._rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        while len(self._rest) > LINE_BYTES:
            whole.append(self._rest[:LINE_BYTES])
            self._rest = self._rest[LINE_BYTES:]
        return [line for line in map(_text, whole) if line]

    def end(self) -> list[str]:
        """Return what was left without an end of line."""
        rest, self._rest = self._rest, b""
        return [line for line in (_text(rest),) if line]


def _text(line: bytes) -> str:
    return _NOT_SHOWN.sub("", line.decode(errors="replace")).rstrip()


class PartLog:
    """The log of one part. ``listener`` gets each line as well. Disk trouble ends the file, never the part."""

    def __init__(
        self,
        path: Path,
        *,
        limit_bytes: int = 16 << 20,
        keep_lines: int = 5,
        listener: Callable[[str], None] | None = None,
    ) -> None:
        self._path = path
        self._limit_bytes = limit_bytes
        self._listener = listener
        self._newest: deque[str] = deque(maxlen=keep_lines)
        self._written = path.stat().st_size if path.exists() else 0
        self.broken: str | None = None

    @property
    def path(self) -> Path:
        return self._path

    def newest(self) -> tuple[str, ...]:
        """Return the last lines, oldest first."""
        return tuple(self._newest)

    def forget(self) -> None:
        """Forget the last lines; a new process begins."""
        self._newest.clear()

    def write(self, lines: list[str]) -> None:
        """Add lines. The file is written in one go; when it is full it becomes ``.1`` and begins anew."""
        if not lines:
            return
        self._newest.extend(lines)
        if self._listener is not None:
            for line in lines:
                self._listener(line)
        if self.broken is None:
            try:
                self._append("".join(f"{line}\n" for line in lines).encode())
            except OSError as error:
                self.broken = error.strerror or str(error)

    def _append(self, data: bytes) -> None:
        if self._written and self._written + len(data) > self._limit_bytes:
            self._path.replace(self._path.with_name(self._path.name + ".1"))
            self._written = 0
        with open(self._path, "ab", opener=_private) as file:
            file.write(data)
        self._written += len(data)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
