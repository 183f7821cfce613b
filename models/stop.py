"""Texts that end an answer. Pure; what comes of a token stream is the same however its text was cut into pieces."""

from collections.abc import Sequence


class StopTexts:
    """Watches an answer's text for texts that end it, and lets through what stands before the first of them.

    The beginning of a stop text is held back until it is known whether the rest follows.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """``stops`` may be empty; an empty text among them is refused with ValueError."""
        if not all(stops):
            raise ValueError("a text that ends an answer must not be empty")
        self._stops = tuple(stops)
        self._held = ""
        self.hit = False

    def push(self, text: str) -> str:
        """Return what may be shown of the answer so far and was not shown before; ``hit`` says that it ends there."""
        if self.hit or not self._stops:
            return "" if self.hit else text
        self._held += text
        found = [(at + len(stop), at) for stop in self._stops if (at := self._held.find(stop)) >= 0]
        if found:
            # The one that is complete first, as if letter after letter had come; the longest of several such.
            self.hit = True
            shown, self._held = self._held[: min(found)[1]], ""
            return shown
        keep = max(_overlap(self._held, stop) for stop in self._stops)
        shown, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return shown

    def rest(self) -> str:
        """Return what was held back, once the answer has ended by itself."""
        rest, self._held = self._held, ""
        return rest


def _overlap(text: str, stop: str) -> int:
    """Return how many letters at the end of ``text`` may begin ``stop``."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
