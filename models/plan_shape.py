"""The shape of a Qwen-VL checkpoint, read from its ``config.json`` alone, and the weights that shape has. Pure.

    config.json (a mapping) ──shape_of──▶ ModelShape(TextShape, VisionShape) ──▶ weights, bytes a token, features

Counts are exact: they equal the parameters that transformers makes for the same configuration (tested, all four
families). Nothing of a checkpoint but its configuration is needed, so that a model can be planned for before it is
fetched.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from models.checkpoint import FAMILIES
from models.errors import ModelNotLoadable

Config = Mapping[str, object]  # JSON: checked value by value as it is read

_GATED_TOWERS = frozenset({"qwen2_5_vl"})
_POSITIONED_TOWERS = frozenset({"qwen3_vl", "qwen3_vl_moe"})
_QWEN3 = frozenset({"qwen3_vl", "qwen3_vl_moe"})


@dataclass(frozen=True, slots=True)
class Experts:
    """A mixture of experts in place of one wide layer: ``count`` of them, ``used`` for each token."""

    count: int
    used: int
    intermediate: int
    layers: int


@dataclass(frozen=True, slots=True)
class TextShape:
    """The text model.

    Attributes:
        kv_heads: Heads that keys and values have; fewer than ``heads`` where queries share them.
        biased: Queries, keys and values have a bias. ``normed``: queries and keys are normalised by head.
        tied: The output layer is the embedding itself.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    context_tokens: int
    biased: bool
    normed: bool
    tied: bool
    experts: Experts | None = None

    def weights(self) -> int:
        """Return how many weights the text model has, embedding and output layer included."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = self.hidden * (queries + 2 * keys) + queries * self.hidden
        attention += queries + 2 * keys if self.biased else 0
        attention += 2 * self.head_dim if self.normed else 0
        wide = 3 * self.hidden * self.intermediate
        total = self.layers * (attention + 2 * self.hidden)
        if self.experts is None:
            total += self.layers * wide
        else:
            expert = 3 * self.hidden * self.experts.intermediate
            total += self.experts.layers * self.experts.count * (expert + self.hidden)
            total += (self.layers - self.experts.layers) * wide
        embedding = self.vocabulary * self.hidden
        return total + embedding * (1 if self.tied else 2) + self.hidden

    def kv_values(self) -> int:
        """Return the numbers of attention state that one token takes: keys and values of every layer."""
        return 2 * self.layers * self.kv_heads * self.head_dim


@dataclass(frozen=True, slots=True)
class VisionShape:
    """The vision tower.

    Attributes:
        gated: Its layers are gated (three matrices) and normalised without bias, as in Qwen2.5-VL.
        positions: Learned positions; 0 where it has rotary ones only.
        merge: So many patches a side become one vision token.
        deepstack: Layers whose output goes into the text model beside the last one's.
        patch_biased: The layer that reads patches has a bias.
    """

    depth: int
    hidden: int
    intermediate: int
    heads: int
    patch_px: int
    temporal: int
    merge: int
    out_hidden: int
    positions: int
    deepstack: int
    gated: bool
    patch_biased: bool
    channels: int = 3

    def weights(self) -> int:
        """Return how many weights the tower has, mergers included."""
        hidden, wide = self.hidden, self.intermediate
        patch = self.channels * self.temporal * self.patch_px**2 * hidden + (
            hidden if self.patch_biased else 0
        )
        attention = hidden * 3 * hidden + 3 * hidden + hidden * hidden + hidden
        if self.gated:
            block = attention + 3 * hidden * wide + 2 * wide + hidden + 2 * hidden
        else:
            block = attention + 2 * hidden * wide + wide + hidden + 4 * hidden
        norm = 1 if self.gated else 2
        total = patch + self.positions * hidden + self.depth * block
        return total + self._merger(norm * hidden) + self.deepstack * self._merger(norm * self._merged)

    @property
    def _merged(self) -> int:
        return self.hidden * self.merge**2

    def _merger(self, norm: int) -> int:
        first = self._merged * self._merged + self._merged
        return norm + first + self._merged * self.out_hidden + self.out_hidden


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A whole checkpoint. ``weights_type`` is the number type its weights are stored in."""

    name: str
    family: str
    text: TextShape
    vision: VisionShape
    weights_type: str

    @property
    def feature_width(self) -> int:
        """Return the columns of its features: hidden × (1 + DeepStack layers)."""
        return self.text.hidden * (1 + self.vision.deepstack)

    def weights(self) -> int:
        """Return how many weights it has, tower included."""
        return self.text.weights() + self.vision.weights()


