"""Keeps the state of training on disk, so that it goes on after any interruption. Needs torch."""

from pathlib import Path
from typing import Any

import torch


class StateFile:
    """One file that holds the newest state; written whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, state: dict[str, Any]) -> None:
        """Replace the file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        torch.save(state, fresh)
        fresh.replace(self._path)

    def read(self) -> dict[str, Any] | None:
        """Return the newest state, or None where there is none. Only tensors and plain values are read."""
        if not self._path.exists():
            return None
        state: dict[str, Any] = torch.load(self._path, map_location="cpu", weights_only=True)
        return state
