"""How much memory an engine takes at its peak, by arithmetic alone. Pure: a shape and a load in, bytes out.

    total = weights + attention state (KV) + activations + buffers + runtime

Weights, KV and buffers follow from the configuration and are exact; activations are what a step needs beside them,
counted from the largest tensors that live at once; the runtime (GPU context, graphs, libraries) is a given number.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from models.plan_shape import ModelShape, TextShape, VisionShape


class NumberType(StrEnum):
    """A number type of weights or of attention state."""

    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"

    @property
    def size_bytes(self) -> int:
        """Return the bytes of one number."""
        return {"fp32": 4, "fp16": 2, "bf16": 2}.get(self.value, 1)


LARGEST_PICTURE_TOKENS = 16_384
"""Vision tokens of the largest picture that the processors of the Qwen-VL family take as they come: 12,845,056 pixels
at 28² a token, 16,777,216 at 32². vLLM sizes its encoder cache and its start-up profile by it."""


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """What an engine has to hold at its peak.

    Attributes:
        questions: Answers under way at once.
        context_tokens: Prompt and answer of one of them, at most.
        batch_tokens: Prompt tokens computed in one step (vLLM: ``max_num_batched_tokens``); the default is that of
            ``livelens decoder`` for a whole model on a GPU.
        block_tokens: Attention state is given out in blocks of so many tokens (vLLM: 16 on a GPU, 128 on a CPU).
        weights, kv: Number types; at 8 bits only the matrices of the text model's layers shrink.
        picture_tokens: Vision tokens of the largest picture the engine may have to encode; 0 where it never does.
        runtime_bytes: Taken by the GPU's context, graphs and libraries. Assumed, not derived.
    """

    questions: int
    context_tokens: int
    batch_tokens: int = 8_192
    block_tokens: int = 16
    weights: NumberType = NumberType.BF16
    kv: NumberType = NumberType.BF16
    picture_tokens: int = LARGEST_PICTURE_TOKENS
    runtime_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        for name in ("questions", "context_tokens", "batch_tokens", "block_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("picture_tokens", "runtime_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class EngineMemory:
    """Bytes at the peak. ``kv_token_bytes`` is the attention state of one token, ``kv_bytes`` that of the load."""

    weights_bytes: int
    kv_token_bytes: int
    kv_question_bytes: int
    kv_bytes: int
    activation_bytes: int
    buffer_bytes: int
    runtime_bytes: int

    @property
    def fixed_bytes(self) -> int:
        """Return what is taken however many questions there are."""
        return self.weights_bytes + self.activation_bytes + self.buffer_bytes + self.runtime_bytes

    @property
    def total_bytes(self) -> int:
        """Return everything together."""
        return self.fixed_bytes + self.kv_bytes

    def questions_in(self, memory_bytes: int) -> int:
        """Return how many questions of the load's size fit at once into ``memory_bytes``; 0 if not even one."""
        return max(0, memory_bytes - self.fixed_bytes) // self.kv_question_bytes


def engine_memory(shape: ModelShape, load: EngineLoad) -> EngineMemory:
    """Return what an engine with the whole checkpoint takes at the peak of ``load``."""
    token = kv_token_bytes(shape.text, load.kv)
    question = ceil(load.context_tokens / load.block_tokens) * load.block_tokens * token
    return EngineMemory(
        weights_bytes=weights_bytes(shape, load.weights),
        kv_token_bytes=token,
        kv_question_bytes=question,
        kv_bytes=question * load.questions,
        activation_bytes=activation_bytes(shape, load),
        buffer_bytes=buffer_bytes(shape, load),
        runtime_bytes=load.runtime_bytes,
    )


def kv_token_bytes(text: TextShape, kv: NumberType) -> int:
    """Return the attention state of one token: 2 × layers × KV heads × head_dim × bytes.

    Source: grouped-query attention, arXiv 2305.13245; keys and values are stored per KV head, not per query head.
    """
    return text.kv_values() * kv.size_bytes


