"""Whether the vLLM at an address makes of a question what this process makes of it: the same tokens, in the same order.

Another chat template (a system text of its own, a thinking mode, pictures moved to the front) or another tokenizer
gives answers that look right and are worse. vLLM's own ``/tokenize`` renders a small question, frames and history and
all; nothing is computed for it, and no frame has to be there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Any

import httpx2

from core.ids import CameraId, make_frame_ref
from models import BuiltinModel, LocalModel, ModelNotLoadable
from models.chat import Cells, render
from models.checkpoint import Checkpoint, read_checkpoint
from models.opening import read_builtin
from models.prompt import FramePart, Part, Prompt, TextPart, Turn
from models.text import ChatText
from models.vllm_settings import VllmSettings
from models.vllm_text import disarming, special_tokens
from models.vllm_wire import by_ref, messages_of

_log = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
TRIES = 5
"""A server that cannot be compared, one behind a router for example, is asked so often after it came up."""

_SHOWN_TOKENS = 8
_CELLS = Cells(2, 3)


class Verdict(StrEnum):
    """What a comparison gave."""

    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PromptLook:
    """What one comparison found; ``why`` ends a sentence, empty where all is well."""

    verdict: Verdict
    why: str = ""


def sample(checkpoint: Checkpoint, *, frames: int) -> Prompt:
    """Return a small question with all that a prompt may hold: frames behind labels, a note, history in two languages."""
    merge = checkpoint.pictures.merge
    grid = (1, _CELLS.rows * merge, _CELLS.columns * merge)
    shown = tuple(
        FramePart(
            f"[14:03:{n:02d}]",
            make_frame_ref(CameraId("probe"), n, encoder=checkpoint.encoder_version, detail="6"),
            grid=grid,
        )
        for n in range(frames)
    )
    parts: tuple[Part, ...] = (*shown[:1], TextPart("(Unchanged since 14:03:01.)"), *shown[1:])
    return Prompt(
        "You watch a camera.", parts, "刚刚 what happened?", (Turn("Who came?", "A cat, at [14:03:01]."),)
    )


def judge(ours: Sequence[int], theirs: Sequence[int], shown: Callable[[Sequence[int]], str]) -> PromptLook:
    """Compare two renderings of one question. ``shown`` makes a few tokens readable."""
    if list(ours) == list(theirs):
        return PromptLook(Verdict.SAME)
    at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=False)))
    wanted, got = (shown(ids[at : at + _SHOWN_TOKENS]) for ids in (ours, theirs))
    return PromptLook(
        Verdict.OTHER,
        f"it makes {len(theirs)} tokens of a question where this process makes {len(ours)}; from token {at} on"
        f" {got!r} stands where {wanted!r} should (another chat template or tokenizer)",
    )


class PromptProbe:
    """Asks one server. Opens its connection for each look."""

    def __init__(self, settings: VllmSettings, checkpoint: Checkpoint) -> None:
        self._settings = settings
        self._checkpoint = checkpoint

    async def look(self) -> PromptLook:
        """Compare, with frames where the server takes their ids, else without. Never raises; bounded in time."""
        try:
            text = await asyncio.to_thread(ChatText.load, self._checkpoint)
            for frames in (2, 0):
                prompt = sample(self._checkpoint, frames=frames)
                theirs = await self._theirs(prompt)
                if isinstance(theirs, list):
                    ours = render(prompt, [_CELLS] * frames, text=text.encoder, tokens=text.tokens)
                    return judge(ours.ids.tolist(), theirs, lambda ids: _readable(text, ids))
            return PromptLook(Verdict.UNKNOWN, f"it does not tell how it renders a question ({theirs})")
        except ModelNotLoadable as error:
            return PromptLook(Verdict.UNKNOWN, str(error))
        except (httpx2.HTTPError, httpx2.StreamError, TimeoutError, ValueError) as error:
            return PromptLook(Verdict.UNKNOWN, f"it did not answer ({type(error).__name__})")

    async def _theirs(self, prompt: Prompt) -> list[int] | str:
        """Return the server's tokens of a prompt, or how it refused."""
        address, limits = self._settings.address, self._settings.limits
        headers = {"Authorization": f"Bearer {address.api_key}"} if address.api_key else {}
        disarm = disarming(special_tokens(self._checkpoint.folder))
        async with (
            asyncio.timeout(4 * limits.probe_timeout_us / 1e6),
            httpx2.AsyncClient(
                headers=headers, timeout=httpx2.Timeout(None), trust_env=not address.is_loopback
            ) as client,
        ):
            model = address.model or _first_model((await client.get(f"{address.base}/models")).json())
            body = {"model": model, "messages": messages_of(prompt, by_ref, disarm)}
            reply = await client.post(f"{self._settings.root}/tokenize", json=body)
        if reply.status_code != 200:
            return f"status {reply.status_code}"
        try:
            return [int(token) for token in reply.json()["tokens"]]
        except (ValueError, KeyError, TypeError):
            return "a reply of another form"


class PromptWatch:
    """Compares once the server is up, and again each time it has been away; tells of a difference each time."""

    def __init__(self, look: Callable[[], Awaitable[PromptLook]], healthy: Callable[[], bool]) -> None:
        """Args: look: ``PromptProbe.look``. healthy: Whether the server is up; never waits."""
        self._look = look
        self._healthy = healthy
        self.found: PromptLook | None = None

    def details(self) -> dict[str, str]:
        """Return what an operator should know; empty where nothing is wrong."""
        found = self.found
        return {} if found is None or found.verdict is not Verdict.OTHER else {"prompt": found.why}

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            await self._until(up=True)
            await self._compare()
            await self._until(up=False)

    async def _compare(self) -> None:
        for _ in range(TRIES):
            self.found = await self._look()
            if self.found.verdict is not Verdict.UNKNOWN:
                break
            await asyncio.sleep(LOOK_EVERY_S)
        match self.found:
            case PromptLook(Verdict.OTHER, why):
                _log.warning("vLLM renders questions in another way than this process", extra={"why": why})
            case PromptLook(Verdict.UNKNOWN, why):
                _log.info("how vLLM renders questions could not be compared", extra={"why": why})

    async def _until(self, *, up: bool) -> None:
        while self._healthy() is not up:  # noqa: ASYNC110  the decoder tells it by a flag
            await asyncio.sleep(LOOK_EVERY_S)


def checkpoint_of(model: BuiltinModel | LocalModel) -> Checkpoint:
    """Return the checkpoint that vLLM should be serving. Reads files. Raises ModelNotLoadable."""
    return read_builtin() if isinstance(model, BuiltinModel) else read_checkpoint(model.model)


def _first_model(listed: Any) -> str:  # Any: what a server lists, checked here
    try:
        return str(listed["data"][0]["id"])
    except (KeyError, IndexError, TypeError):
        return ""


def _readable(text: ChatText, ids: Sequence[int]) -> str:
    names = {
        text.tokens.im_start: "<|im_start|>",
        text.tokens.im_end: "<|im_end|>",
        text.tokens.vision_start: "<|vision_start|>",
        text.tokens.vision_end: "<|vision_end|>",
        text.tokens.image_pad: "<|image_pad|>",
    }
    stream = text.stream()
    return "".join(names.get(token) or stream.push(token) for token in ids)
