"""The language stages of training: packed questions about one frame, then 4, 8 and 16. Needs torch.

The tower goes on learning, from answers and from its dense labels, on as many frames of a step as ``_LIVE_FRAMES``;
the others it only sees. A step has a budget of tokens, so that all steps take about the same time.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.builtin.cells import CellLabels, cell_labels
from models.builtin.change_heads import ChangeHeads
from models.builtin.changes import change_labels
from models.builtin.clips import ClipBank
from models.builtin.language import (
    LanguageBatch,
    answer_loss,
    answers_right,
    batch_of,
    quick_arithmetic,
    read,
    source_losses,
)
from models.builtin.optimizing import Optimizers, share_of_rate
from models.builtin.packing import PackedRow, pack
from models.builtin.questions import AskedQuestion, draw_conversations, draw_pack
from models.builtin.sources import Offsets, Sources, sources_of
from models.builtin.stage_tower import CellHeads
from models.builtin.tower import Seen, patches_of, see
from models.builtin.windows import ClipWindow, draw_window
from models.chat import Cells, ChatTokens, TextEncoder

QUESTIONS = 16
_LIVE_FRAMES = 40
_CHECKED_TOGETHER = 12
_MIRRORED = 0.5
_SHARES = {
    "dense": 0.1,
    "event": 0.3,
    "thing": 0.3,
    "way": 0.2,
    "hour": 0.2,
    "minute": 0.3,
    "second": 0.3,
    "tenth": 0.2,
    "order": 0.3,
    "how_many": 0.3,
    "present": 0.3,
    "came": 0.4,
    "left": 0.4,
    "source_thing": 0.6,
    "source_minute": 0.1,
    "source_second": 0.3,
    "source_tenth": 0.2,
    "source_label_second": 0.2,
    "source_label_tenth": 0.1,
    "source_change_before": 0.3,
    "source_thing_before": 0.3,
    "source_thing_then": 0.3,
}
"""How much each loss beside that of the answers counts."""

_TOKENS_AROUND, _TOKENS_FRAME = 620, 42
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Phase:
    """So many steps with windows of at most so many frames."""

    frames: int
    steps: int


@dataclass(frozen=True, slots=True)
class Pieces:
    """What is trained, and what its text is written with."""

    model: Any
    heads: CellHeads
    changes: ChangeHeads
    text: TextEncoder
    tokens: ChatTokens
    offsets: Offsets

    @property
    def learning(self) -> dict[str, Any]:
        """Return the modules by name."""
        return {"model": self.model, "heads": self.heads, "changes": self.changes}


class Packed(NamedTuple):
    """One row of a step: its window, its questions, their tokens, and where those are read from."""

    window: ClipWindow
    questions: list[AskedQuestion]
    row: PackedRow
    sources: Sources


def draw_rows(
    random: Random,
    bank: ClipBank,
    seeds: Sequence[int],
    pieces: Pieces,
    *,
    frames: int,
    rows: int,
    mirrored_share: float = 0.0,
) -> list[Packed]:
    """Return rows of windows of ``frames`` frames, each of a clip of its own choice, some as a mirror shows them."""
    found: list[Packed] = []
    while len(found) < rows:
        clip = bank.read(random.choice(seeds))
        if mirrored_share and random.random() < mirrored_share:
            clip = clip.mirrored()
        window = draw_window(random, clip, frames)
        questions = draw_pack(random, window.watched, QUESTIONS)
        if questions:
            cells = [window.clip.cells] * len(window.chosen)
            talks = draw_conversations(random, questions)
            questions = [question for talk in talks for question in talk]
            row = pack(window.parts, talks, cells, text=pieces.text, tokens=pieces.tokens)
            sources = sources_of(window.watched, window.clip.cells, questions, row, pieces.offsets)
            found.append(Packed(window, questions, row, sources))
    return found


def see_rows(
    tower: Any, rows: Sequence[Packed], *, live: int
) -> tuple[list[Seen], list[tuple[Seen, CellLabels]]]:
    """Return the vision tokens of each row, and those that learn with their dense labels.

    Args:
        live: How many frames' vision tokens carry a gradient; the first rows of each size have it.
    """
    by_cells: dict[Cells, list[int]] = defaultdict(list)
    for number, packed in enumerate(rows):
        by_cells[packed.window.clip.cells].append(number)
    seen: dict[int, Seen] = {}
    learning: list[tuple[Seen, CellLabels]] = []
    for cells, numbers in by_cells.items():
        share = live * len(numbers) / len(rows)
        lively: list[int] = []
        still: list[int] = []
        taken = 0
        for number in numbers:
            taken += len(rows[number].window.chosen)
            (lively if taken <= share else still).append(number)
        if lively:
            together = _see(tower, [rows[number] for number in lively], cells)
            learning.append((together, _labels([rows[number] for number in lively], cells)))
            seen |= _apart(together, rows, lively)
        if still:
            with torch.no_grad():
                seen |= _apart(_see(tower, [rows[number] for number in still], cells), rows, still)
    return [seen[number] for number in range(len(rows))], learning


def train_language(
    pieces: Pieces,
    optimizers: Optimizers,
    bank: ClipBank,
    phases: Sequence[Phase],
    *,
    train_seeds: Callable[[], Sequence[int]],
    check_seeds: Sequence[int],
    start: int,
    tokens: int,
    check_rows: int,
    save: Callable[[int], None],
) -> None:
    """Train from step ``start`` through all phases; ``save(step)`` is called now and then, and at the end."""
    steps = sum(phase.steps for phase in phases)
    seeds = train_seeds()
    tally = Tally()
    for step in range(start, steps):
        random = Random(f"language {step}")
        most = _frames_at(phases, step)
        frames = most if random.random() < 0.6 else random.randint(1, most)
        count = max(4, tokens // (_TOKENS_AROUND + frames * _TOKENS_FRAME))
        rows = draw_rows(random, bank, seeds, pieces, frames=frames, rows=count, mirrored_share=_MIRRORED)
        losses, batch, scores = _losses(pieces, rows)
        total = losses["answers"] + sum(
            _SHARES.get(name.removeprefix("last_").removeprefix("cell_"), 0.0) * loss
            for name, loss in losses.items()
        )
        optimizers.step(total, share_of_rate(step, steps))
        tally.add(rows, answers_right(batch, scores), losses["answers"].item())
        tally.add_losses(losses)
        if step % 10 == 9:
            _log.info(
                "language step", extra={"step": step, "frames": most, "clips": len(seeds), **tally.told()}
            )
            tally = Tally()
            seeds = train_seeds()
        if step % 20 == 19 or step == steps - 1:
            save(step + 1)
        if step % 100 == 99 or step == steps - 1:
            check(pieces, bank, check_seeds, frames=most, rows=check_rows)


def check(pieces: Pieces, bank: ClipBank, seeds: Sequence[int], *, frames: int, rows: int) -> "Tally":
    """Measure on clips that are not trained on, always the same windows; log and return the tally."""
    random = Random(f"check {frames}")
    tally = Tally()
    for first in range(0, rows, _CHECKED_TOGETHER):
        count = min(_CHECKED_TOGETHER, rows - first)
        some = draw_rows(random, bank, seeds, pieces, frames=frames, rows=count)
        batch = batch_of([packed.row for packed in some])
        with torch.no_grad():
            seen, _ = see_rows(pieces.model.model.visual, some, live=0)
            reading = read(pieces.model, batch, seen)
        loss = answer_loss(reading.scores, reading.wanted).item()
        tally.add(some, answers_right(batch, reading.scores), loss)
    _log.info("checked", extra={"frames": frames, **tally.told(counts=True)})
    return tally


class Tally:
    """Exact answers by kind."""

    def __init__(self) -> None:
        self.right: dict[str, int] = defaultdict(int)
        self.asked: dict[str, int] = defaultdict(int)
        self._losses: list[float] = []
        self._others: dict[str, list[float]] = defaultdict(list)

    def add(self, rows: Sequence[Packed], right: dict[tuple[int, int], bool], loss: float) -> None:
        self._losses.append(loss)
        for (row, question), hit in right.items():
            kind = rows[row].questions[question - 1].kind
            for name in (kind.value, "all"):
                self.asked[name] += 1
                self.right[name] += hit

    def add_losses(self, losses: dict[str, Tensor]) -> None:
        """Add the losses of one step by name."""
        for name, loss in losses.items():
            self._others[name].append(loss.item())

    def told(self, *, counts: bool = False) -> dict[str, object]:
        """Return shares by kind, for the log."""
        told: dict[str, object] = {"loss": round(float(np.mean(self._losses)), 4)}
        told |= {f"loss_{name}": round(float(np.mean(many)), 3) for name, many in self._others.items()}
        for name, asked in sorted(self.asked.items()):
            share = round(self.right[name] / asked, 3)
            told[name] = f"{share} of {asked}" if counts else share
        return told


def _losses(pieces: Pieces, rows: Sequence[Packed]) -> tuple[dict[str, Tensor], LanguageBatch, Tensor]:
    """Return each loss by name, the batch, and the answers' scores."""
    batch = batch_of([packed.row for packed in rows])
    with quick_arithmetic():
        seen, learning = see_rows(pieces.model.model.visual, rows, live=_LIVE_FRAMES)
        reading = read(pieces.model, batch, seen)
        dense = [pieces.heads.loss(together, labels) for together, labels in learning]
    losses = {"answers": answer_loss(reading.scores, reading.wanted)}
    if dense:
        losses["dense"] = torch.stack(dense).mean()
    known = [change_labels(packed.window.watched, packed.window.clip.cells) for packed in rows]
    losses |= pieces.changes.loss(reading.middle, known)
    losses |= source_losses(reading, [packed.row for packed in rows], [packed.sources for packed in rows])
    return losses, batch, reading.scores


def _frames_at(phases: Sequence[Phase], step: int) -> int:
    for phase in phases:
        if step < phase.steps:
            return phase.frames
        step -= phase.steps
    return phases[-1].frames


def _see(tower: Any, rows: Sequence[Packed], cells: Cells) -> Seen:
    pixels = np.concatenate([packed.window.clip.pixels[list(packed.window.chosen)] for packed in rows])
    return see(tower, patches_of(torch.from_numpy(pixels), cells), cells)


def _labels(rows: Sequence[Packed], cells: Cells) -> CellLabels:
    found = [
        cell_labels(packed.window.clip.truth, moment.t_us, cells)
        for packed in rows
        for moment in packed.window.watched.moments
    ]
    return CellLabels(*(np.stack(column) for column in zip(*found, strict=True)))


def _apart(together: Seen, rows: Sequence[Packed], numbers: Sequence[int]) -> dict[int, Seen]:
    sizes = [len(rows[number].window.chosen) for number in numbers]
    pooled = together.pooled.split(sizes)
    deep = [layer.split(sizes) for layer in together.deep]
    return {number: Seen(pooled[at], tuple(layer[at] for layer in deep)) for at, number in enumerate(numbers)}
