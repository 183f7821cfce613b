"""The attention state of all running answers: one row each in shared blocks of memory, and copies that are kept.

A row is filled from its start and never padded: every answer has its own length, and a batched step writes each
row at its own end and masks what lies beyond. That spares left padding, which would have to move whole rows when
answers join or leave. Belongs to the engine thread; needs torch.
"""

from collections.abc import Sequence

import torch

GRANULE_TOKENS = 256
"""Blocks grow by whole granules, so that they are copied seldom."""


class KvState:
    """A copy of the first tokens of a row: per layer keys and values, shape (heads, tokens, dim)."""

    def __init__(self, layers: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
        self.layers = layers


class KvRows:
    """Rows of keys and values. ``slot`` names an answer; where its row lies is this class's own business."""

    def __init__(
        self, *, layers: int, heads: int, dim: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        self._shape = (layers, heads, dim)
        self._dtype, self._device = dtype, device
        self._keys: list[torch.Tensor] = []
        self._values: list[torch.Tensor] = []
        self._rows, self._capacity = 0, 0
        self._slots: list[int] = []  # slot of each row in use; rows in use are 0 .. len - 1
        self._used: dict[int, int] = {}  # tokens in use of each slot
        self._room: dict[int, int] = {}  # tokens each slot may come to use
        self._next_slot = 0

    @property
    def token_bytes(self) -> int:
        """Return the bytes of one token of one row."""
        layers, heads, dim = self._shape
        return 2 * layers * heads * dim * int(self._dtype.itemsize)

    @property
    def size_bytes(self) -> int:
        """Return the bytes allocated."""
        return self._rows * self._capacity * self.token_bytes

    def __len__(self) -> int:
        return len(self._slots)

    def open(self, tokens: int, state: KvState | None = None, state_tokens: int = 0) -> int:
        """Return a new slot with room for ``tokens``, beginning with a copy of a kept state's first tokens."""
        self._grow(len(self._slots) + 1, tokens)
        slot, row = self._next_slot, len(self._slots)
        self._next_slot += 1
        self._slots.append(slot)
        self._used[slot] = state_tokens
        self._room[slot] = tokens
        if state is not None:
            for layer, (keys, values) in enumerate(state.layers):
                self._keys[layer][row, :, :state_tokens] = keys[:, :state_tokens]
                self._values[layer][row, :, :state_tokens] = values[:, :state_tokens]
        return slot

    def close(self, slot: int) -> None:
        """Free a slot; the last row moves into its place. Memory goes back when no row is left."""
        row, last = self._slots.index(slot), len(self._slots) - 1
        if row != last:
            self._copy_row(last, row, self._used[self._slots[last]])
            self._slots[row] = self._slots[last]
        self._slots.pop()
        del self._used[slot], self._room[slot]
        if not self._slots:
            self.clear()

    def clear(self) -> None:
        """Forget every row and give the memory back."""
        self._keys, self._values = [], []
        self._rows, self._capacity = 0, 0
        self._slots.clear()
        self._used.clear()
        self._room.clear()

    def copy(self, slot: int, tokens: int) -> KvState:
        """Return a copy of a slot's first tokens."""
        row = self._slots.index(slot)
        return KvState(
            [
                (keys[row, :, :tokens].clone(), values[row, :, :tokens].clone())
                for keys, values in zip(self._keys, self._values, strict=True)
            ]
        )

    def chunk(self, slot: int, tokens: int) -> "ChunkCache":
        """Return what the model writes ``tokens`` more tokens of one slot through."""
        start = self._used[slot]
        self._used[slot] = start + tokens
        return ChunkCache(self._keys, self._values, self._slots.index(slot), start, tokens)

    def step(self, slots: Sequence[int]) -> "StepCache":
        """Return what the model writes one more token of each slot through; ``slots`` get rows side by side.

        Its batch order is ``StepCache.slots``, not the order given.
        """
        self._gather(slots)
        order = self._slots[: len(slots)]
        starts = [self._used[slot] for slot in order]
        for slot in order:
            self._used[slot] += 1
        return StepCache(self._keys, self._values, order, starts)

    def _gather(self, slots: Sequence[int]) -> None:
        """Swap rows until the given slots have the first ones."""
        wanted = set(slots)
        outside = [row for row in range(len(slots), len(self._slots)) if self._slots[row] in wanted]
        for row in range(len(slots)):
            if self._slots[row] not in wanted:
                self._swap(row, outside.pop())

    def _swap(self, one: int, other: int) -> None:
        tokens = max(self._used[self._slots[one]], self._used[self._slots[other]])
        for block in (*self._keys, *self._values):
            held = block[one, :, :tokens].clone()
            block[one, :, :tokens] = block[other, :, :tokens]
            block[other, :, :tokens] = held
        self._slots[one], self._slots[other] = self._slots[other], self._slots[one]

    def _copy_row(self, source: int, target: int, tokens: int) -> None:
        for block in (*self._keys, *self._values):
            block[target, :, :tokens] = block[source, :, :tokens]

    def _grow(self, rows: int, tokens: int) -> None:
        if rows <= self._rows and tokens <= self._capacity:
            return
        rows = max(self._rows, 1 << (rows - 1).bit_length())
        # The longest row may have ended long ago: what is copied anyway is cut to what is needed now.
        needed = max(tokens, *self._room.values(), 1)
        capacity = -(-needed // GRANULE_TOKENS) * GRANULE_TOKENS
        layers, heads, dim = self._shape
        used_rows, used_tokens = len(self._slots), max(self._used.values(), default=0)
        for blocks in (self._keys, self._values):
            for layer in range(layers):
                # Zeros: what lies beyond a row's end is masked, but not-a-number times zero would still spoil it.
                block = torch.zeros((rows, heads, capacity, dim), dtype=self._dtype, device=self._device)
                if layer < len(blocks):
                    block[:used_rows, :, :used_tokens] = blocks[layer][:used_rows, :, :used_tokens]
                    blocks[layer] = block
                else:
                    blocks.append(block)
        self._rows, self._capacity = rows, capacity


class _Cache:
    """What transformers asks of a cache besides ``update``: where new tokens begin, and where they end."""

    _start: int
    _end: int

    def get_seq_length(self, layer: int = 0) -> int:  # noqa: ARG002 - transformers' form
        return self._start

    def get_query_offset(self, layer: int = 0) -> int:  # noqa: ARG002
        return self._start

    def get_mask_sizes(self, tokens: int, layer: int = 0) -> tuple[int, int]:  # noqa: ARG002
        return self._end, 0


class ChunkCache(_Cache):
    """Stands where transformers expects a cache, while some tokens of one row are computed."""

    def __init__(
        self, keys: list[torch.Tensor], values: list[torch.Tensor], row: int, start: int, tokens: int
    ) -> None:
        self._keys, self._values = keys, values
        self._row, self._start, self._end = row, start, start + tokens

    def update(self, key: torch.Tensor, value: torch.Tensor, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Write (1, heads, tokens, dim) at the row's end; return the whole row."""
        row, start, end = self._row, self._start, self._end
        self._keys[layer][row, :, start:end] = key[0]
        self._values[layer][row, :, start:end] = value[0]
        return self._keys[layer][row : row + 1, :, :end], self._values[layer][row : row + 1, :, :end]


class StepCache(_Cache):
    """Stands where transformers expects a cache, while one token of each of several rows is computed.

    Attributes:
        slots: The batch, in order.
        starts: The tokens each row had before this step.
    """

    def __init__(
        self, keys: list[torch.Tensor], values: list[torch.Tensor], slots: list[int], starts: list[int]
    ) -> None:
        self.slots, self.starts = slots, starts
        self._keys, self._values = keys, values
        self._start, self._end = max(starts), max(starts) + 1
        device = keys[0].device
        self._rows = torch.arange(len(slots), device=device)
        self._at = torch.tensor(starts, device=device)

    def mask(self) -> torch.Tensor | None:
        """Return which keys each row sees, shape (batch, 1, 1, keys); None where all rows are equally long."""
        if len(set(self.starts)) == 1:
            return None
        return (torch.arange(self._end, device=self._at.device) <= self._at[:, None])[:, None, None, :]

    def update(self, key: torch.Tensor, value: torch.Tensor, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Write (batch, heads, 1, dim) at each row's own end; return all rows up to the longest."""
        self._keys[layer][self._rows, :, self._at] = key[:, :, 0]
        self._values[layer][self._rows, :, self._at] = value[:, :, 0]
        batch = len(self.slots)
        return self._keys[layer][:batch, :, : self._end], self._values[layer][:batch, :, : self._end]