def shape_of(config: Config, name: str) -> ModelShape:
    """Return the shape that a configuration describes.

    Args:
        config: What ``config.json`` holds.
        name: What errors call the model.
    Raises:
        ModelNotLoadable: a type that livelens does not run, or a value that is missing or makes no sense.
    """
    family = config.get("model_type")
    if not isinstance(family, str) or family not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise ModelNotLoadable(name, f"its type is {family!r}; livelens plans for {known}")
    vision = config.get("vision_config")
    if not isinstance(vision, Mapping):
        raise ModelNotLoadable(name, "config.json has no vision_config")
    # Older configurations have the text model's values on their first level.
    nested = config.get("text_config")
    text = nested if isinstance(nested, Mapping) else config
    top, inner, tower = (
        _Values(name, config, ""),
        _Values(name, text, "text_config."),
        _Values(name, vision, "vision_config."),
    )
    shape = _text(inner, family, tied=top.flag("tie_word_embeddings", inner.flag("tie_word_embeddings")))
    stored = [values.word(key) for values in (top, inner) for key in ("dtype", "torch_dtype")]
    return ModelShape(
        name=name,
        family=family,
        text=shape,
        vision=_vision(tower, family, shape.hidden),
        weights_type=next((word for word in stored if word), "float32"),
    )


def _text(values: "_Values", family: str, *, tied: bool) -> TextShape:
    hidden, heads = values.number("hidden_size"), values.number("num_attention_heads")
    layers = values.number("num_hidden_layers")
    head_dim = values.number("head_dim", hidden // heads)
    kv_heads = values.number("num_key_value_heads", heads)
    if heads % kv_heads:
        values.refuse(f"num_key_value_heads = {kv_heads} does not divide num_attention_heads = {heads}")
    if values.flag("use_sliding_window"):
        values.refuse("use_sliding_window: sliding attention is not planned for")
    return TextShape(
        layers=layers,
        hidden=hidden,
        intermediate=values.number("intermediate_size"),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=values.number("vocab_size"),
        context_tokens=values.number("max_position_embeddings", 32_768),
        biased=values.flag("attention_bias") if family in _QWEN3 else True,
        normed=family in _QWEN3,
        tied=tied,
        experts=_experts(values, layers) if family == "qwen3_vl_moe" else None,
    )


def _experts(values: "_Values", layers: int) -> Experts:
    step = values.number("decoder_sparse_step", 1)
    dense = values.numbers("mlp_only_layers")
    sparse = [layer for layer in range(layers) if (layer + 1) % step == 0 and layer not in dense]
    return Experts(
        # transformers 5 writes it under another name.
        count=values.number("num_experts" if "num_experts" in values.found else "num_local_experts"),
        used=values.number("num_experts_per_tok"),
        intermediate=values.number("moe_intermediate_size"),
        layers=len(sparse),
    )


def _vision(values: "_Values", family: str, text_hidden: int) -> VisionShape:
    # Qwen2-VL calls the tower's own width embed_dim, and the text model's hidden_size.
    first = family == "qwen2_vl"
    hidden = values.number("embed_dim" if first else "hidden_size")
    intermediate = (
        round(hidden * values.ratio("mlp_ratio", 4.0)) if first else values.number("intermediate_size")
    )
    out = values.number("hidden_size" if first else "out_hidden_size", text_hidden)
    if out != text_hidden:
        values.refuse(f"its tokens are {out} wide, the text model's {text_hidden}")
    return VisionShape(
        depth=values.number("depth"),
        hidden=hidden,
        intermediate=intermediate,
        heads=values.number("num_heads"),
        patch_px=values.number("patch_size"),
        temporal=values.number("temporal_patch_size", 2),
        merge=values.number("spatial_merge_size", 2),
        out_hidden=out,
        positions=values.number("num_position_embeddings") if family in _POSITIONED_TOWERS else 0,
        deepstack=len(values.numbers("deepstack_visual_indexes")),
        gated=family in _GATED_TOWERS,
        patch_biased=family in _POSITIONED_TOWERS,
    )


@dataclass(frozen=True, slots=True)
class _Values:
    """One level of a configuration, read with its mistakes named."""

    model: str
    found: Config
    path: str

    def refuse(self, why: str) -> None:
        raise ModelNotLoadable(self.model, f"config.json: {self.path}{why}")

    def number(self, key: str, default: int = 0) -> int:
        """Return a whole number above 0, ``default`` where it is not given; a default of 0 is none."""
        value = self.found.get(key)
        if value is None and default:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            said = "is missing" if value is None else f"= {value!r} is no whole number above 0"
            raise ModelNotLoadable(self.model, f"config.json: {self.path}{key} {said}")
        return value

    def numbers(self, key: str) -> tuple[int, ...]:
        value = self.found.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(type(item) is int and item >= 0 for item in value):
            raise ModelNotLoadable(self.model, f"config.json: {self.path}{key} is no list of layer numbers")
        return tuple(value)

    def ratio(self, key: str, default: float) -> float:
        value = self.found.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
            raise ModelNotLoadable(
                self.model, f"config.json: {self.path}{key} = {value!r} is no number above 0"
            )
        return float(value)

    def flag(self, key: str, default: bool = False) -> bool:
        return bool(self.found.get(key, default))

    def word(self, key: str) -> str:
        value = self.found.get(key)
        return value if isinstance(value, str) else ""
