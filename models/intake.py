"""What of a prompt may reach the model: frames with unusable features are left out, by name. Pure."""

from dataclasses import dataclass, replace

from core.frames import BadFeatures, Features
from core.ids import FrameRef
from models.chat import Cells, ChatTokens, Rendered, TextEncoder, render
from models.checkpoint import Checkpoint
from models.errors import NoUsableFrames, PromptTooLarge
from models.prompt import FramePart, Part, Prompt


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
    prompt: Prompt, checkpoint: Checkpoint, *, text: TextEncoder, tokens: ChatTokens, answer_tokens: int
) -> Intake:
    """Return a prompt as tokens and features, without the frames that cannot be read.

    Args:
        answer_tokens: Room that the answer needs in the context.
    Raises:
        NoUsableFrames: there were frames, and all were refused: answering would be guessing.
        PromptTooLarge: prompt and answer do not fit the context.
    """
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
    merge = checkpoint.pictures.merge
    cells = [Cells(features.grid[1] // merge, features.grid[2] // merge) for features in usable]
    rendered = render(replace(prompt, parts=tuple(parts)), cells, text=text, tokens=tokens)
    if rendered.tokens + answer_tokens > checkpoint.context_tokens:
        raise PromptTooLarge(rendered.tokens + answer_tokens, checkpoint.context_tokens)
    return Intake(rendered, tuple(usable), tuple(refused))
