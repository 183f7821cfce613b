"""What of a prompt may reach the model: frames with unusable features are left out, by name. Pure.

Of a dialogue nothing is left out: who sent a picture asks about that picture.
"""

from dataclasses import dataclass, replace

from core.frames import BadFeatures, Features
from core.ids import FrameRef
from models.chat import Cells, ChatTokens, Rendered, TextEncoder, render
from models.checkpoint import Checkpoint
from models.errors import NoUsableFrames, PromptTooLarge
from models.prompt import Dialogue, FramePart, Part, Prompt


@dataclass(frozen=True, slots=True)
class Intake:
    """A prompt the model can read. ``features`` belong to ``rendered.frames``; ``refused`` frames are not in it."""

    rendered: Rendered
    features: tuple[Features, ...]
    refused: tuple[FrameRef, ...]


def check_features(features: Features | None, checkpoint: Checkpoint) -> Features:
    """Return features that this checkpoint's decoder can read. Raises BadFeatures, which says why not.

    Length and finiteness were checked when the value was built; what is left is whether it is ours.
    """
    if features is None:
        raise BadFeatures("the frame was stored without features")
    if features.encoder_version != checkpoint.encoder_version:
        raise BadFeatures(f"they are of encoder {features.encoder_version}, not {checkpoint.encoder_version}")
    if features.dtype is not checkpoint.feature_type:
        raise BadFeatures(f"they are {features.dtype}, not {checkpoint.feature_type}")
    if features.shape[1] != checkpoint.feature_width:
        raise BadFeatures(f"they are {features.shape[1]} wide, not {checkpoint.feature_width}")
    merge = checkpoint.pictures.merge
    steps, rows, columns = features.grid
    if steps != 1 or rows < merge or columns < merge or rows % merge or columns % merge:
        raise BadFeatures(f"their grid {features.grid} is no grid of one picture")
    if rows * columns // merge**2 != features.tokens:
        raise BadFeatures(f"their grid {features.grid} has not {features.tokens} tokens")
    return features


def take_in(
    prompt: Prompt | Dialogue,
    checkpoint: Checkpoint,
    *,
    text: TextEncoder,
    tokens: ChatTokens,
    answer_tokens: int,
) -> Intake:
    """Return a prompt as tokens and features, without the frames that cannot be read.

    Args:
        answer_tokens: Room that the answer needs in the context.
    Raises:
        NoUsableFrames: there were frames, and all were refused: answering would be guessing; or a dialogue's picture was.
        PromptTooLarge: prompt and answer do not fit the context.
    """
    usable: list[Features]
    refused: tuple[FrameRef, ...] = ()
    match prompt:
        case Prompt():
            prompt, usable, refused = _readable(prompt, checkpoint)
        case Dialogue():
            usable = _all_features(prompt, checkpoint)
    merge = checkpoint.pictures.merge
    cells = [Cells(features.grid[1] // merge, features.grid[2] // merge) for features in usable]
    rendered = render(prompt, cells, text=text, tokens=tokens)
    if rendered.tokens + answer_tokens > checkpoint.context_tokens:
        raise PromptTooLarge(rendered.tokens + answer_tokens, checkpoint.context_tokens)
    return Intake(rendered, tuple(usable), refused)


def _readable(prompt: Prompt, checkpoint: Checkpoint) -> tuple[Prompt, list[Features], tuple[FrameRef, ...]]:
    """Return a prompt without the frames that cannot be read, the features of the others, and what was left out."""
    parts: list[Part] = []
    usable: list[Features] = []
    refused: list[FrameRef] = []
    why = ""
    for part in prompt.parts:
        if isinstance(part, FramePart):
            try:
                usable.append(check_features(part.features, checkpoint))
            except BadFeatures as error:
                refused.append(part.ref)
                why = str(error)
                continue
        parts.append(part)
    if refused and not usable:
        raise NoUsableFrames(len(refused), why)
    return replace(prompt, parts=tuple(parts)), usable, tuple(refused)


def _all_features(dialogue: Dialogue, checkpoint: Checkpoint) -> list[Features]:
    pictures = dialogue.frames
    try:
        return [check_features(picture.features, checkpoint) for picture in pictures]
    except BadFeatures as error:
        raise NoUsableFrames(len(pictures), str(error)) from None
