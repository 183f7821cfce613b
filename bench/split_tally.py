"""From what askers heard to the rows of ``split``, and to the sentence that says when not to split. Pure."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from bench.report import Figure, median_figure, p95_figure, quantile

FRAMES = (4, 16, 32, 64)
_OFTEN = (8, 4, 2, 2)
"""How often a question of the load is about so many frames: most are short, some stand in everybody's way."""

HALT_MS = 250.0
"""A gap between two words longer than this is a bad tail: somebody who reads along sees the answer stop."""

_ALIKE = 0.1
"""Two figures that differ by less are called the same."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of the load, about frames that none before it was about.

    Attributes:
        first: Number of its first frame.
    """

    first: int
    frames: int


@dataclass(frozen=True, slots=True)
class Trace:
    """What one asker heard: when it asked and when each piece of text came (seconds), and tokens in all."""

    frames: int
    asked: float
    pieces: tuple[float, ...]
    tokens: int

    @property
    def first_word_ms(self) -> float:
        return (self.pieces[0] - self.asked) * 1000

    @property
    def gaps_ms(self) -> tuple[float, ...]:
        return tuple(
            (after - before) * 1000 for before, after in zip(self.pieces, self.pieces[1:], strict=False)
        )


@dataclass(frozen=True, slots=True)
class Transfer:
    """One KV state on its way from prefill to decode, as vLLM's own metrics tell of it."""

    frames: int
    ms: float
    size_bytes: float


@dataclass(frozen=True, slots=True)
class Served:
    """How a load was served: first words and gaps (ms), tokens a second, shares of gaps and of answers that halted."""

    first_words_ms: tuple[float, ...]
    gaps_ms: tuple[float, ...]
    tokens_per_s: float
    answers_halted: float

    @property
    def first_word_p95_ms(self) -> float:
        return quantile(self.first_words_ms, 0.95)

    @property
    def gap_p95_ms(self) -> float:
        return quantile(self.gaps_ms, 0.95)

    @property
    def halted(self) -> float:
        return sum(gap > HALT_MS for gap in self.gaps_ms) / len(self.gaps_ms)


def load(questions: int, *, seed: int = 1) -> tuple[Asked, ...]:
    """Return so many questions, the same ones every time; each size at least once, where there are enough."""
    dice = Random(seed)
    sizes = list(FRAMES) + dice.choices(FRAMES, _OFTEN, k=max(0, questions - len(FRAMES)))
    dice.shuffle(sizes)
    found, first = [], 0
    for frames in sizes[:questions]:
        found.append(Asked(first, frames))
        first += frames
    return tuple(found)


def served(traces: Sequence[Trace]) -> Served:
    """Return how a load was served. Tokens a second are those of all answers, from the first question to the last word."""
    gaps = [trace.gaps_ms for trace in traces]
    took_s = max(trace.pieces[-1] for trace in traces) - min(trace.asked for trace in traces)
    return Served(
        first_words_ms=tuple(trace.first_word_ms for trace in traces),
        gaps_ms=tuple(gap for some in gaps for gap in some),
        tokens_per_s=sum(trace.tokens for trace in traces) / took_s,
        answers_halted=sum(any(gap > HALT_MS for gap in some) for some in gaps) / len(gaps),
    )


def figures_of(name: str, found: Served) -> list[Figure]:
    """Return the rows of one way of serving, ``whole`` or ``apart``."""
    n = len(found.first_words_ms)
    return [
        median_figure(f"split.{name}.first_word.median", found.first_words_ms, "ms"),
        p95_figure(f"split.{name}.first_word.p95", found.first_words_ms, "ms"),
        median_figure(f"split.{name}.gap.median", found.gaps_ms, "ms"),
        p95_figure(f"split.{name}.gap.p95", found.gaps_ms, "ms"),
        _plain(f"split.{name}.gaps_halted", found.halted, "share", len(found.gaps_ms)),
        _plain(f"split.{name}.answers_halted", found.answers_halted, "share", n),
        _plain(f"split.{name}.tokens", found.tokens_per_s, "tokens/s", n),
    ]


def transfer_figures(name: str, transfers: Sequence[Transfer]) -> list[Figure]:
    """Return milliseconds by frames over one way of travelling, ``shm`` or ``tcp``."""
    found = []
    for frames in sorted({transfer.frames for transfer in transfers}):
        some = [transfer for transfer in transfers if transfer.frames == frames]
        found.append(median_figure(f"split.kv.{name}.{frames}", [each.ms for each in some], "ms"))
    return found


def size_figures(transfers: Sequence[Transfer]) -> list[Figure]:
    """Return MiB of attention state by frames."""
    return [
        median_figure(
            f"split.kv.size.{frames}",
            [t.size_bytes / (1 << 20) for t in transfers if t.frames == frames],
            "MiB",
        )
        for frames in sorted({transfer.frames for transfer in transfers})
    ]


def when_not_to_split(whole: Served, apart: Served, transfers: Mapping[str, Sequence[Transfer]]) -> str:
    """Return what the figures say about splitting, in a few sentences."""
    steadier = _less(apart.gap_p95_ms, whole.gap_p95_ms) or _less(apart.answers_halted, whole.answers_halted)
    later = _less(whole.first_word_p95_ms, apart.first_word_p95_ms)
    fewer = _less(apart.tokens_per_s, whole.tokens_per_s)
    figures = (
        f"(whole / apart: gap p95 {whole.gap_p95_ms:.0f} / {apart.gap_p95_ms:.0f} ms, "
        f"answers that halt for over {HALT_MS:.0f} ms {whole.answers_halted:.0%} / {apart.answers_halted:.0%}, "
        f"first word p95 {whole.first_word_p95_ms:.0f} / {apart.first_word_p95_ms:.0f} ms, "
        f"{whole.tokens_per_s:.0f} / {apart.tokens_per_s:.0f} tokens/s)"
    )
    price = " and ".join(
        word for word, paid in (("later first words", later), ("fewer tokens a second", fewer)) if paid
    )
    if not steadier:
        said = f"Do not split a load like this here: words came no steadier apart{f', at the price of {price}' if price else ''}"
    elif price:
        said = f"Do not split unless steady words count for more than {price}: here apart bought the one with the other"
    else:
        said = "Do not split for throughput; here steadier words cost nothing that this load shows"
    return f"{said} {figures}. {_travelling(whole, transfers)}"


def _travelling(whole: Served, transfers: Mapping[str, Sequence[Transfer]]) -> str:
    """Return which way of travelling makes splitting senseless by itself."""
    parts, slowest = [], 0.0
    for name, some in transfers.items():
        large = [transfer for transfer in some if transfer.frames == max(t.frames for t in some)]
        ms = statistics.median(transfer.ms for transfer in large)
        mib = statistics.median(transfer.size_bytes for transfer in large) / (1 << 20)
        slowest = max(slowest, ms)
        parts.append(f"{ms:.0f} ms over {name} ({mib / ms * 1000:.0f} MiB/s)")
    middle = statistics.median(whole.first_words_ms)
    return (
        f"The KV of {max(FRAMES)} frames, {mib:.0f} MiB, travelled {' and '.join(parts)}: do not split over a link on which "
        f"that comes near the first word itself (median {middle:.0f} ms whole; here at most {slowest / middle:.0%} of it)."
    )


def _less(one: float, other: float) -> bool:
    """Return whether one figure is below another by more than what may be chance."""
    return one < other * (1 - _ALIKE)


def _plain(name: str, value: float, unit: str, n: int) -> Figure:
    return Figure(name, value, unit, (value, value), n)
