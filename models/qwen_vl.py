"""A Qwen-VL model itself: encode, prefill, step. Owned by the engine thread; needs torch and transformers.

Its own loop on the transformers model, not ``generate()``, because ``generate`` keeps the offset of rotary positions
in the model, where it belongs to a request, and knows neither stored features nor batches that answers join and leave.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import transformers
from safetensors import SafetensorError
from transformers.models.qwen3_vl.modeling_qwen3_vl import BaseModelOutputWithDeepstackFeatures
from transformers.utils import logging as quiet

from core.frames import BadFeatures, Features, FeatureType
from core.ids import RequestId
from models.chat import Rendered
from models.checkpoint import Checkpoint
from models.compute import Compute
from models.decoder import SamplingParams
from models.errors import ModelNotLoadable
from models.intake import Intake
from models.kv import KvRows, KvState
from models.pictures import PictureRules, Prepared
from models.prefix import Kept, KeptPrefixes
from models.sampling import Sampler

_STORED = {FeatureType.BF16: torch.bfloat16, FeatureType.F16: torch.float16}


@dataclass(slots=True)
class Answering:
    """One answer under way.

    Attributes:
        done: Prompt tokens computed so far, those from a kept state included.
        cached_tokens: Prompt tokens that came from a kept state.
        last_token: What the next step computes; None before the prompt is through.
        position: Rotary position of that token.
    """

    intake: Intake
    sampler: Sampler
    slot: int
    done: int
    cached_tokens: int
    position: int
    last_token: int | None = None


class QwenVL:
    """A loaded checkpoint. Every method but the constructor runs in the engine thread."""

    def __init__(self, checkpoint: Checkpoint, compute: Compute, *, kept_bytes: int) -> None:
        self._checkpoint = checkpoint
        self._compute = compute
        self._dtype = getattr(torch, compute.dtype)
        self._device = torch.device(compute.device)
        self._kept: KeptPrefixes[KvState] = KeptPrefixes(kept_bytes)
        self._model: Any = None  # transformers is untyped here
        self._rows: KvRows | None = None

    @property
    def kept_bytes(self) -> int:
        return self._kept.size_bytes

    @property
    def rows_bytes(self) -> int:
        return self._rows.size_bytes if self._rows else 0

    @property
    def token_bytes(self) -> int:
        """Return the bytes of attention state that one token takes."""
        return self._loaded_rows().token_bytes

    def load(self) -> None:
        """Load the weights and compute once, so that the first question finds everything ready.

        Raises ModelNotLoadable.
        """
        checkpoint = self._checkpoint
        quiet.disable_progress_bar()
        torch.set_num_threads(self._compute.threads)
        try:
            model, report = getattr(transformers, checkpoint.model_class).from_pretrained(
                checkpoint.folder,
                dtype=self._dtype,
                local_files_only=True,
                use_safetensors=True,
                attn_implementation="sdpa",
                output_loading_info=True,
            )
            model = model.to(self._device).eval()
        except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
            first_line = str(error).strip().splitlines()[:1] or [type(error).__name__]
            raise ModelNotLoadable(checkpoint.name, first_line[0]) from error
        if missing := sorted(report["missing_keys"]):
            raise ModelNotLoadable(checkpoint.name, f"weights are missing: {', '.join(missing[:3])}")
        text = model.config.text_config
        if "sliding_attention" in (getattr(text, "layer_types", None) or ()):
            raise ModelNotLoadable(checkpoint.name, "its text model has sliding attention; use --model-url")
        self._model = model
        self._rows = KvRows(
            layers=text.num_hidden_layers,
            heads=text.num_key_value_heads,
            dim=getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads,
            dtype=self._dtype,
            device=self._device,
        )
        with torch.inference_mode():
            self._warm()

    def encode(self, batch: Sequence[Prepared]) -> list[Features | BadFeatures]:
        """Return each picture's features, in order; BadFeatures where the encoder made no finite numbers."""
        with torch.inference_mode():
            return encode_pictures(self._model, batch, self._checkpoint, device=self._device)

    def open(self, intake: Intake, sampling: SamplingParams, request_id: RequestId) -> Answering:
        """Begin an answer, from the kept state that saves most."""
        prompt = intake.rendered
        found = self._kept.find(prompt)
        done = found.tokens if found else 0
        tokens = prompt.tokens + sampling.max_tokens
        slot = self._loaded_rows().open(tokens, found.state if found else None, done)
        sampler = Sampler(sampling, request_id)
        return Answering(intake, sampler, slot, done=done, cached_tokens=done, position=prompt.next_position)

    def prefill(self, answering: Answering, tokens: int) -> int | None:
        """Compute up to ``tokens`` more of the prompt; return the answer's first token when it is through."""
        with torch.inference_mode():
            return self._prefill(answering, tokens)

    def _prefill(self, answering: Answering, tokens: int) -> int | None:
        prompt = answering.intake.rendered
        start, end = answering.done, min(answering.done + tokens, prompt.tokens)
        answering.done = end
        last = end == prompt.tokens
        output = self._model(
            input_ids=torch.from_numpy(prompt.ids[None, start:end]).to(self._device),
            position_ids=self._positions(prompt, start, end),
            past_key_values=self._loaded_rows().chunk(answering.slot, end - start),
            use_cache=True,
            logits_to_keep=1,
            mm_encoder_outputs=self._pictures(answering.intake, start, end),
        )
        if not last:
            return None
        self._keep(answering)
        answering.last_token = answering.sampler.choose(output.logits[0, -1])
        return answering.last_token

    def step(self, batch: Sequence[Answering]) -> list[int]:
        """Compute the last token of each answer and return the next one of each, in the order given."""
        with torch.inference_mode():
            return self._step(batch)

    def _step(self, batch: Sequence[Answering]) -> list[int]:
        cache = self._loaded_rows().step([answering.slot for answering in batch])
        by_slot = {answering.slot: answering for answering in batch}
        ordered = [by_slot[slot] for slot in cache.slots]
        rotary = torch.tensor([answering.position for answering in ordered])
        positions = torch.stack([torch.tensor(cache.starts), rotary, rotary, rotary])[:, :, None]
        output = self._model(
            input_ids=torch.tensor([[answering.last_token] for answering in ordered], device=self._device),
            position_ids=positions.to(self._device),
            attention_mask=cache.mask(),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits = output.logits[:, -1]
        greedy = logits.argmax(dim=-1).tolist()
        for row, answering in enumerate(ordered):
            sampler = answering.sampler
            answering.last_token = greedy[row] if sampler.greedy else sampler.choose(logits[row])
            answering.position += 1
        return [answering.last_token for answering in batch if answering.last_token is not None]

    def close(self, answering: Answering) -> None:
        """Free an answer's attention state."""
        self._loaded_rows().close(answering.slot)

    def trim(self) -> None:
        """Give the kept states' memory back."""
        self._kept.clear()

    def forget(self) -> None:
        """Drop all attention state, running and kept."""
        self._kept.clear()
        if self._rows is not None:
            self._rows.clear()

    def _loaded_rows(self) -> KvRows:
        assert self._rows is not None, "the model is not loaded"
        return self._rows

    def _positions(self, prompt: Rendered, start: int, end: int) -> torch.Tensor:
        """Return positions as the text model takes them, shape (4, 1, n): index in the row, then the rotary three."""
        index = np.arange(start, end, dtype=np.int64)[None]
        return torch.from_numpy(np.concatenate([index, prompt.positions[:, start:end]])[:, None]).to(
            self._device
        )

    def _pictures(self, intake: Intake, start: int, end: int) -> dict[str, Any] | None:
        """Return the features of the image tokens in ``[start, end)``, as the model's own encoder would."""
        pooled: list[torch.Tensor] = []
        width = self._model.config.text_config.hidden_size
        layers = self._checkpoint.feature_width // width - 1
        deep: list[list[torch.Tensor]] = [[] for _ in range(layers)]
        for frame, features in zip(intake.rendered.frames, intake.features, strict=True):
            first, last = max(start, frame.start) - frame.start, min(end, frame.end) - frame.start
            if first >= last:
                continue
            values = self._values(features, first, last)
            pooled.append(values[:, :width])
            for layer, pieces in enumerate(deep, start=1):
                pieces.append(values[:, layer * width : (layer + 1) * width])
        if not pooled:
            return None  # with an empty list the model would look for image tokens that are not there
        output = BaseModelOutputWithDeepstackFeatures(
            pooler_output=tuple(pooled), deepstack_features=[tuple(pieces) for pieces in deep]
        )
        return {"image": output}

    def _values(self, features: Features, first: int, last: int) -> torch.Tensor:
        """Return some of a frame's tokens in the model's number type; not by way of memory where they lie on its device."""
        stored = _STORED[features.dtype]
        there = features.far.on(str(self._device)) if features.far is not None else None
        if there is not None:
            return there.view(stored).view(features.shape)[first:last].to(self._dtype)
        bits = torch.from_numpy(features.bits()[first:last].astype(np.uint16).view(np.int16))
        return bits.to(self._device).view(stored).to(self._dtype)

    def _keep(self, answering: Answering) -> None:
        """Keep the frames' part of the attention state for the next question about them."""
        prompt, rows = answering.intake.rendered, self._loaded_rows()
        size_bytes = prompt.stem * rows.token_bytes
        if self._kept.wants(prompt, prompt.stem, size_bytes):
            state = rows.copy(answering.slot, prompt.stem)
            self._kept.keep(Kept(prompt, prompt.stem, state, size_bytes))

    def _warm(self) -> None:
        """Run every kind of step once: libraries choose and build their kernels on first use."""
        self.encode([warming_picture(self._checkpoint.pictures)])
        rows = self._loaded_rows()
        slot = rows.open(16)
        ids = torch.zeros((1, 8), dtype=torch.int64, device=self._device)
        self._model(input_ids=ids, past_key_values=rows.chunk(slot, 8), use_cache=True, logits_to_keep=1)
        step = rows.step([slot])
        self._model(input_ids=ids[:, :1], past_key_values=step, use_cache=True, logits_to_keep=1)
        rows.close(slot)


def encode_pictures(
    model: Any,  # transformers is untyped here
    batch: Sequence[Prepared],
    checkpoint: Checkpoint,
    *,
    device: torch.device,
) -> list[Features | BadFeatures]:
    """Return each picture's features, in order; BadFeatures where the encoder made no finite numbers."""
    pixels = torch.from_numpy(np.concatenate([picture.pixels for picture in batch])).to(device, model.dtype)
    grids = torch.tensor([picture.grid for picture in batch], device=device)
    seen = model.model.get_image_features(pixels, grids)
    deep = getattr(seen, "deepstack_features", None) or ()
    found: list[Features | BadFeatures] = []
    for number, picture in enumerate(batch):
        columns = [seen.pooler_output[number], *(layer[number] for layer in deep)]
        stored = torch.cat(columns, dim=1).to(_STORED[checkpoint.feature_type]).contiguous().cpu()
        try:
            found.append(_features(stored, picture.grid, checkpoint))
        except BadFeatures as error:
            found.append(error)
    return found


def warming_picture(rules: PictureRules) -> Prepared:
    """Return a small black picture, for the encoder's first call."""
    side = 2 * rules.merge
    values = 3 * rules.temporal * rules.patch_px**2
    return Prepared(np.zeros((side * side, values), np.float32), (1, side, side))


def _features(stored: torch.Tensor, grid: tuple[int, int, int], checkpoint: Checkpoint) -> Features:
    return Features(
        data=stored.view(torch.int16).numpy().astype("<i2", copy=False).tobytes(),
        dtype=checkpoint.feature_type,
        shape=(int(stored.shape[0]), int(stored.shape[1])),
        grid=grid,
        encoder_version=checkpoint.encoder_version,
    )
