"""How the next token is chosen from the model's scores. Needs torch."""

import hashlib

import torch

from core.ids import RequestId
from models.decoder import SamplingParams


class Sampler:
    """Chooses tokens for one answer: greedy, or by chance with a seed of its own, so that no batch changes it."""

    def __init__(self, sampling: SamplingParams, request_id: RequestId) -> None:
        self.greedy = sampling.temperature <= 0
        self._temperature = sampling.temperature
        self._top_p = sampling.top_p
        self._chance = torch.Generator()
        if not self.greedy:
            self._chance.manual_seed(_seed(request_id) if sampling.seed is None else sampling.seed)

    def choose(self, scores: torch.Tensor) -> int:
        """Return a token id for scores of shape (vocabulary,)."""
        if self.greedy:
            return int(scores.argmax())
        shares = torch.softmax(scores.float().cpu() / self._temperature, dim=-1)
        if self._top_p < 1:
            shares = _likeliest(shares, self._top_p)
        return int(torch.multinomial(shares, 1, generator=self._chance))


def _likeliest(shares: torch.Tensor, top_p: float) -> torch.Tensor:
    """Return shares without the unlikeliest tokens that ``top_p`` can do without; the likeliest always stays."""
    sorted_shares, order = shares.sort(descending=True)
    before = sorted_shares.cumsum(dim=-1) - sorted_shares
    kept = torch.zeros_like(shares)
    needed = before < top_p
    needed[0] = True
    kept[order[needed]] = sorted_shares[needed]
    return kept


def _seed(request_id: RequestId) -> int:
    return int.from_bytes(hashlib.blake2b(request_id.encode(), digest_size=7).digest())