def weights_bytes(shape: ModelShape, weights: NumberType) -> int:
    """Return the bytes of all weights. At 8 bits the tower, embeddings and norms stay at 16."""
    if weights.size_bytes > 1:
        return shape.weights() * weights.size_bytes
    shrunk = layer_matrices(shape.text)
    return shrunk + (shape.weights() - shrunk) * NumberType.BF16.size_bytes


def layer_matrices(text: TextShape) -> int:
    """Return the weights in matrices of the text model's layers: what 8-bit quantisation shrinks."""
    queries, keys = text.heads * text.head_dim, text.kv_heads * text.head_dim
    attention = text.layers * (text.hidden * (queries + 2 * keys) + queries * text.hidden)
    dense = text.layers - (text.experts.layers if text.experts else 0)
    wide = dense * 3 * text.hidden * text.intermediate
    if text.experts:
        wide += text.experts.layers * text.experts.count * 3 * text.hidden * text.experts.intermediate
    return attention + wide


def activation_bytes(shape: ModelShape, load: EngineLoad) -> int:
    """Return the largest of what a prefill step, its choice of tokens, and the tower need beside the weights.

    They follow one another, so they share the same memory. Attention is computed in pieces that never hold all
    scores at once (FlashAttention, arXiv 2205.14135), so no term grows with the square of the length.
    """
    return max(
        _step_bytes(shape.text, load),
        _choice_bytes(shape.text, load),
        tower_bytes(shape.vision, load.picture_tokens) if load.picture_tokens else 0,
    )


def buffer_bytes(shape: ModelShape, load: EngineLoad) -> int:
    """Return what is held for features on their way in.

    The encoder cache (tokens of a batch, or of one largest picture, each ``feature_width`` wide), and the input
    rows of a step: the embedded prompt and one copy per DeepStack layer.
    Source: vLLM, ``compute_mm_encoder_budget`` and ``deepstack_input_embeds``.
    """
    value = NumberType.BF16.size_bytes
    cache = max(load.batch_tokens, load.picture_tokens) * shape.feature_width * value
    return cache + load.batch_tokens * shape.feature_width * value


def tower_bytes(vision: VisionShape, picture_tokens: int) -> int:
    """Return what the tower needs for pictures of so many vision tokens, beside its weights.

    Pixels arrive as fp32 and as 16-bit values. Whoever runs the layers holds learned positions, angles (fp32) and a
    layer's input; the layer the sum so far, the normed sum and, whichever is more, queries, keys, values with their
    rotated copies, or both sides of the wide layer.
    """
    patches = picture_tokens * vision.merge**2
    value = NumberType.BF16.size_bytes
    pixels = vision.channels * vision.temporal * vision.patch_px**2 * (NumberType.FP32.size_bytes + value)
    wide = (3 if vision.gated else 2) * vision.intermediate
    held = (4 if vision.positions else 3) * vision.hidden
    angles = 2 * (vision.hidden // vision.heads) * NumberType.FP32.size_bytes
    layer = (held + max(6 * vision.hidden, wide)) * value + angles
    found = (1 + vision.deepstack) * vision.out_hidden * value // vision.merge**2
    return patches * (pixels + layer + found)


def _step_bytes(text: TextShape, load: EngineLoad) -> int:
    """A layer's input twice (embedded, and summed so far), normed and found; and its wider half."""
    queries, keys = text.heads * text.head_dim, text.kv_heads * text.head_dim
    attention = 2 * (queries + 2 * keys) + queries
    wide = 3 * text.intermediate
    if text.experts:  # each token goes through several; their outputs wait to be summed
        wide = text.experts.used * (3 * text.experts.intermediate + text.hidden)
    each = 4 * text.hidden + max(attention, wide)
    return load.batch_tokens * each * NumberType.BF16.size_bytes


def _choice_bytes(text: TextShape, load: EngineLoad) -> int:
    """Scores of the whole vocabulary, one row per answer: as computed, as fp32, and as probabilities."""
    row = text.vocabulary * (NumberType.BF16.size_bytes + 2 * NumberType.FP32.size_bytes)
    return load.questions * row + load.batch_tokens * text.hidden * NumberType.BF16.size_bytes
