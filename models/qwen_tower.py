"""The vision tower of a Qwen-VL model alone, for a process whose words come from elsewhere. Needs torch and transformers.

It encodes exactly as the whole model does, for it is that model, loaded without layers of text.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

import torch
import transformers
from safetensors import SafetensorError
from transformers.utils import logging as quiet

from core.frames import BadFeatures, Features
from models.checkpoint import Checkpoint
from models.compute import Compute
from models.errors import ModelNotLoadable
from models.pictures import Prepared
from models.qwen_vl import encode_pictures, warming_picture

_FEW_WORDS = 8


class QwenTower:
    """A loaded tower, as the engine drives it (``models.engine_loop.Runner``). It answers nothing."""

    kept_bytes = 0
    rows_bytes = 0
    token_bytes = 1  # a limit is divided by it

    def __init__(self, checkpoint: Checkpoint, compute: Compute) -> None:
        self._checkpoint = checkpoint
        self._compute = compute
        self._device = torch.device(compute.device)
        self._model: Any = None  # transformers is untyped here

    def load(self) -> None:
        """Load the weights of the tower and encode once. Raises ModelNotLoadable."""
        checkpoint = self._checkpoint
        quiet.disable_progress_bar()
        torch.set_num_threads(self._compute.threads)
        verbosity = quiet.get_verbosity()
        quiet.set_verbosity_error()  # it would tell of every weight that is left out
        try:
            model, report = getattr(transformers, checkpoint.model_class).from_pretrained(
                checkpoint.folder,
                config=_without_text(transformers.AutoConfig.from_pretrained(checkpoint.folder)),
                dtype=getattr(torch, self._compute.dtype),
                local_files_only=True,
                use_safetensors=True,
                ignore_mismatched_sizes=True,
                attn_implementation="sdpa",
                output_loading_info=True,
            )
            self._model = model.to(self._device).eval()
        except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
            first_line = str(error).strip().splitlines()[:1] or [type(error).__name__]
            raise ModelNotLoadable(checkpoint.name, first_line[0]) from error
        finally:
            quiet.set_verbosity(verbosity)
        if missing := sorted(name for name in report["missing_keys"] if "visual" in name):
            raise ModelNotLoadable(checkpoint.name, f"weights are missing: {', '.join(missing[:3])}")
        self.encode([warming_picture(checkpoint.pictures)])

    def encode(self, batch: Sequence[Prepared]) -> list[Features | BadFeatures]:
        """Return each picture's features, in order; BadFeatures where the encoder made no finite numbers."""
        with torch.inference_mode():
            return encode_pictures(self._model, batch, self._checkpoint, device=self._device)

    def open(self, *_: object, **__: object) -> NoReturn:
        """Refuse: a tower alone answers nothing."""
        raise RuntimeError("a tower alone answers nothing")

    prefill = step = open

    def close(self, *_: object, **__: object) -> None:
        """Nothing is held."""

    def trim(self) -> None:
        """Nothing is kept."""

    def forget(self) -> None:
        """Nothing is remembered."""


def _without_text(config: Any) -> Any:
    """Return a configuration whose text model has no layers and next to no vocabulary."""
    text = config.get_text_config()
    text.num_hidden_layers = 0
    text.vocab_size = _FEW_WORDS
    for name in ("pad_token_id", "bos_token_id", "eos_token_id"):
        setattr(text, name, None)
    if getattr(text, "layer_types", None):
        text.layer_types = []
    return config
