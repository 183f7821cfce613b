"""What vLLM asks for by frame id, and whether what the window holds is it. Pure: no vLLM, no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.frames import Features, FeatureType
from core.ids import FrameRef, InvalidFrameRef, split_frame_ref

Grid = tuple[int, int, int]

_WIDE = (FeatureType.BF16, FeatureType.F16)
_PLACEHOLDER_FIELDS = frozenset({"image_grid_thw", "video_grid_thw", "timestamps", "second_per_grid_ts"})
"""What only says how large a picture is. A part that carries nothing else is asked for by id."""


class Refusal(StrEnum):
    """Why a frame, and the question that names it, was refused."""

    ID = "id"  # not the id of a frame
    ENCODER = "encoder"  # features of another encoder than this model's
    GONE = "gone"  # the window does not hold it, or what it holds is damaged
    NO_FEATURES = "no_features"  # stored as a picture only
    DTYPE = "dtype"
    WIDTH = "width"
    SHAPE = "shape"  # another number of tokens or another grid than the question says
    AWAY = "away"  # Redis did not answer
    LATE = "late"  # it did not come in time
    FAILED = "failed"  # an error of our own, in the log


@dataclass(frozen=True, slots=True)
class Wanted:
    """One frame that a request names instead of showing it.

    Attributes:
        identifier: As the request has it; a frame ref if all is well.
        tokens: Places it has in the prompt.
        grid: Patches as (time, rows, columns), where the request says them.
        end: The place in the prompt behind it; it is needed until so many tokens are computed.
    """

    identifier: str
    tokens: int
    grid: Grid | None
    end: int


@dataclass(frozen=True, slots=True)
class ModelFeatures:
    """The features that a model reads.

    Attributes:
        width: Values of one token: hidden × (1 + DeepStack layers).
        encoder: 12 hex digits of the encoder; empty: whichever, of this width.
        dtype: What that encoder makes; None: either 16-bit type.
    """

    width: int
    encoder: str = ""
    dtype: FeatureType | None = None

    def ref_of(self, identifier: str) -> FrameRef | Refusal:
        """Return the frame that an identifier names, or why it cannot be one."""
        try:
            parts = split_frame_ref(identifier)
        except InvalidFrameRef:
            return Refusal.ID
        if self.encoder and parts.encoder != self.encoder:
            return Refusal.ENCODER
        return FrameRef(identifier)

    def judge(self, features: Features | None) -> Refusal | None:
        """Return why stored features are not for this model; None where they are.

        Length and finiteness were checked when the value was read (``codec``).
        """
        if features is None:
            return Refusal.NO_FEATURES
        if features.dtype not in ((self.dtype,) if self.dtype else _WIDE):
            return Refusal.DTYPE
        if features.shape[1] != self.width:
            return Refusal.WIDTH
        if self.encoder and features.encoder_version != self.encoder:
            return Refusal.ENCODER
        return None


def feature_width(config: Any) -> int:  # Any: a transformers configuration, whose classes differ by family
    """Return the width of a model's features from its configuration. Raises ValueError where it does not say."""
    text = getattr(config, "text_config", None) or config
    vision = getattr(config, "vision_config", None)
    layers = getattr(vision, "deepstack_visual_indexes", None) or ()
    hidden = getattr(text, "hidden_size", None)
    if not isinstance(hidden, int) or hidden < 1:
        raise ValueError("the model's configuration has no hidden_size")
    return hidden * (1 + len(layers))


def shape_fits(wanted: Wanted, *, tokens: int, grid: Grid) -> bool:
    """Return whether features of so many tokens and this grid are what a request made room for."""
    return wanted.tokens == tokens and wanted.grid in (None, grid)


def is_by_id(data: Mapping[str, Any] | None, identifier: str) -> bool:
    """Return whether a part of a request carries no picture and no features, so that they must come from the window.

    Args:
        data: Its fields as vLLM processed them, each with a ``data`` of its own; None where vLLM has them elsewhere.
    """
    if data is None:
        return not isinstance(ModelFeatures(1).ref_of(identifier), Refusal)
    return all(name in _PLACEHOLDER_FIELDS or field.data is None for name, field in data.items())


def grid_of(data: Mapping[str, Any] | None) -> Grid | None:
    """Return the grid that a part of a request says; None where it says none, or not three numbers."""
    field = data.get("image_grid_thw") if data is not None else None
    if field is None or field.data is None:
        return None
    numbers = [int(number) for number in field.data.flatten().tolist()]
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 else None
