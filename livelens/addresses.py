"""Addresses of sources as people type them. Pure, and quick to import: the command line needs it."""

from pathlib import Path

SCENE = "scene"
"""The scheme of generated scenes."""


def typed_address(text: str) -> str:
    """Return the address with a scheme: what has none is a file of this machine."""
    has_scheme = "://" in text or text.lower().startswith(("file:", f"{SCENE}:"))
    return text if has_scheme else Path(text).resolve().as_uri()
