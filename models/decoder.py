"""The seam of all decoders: in-process, any OpenAI-compatible address, vLLM by frame refs.

One contract suite, ``tests/contract/test_decoder.py``, runs against each of them and against the scripted one
that other tests use.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from core.ids import FrameRef, RequestId
from models.prompt import Dialogue, Prompt


class Reads(StrEnum):
    """What a decoder takes of a frame: what the prompt carries, or, by refs, what it fetches from Redis itself."""

    FEATURES = "features"
    REFS = "refs"
    JPEG = "jpeg"


class Finish(StrEnum):
    """Why a token stream ended."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """What callers must know of a model.

    Attributes:
        name: As shown in answers.
        frame_tokens: Vision tokens of one frame; for JPEG decoders an estimate.
        window_tokens: Vision tokens one question may have, labels and text not counted.
        encoder_version: The features it reads, 12 hex digits; None for decoders that read JPEG.
        own_world: It knows one world only, and pictures of any other get no features. It must not speak of a
            span with a frame that it has no features of.
    """

    name: str
    reads: Reads
    frame_tokens: int
    window_tokens: int
    encoder_version: str | None = None
    own_world: bool = False


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How tokens are chosen; temperature 0 is greedy.

    ``seed`` makes a choice by chance repeatable; None takes one from the request's id. Chance is among the likeliest
    tokens that together have a share of ``top_p``. The first text of ``stop`` ends the answer and is not part of it.
    """

    max_tokens: int = 256
    temperature: float = 0.0
    seed: int | None = None
    top_p: float = 1.0
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer; ``cached_tokens`` of the prompt came from a kept KV cache.

    ``refused`` names frames of the prompt whose features were unusable, so that the decoder left them out.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    refused: tuple[FrameRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Delta:
    """Some more text. The last one of a stream has ``finish`` set and carries the usage, if known.

    ``text`` never ends inside a character; it may be empty.
    """

    text: str
    finish: Finish | None = None
    usage: Usage | None = None


class Decoder(Protocol):
    """Turns prompts into token streams."""

    @property
    def profile(self) -> ModelProfile: ...

    def generate(
        self,
        prompt: Prompt | Dialogue,
        *,
        request_id: RequestId,
        sampling: SamplingParams,
        priority: int = 0,
    ) -> AsyncIterator[Delta]:
        """Stream the answer; closing the iterator early aborts the request. Use ``contextlib.aclosing``.

        Lower ``priority`` runs earlier.

        Raises:
            DecoderUnavailable: cannot be reached, or failed; retryable.
            PromptTooLarge: more than the model's context holds.
            DecoderRefused: the other side answered with an error of its own.
            NoUsableFrames: the prompt has frames, and none of them can be read.
        """

    def healthy(self) -> bool:
        """Return whether a question sent now has a fair chance of an answer; never waits."""
