"""How weights are changed: Muon for the matrices inside layers, AdamW for all else. Needs torch."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

_WARM_STEPS = 60
_COOL_SHARE = 0.5
_CLIP = 1.0


def share_of_rate(step: int, steps: int) -> float:
    """Return the share of the full learning rate: a short rise, a plain, a straight fall to a twentieth."""
    cooling = steps * _COOL_SHARE
    return min(1.0, (step + 1) / _WARM_STEPS, max(0.05, (steps - step) / cooling))


class Optimizers:
    """Both optimizers as one; ``step`` takes a loss and the share of the full rate."""

    def __init__(
        self, modules: Iterable[nn.Module], *, matrix_rate: float = 3e-3, other_rate: float = 1.5e-3
    ) -> None:
        named = [pair for module in modules for pair in module.named_parameters() if pair[1].requires_grad]
        matrices = [p for name, p in named if p.dim() == 2 and ("blocks." in name or "layers." in name)]
        chosen = {id(p) for p in matrices}
        others = [p for _, p in named if id(p) not in chosen]
        self._weights = [p for _, p in named]
        self._both: list[tuple[torch.optim.Optimizer, float]] = []
        if matrices:
            muon = torch.optim.Muon(
                matrices, lr=matrix_rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"
            )
            self._both.append((muon, matrix_rate))
        self._both.append(
            (torch.optim.AdamW(others, lr=other_rate, betas=(0.9, 0.98), weight_decay=0.01), other_rate)
        )

    def step(self, loss: Tensor, rate: float = 1.0) -> None:
        """Go one step down ``loss``."""
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._weights, _CLIP)
        for optimizer, full in self._both:
            for group in optimizer.param_groups:
                group["lr"] = full * rate
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict[str, Any]]:
        return [optimizer.state_dict() for optimizer, _ in self._both]

    def load_state_dict(self, state: list[dict[str, Any]]) -> None:
        for (optimizer, _), part in zip(self._both, state, strict=True):
            optimizer.load_state_dict(part)
