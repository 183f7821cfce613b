"""What a question looks like on its way to vLLM. Pure, but for torch where features go inline.

The texts and pictures stand in the message parts so that the chat template, which writes them one after the other,
gives token for token the prompt of ``models.chat``; a test renders both. All frames stand in one message, because
vLLM merges the fields of one message only, and all of them by ref or all of them inline: it takes no mixture.
"""

import base64
import io
from collections.abc import Callable

import numpy as np

from core.frames import Features, FeatureType
from models.openai_wire import Json
from models.prompt import Dialogue, FramePart, Message, Prompt, TextPart
from models.vllm_text import Disarm

Picture = Callable[[FramePart], Json]
"""Makes the message part of one frame."""


def by_ref(frame: FramePart) -> Json:
    """Return a frame as its id and its grid; vLLM fetches the features itself."""
    return {
        "type": "image_embeds",
        "image_embeds": {"image_grid_thw": _grid(frame)},
        "uuid": frame.ref,
    }


def by_value(frame: FramePart, features: Features) -> Json:
    """Return a frame with its features. Needs torch; takes milliseconds a frame."""
    return {
        "type": "image_embeds",
        "image_embeds": {"image_embeds": _tensor(features), "image_grid_thw": list(features.grid)},
        "uuid": frame.ref,
    }


def by_pixels(frame: FramePart) -> Json:
    """Return a frame as its JPEG."""
    if not frame.jpeg:
        raise ValueError(f"{frame.ref} has no picture")
    url = f"data:image/jpeg;base64,{base64.b64encode(frame.jpeg).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def messages_of(prompt: Prompt, picture: Picture, disarm: Disarm) -> list[Json]:
    """Return a question's messages: system, frames each behind its label, history, question last."""
    parts = _Parts(disarm)
    for part in prompt.parts:
        match part:
            case FramePart():
                parts.text(part.label)
                parts.picture(picture(part))
            case TextPart():
                parts.text(f"\n{part.text}\n")
    if prompt.parts:
        parts.text("\n")
    messages: list[Json] = [{"role": "system", "content": disarm(prompt.system)}]
    for turn in prompt.history:
        parts.text(turn.question)
        messages.append({"role": "user", "content": parts.take()})
        messages.append({"role": "assistant", "content": disarm(turn.answer)})
    parts.text(prompt.question)
    messages.append({"role": "user", "content": parts.take()})
    return messages


def disarmed(dialogue: Dialogue, disarm: Disarm) -> Dialogue:
    """Return a dialogue in whose texts nothing is a special token."""
    return Dialogue(
        tuple(
            Message(
                message.role,
                tuple(
                    TextPart(disarm(part.text)) if isinstance(part, TextPart) else part
                    for part in message.parts
                ),
            )
            for message in dialogue.messages
        )
    )


class _Parts:
    """Gathers the parts of one message; texts that meet become one before they are disarmed."""

    def __init__(self, disarm: Disarm) -> None:
        self._disarm = disarm
        self._parts: list[Json] = []
        self._texts: list[str] = []

    def text(self, text: str) -> None:
        self._texts.append(text)

    def picture(self, part: Json) -> None:
        self._flush()
        self._parts.append(part)

    def take(self) -> list[Json]:
        self._flush()
        parts, self._parts = self._parts, []
        return parts

    def _flush(self) -> None:
        if text := "".join(self._texts):
            self._parts.append({"type": "text", "text": self._disarm(text)})
        self._texts.clear()


def _grid(frame: FramePart) -> list[int]:
    if frame.grid is None:
        raise ValueError(f"{frame.ref} has no grid")
    return list(frame.grid)


def _tensor(features: Features) -> str:
    """Return features as vLLM reads them: a saved tensor of their own type, in base64."""
    import torch

    types = {FeatureType.BF16: torch.bfloat16, FeatureType.F16: torch.float16}
    bits = torch.from_numpy(features.bits().astype(np.uint16).view(np.int16))
    file = io.BytesIO()
    torch.save(bits.view(types[features.dtype]), file)
    return base64.b64encode(file.getvalue()).decode()
