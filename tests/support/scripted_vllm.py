"""A real HTTP server that takes questions as vLLM does, and answers as a test tells it to. No engine, no weights.

It renders the chat template and tokenises it like vLLM, knows which frame ids can be fetched, refuses what vLLM
refuses in vLLM's words, counts prompt tokens truly and finds prefixes it has seen before. ``tests/contract/
test_vllm.py`` holds it and the real one to the same behaviour.

    with ScriptedVllm(folder, Reply.of("A car.")) as server:
        server.forget("gate/1/e/4")              # from now on nobody has this frame
        ...
        assert server.prompts[0].text.startswith("<|im_start|>system")
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from jinja2 import Environment
from tokenizers import Tokenizer

from tests.support.scripted_openai import Reply, ScriptedOpenAI, SeenRequest, error_body

BLOCK = 16
"""Tokens of a block of the prefix cache; whole blocks only are found again."""

IMAGE = "<|image_pad|>"


@dataclass(frozen=True, slots=True)
class SeenPrompt:
    """A prompt as the engine would get it: its text, its token ids with every frame's tokens, its frames' refs."""

    text: str
    ids: tuple[int, ...]
    refs: tuple[str, ...]


class Refused(Exception):
    """A request that vLLM would not take; ``code`` is the status."""

    def __init__(self, message: str, code: int = 400) -> None:
        super().__init__(message)
        self.code = code


class ScriptedVllm(ScriptedOpenAI):
    """The server. Pictures by pixels count as ``pixel_tokens`` each.

    Attributes:
        prompts: Prompts that were taken, in order.
        unknown: Frame ids that cannot be fetched.
        dead: It says that its engine is dead, and refuses everything.
        frozen: It takes connections and says nothing more.
        tokenizes: It tells how it renders a question, as vLLM does and a router before it may not.
    """

    def __init__(
        self,
        folder: Path,
        *replies: Reply | Callable[[SeenRequest], Reply],
        max_model_len: int = 8_192,
        merge: int = 2,
        pixel_tokens: int = 24,
        port: int = 0,
        api_key: str | None = None,
    ) -> None:
        super().__init__(*replies, port=port, models=(folder.name,), api_key=api_key)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._template = Environment(trim_blocks=True, lstrip_blocks=True).from_string(
            (folder / "chat_template.jinja").read_text()
        )
        self._image = self._tokenizer.token_to_id(IMAGE)
        self._max_model_len = max_model_len
        self._merge = merge
        self._pixel_tokens = pixel_tokens
        self._kept: set[tuple[Any, ...]] = set()
        self.prompts: list[SeenPrompt] = []
        self.unknown: set[str] = set()
        self.dead = False
        self.frozen = False
        self.tokenizes = True

    def forget(self, *refs: str) -> None:
        """Let these frames be gone from where vLLM fetches them."""
        self.unknown.update(refs)

    def card(self, model: str) -> dict[str, Any]:
        return {"id": model, "object": "model", "owned_by": "vllm", "max_model_len": self._max_model_len}

    async def other(self, request: SeenRequest) -> tuple[int, dict[str, Any]]:
        if self.frozen:
            await asyncio.sleep(3600)
        if request.path == "/health":
            return (503, {}) if self.dead else (200, {})
        if request.path == "/tokenize" and self.tokenizes:
            try:
                ids = self._prompt(request).ids
            except Refused as refused:
                return refused.code, error_body(str(refused), refused.code)
            return 200, {"count": len(ids), "max_model_len": self._max_model_len, "tokens": list(ids)}
        return 404, error_body("Not Found", 404)

    def judged(self, request: SeenRequest, reply: Reply) -> Reply:
        if self.frozen:
            return replace(reply, first_byte_s=3600)
        if reply.status != 200:
            return reply
        if self.dead:
            return replace(reply, status=503, error="EngineCore encountered an issue", error_code=503)
        try:
            prompt = self._prompt(request)
        except Refused as refused:
            return replace(reply, status=refused.code, error=str(refused), error_code=refused.code)
        self.prompts.append(prompt)
        if self.unknown & set(prompt.refs):
            failed = replace(reply, error="Internal server error", error_code=500, done_after_error=True)
            return replace(failed, error_at=0) if request.body.get("stream") else replace(failed, status=500)
        figures = {
            "prompt_tokens": len(prompt.ids),
            "prompt_tokens_details": {"cached_tokens": self._hits(prompt)},
        }
        ids = {"prompt_token_ids": list(prompt.ids)} if request.body.get("return_token_ids") else {}
        return replace(reply, opening=True, opening_fields=ids, figures=reply.figures or figures)

    def _prompt(self, request: SeenRequest) -> SeenPrompt:
        """Return the prompt of a request. Raises Refused."""
        carrying = [
            message
            for message in request.messages
            if isinstance(message["content"], list)
            and any(part["type"] == "image_embeds" for part in message["content"])
        ]
        parts = [
            part for message in carrying for part in message["content"] if part["type"] == "image_embeds"
        ]
        if len({frozenset(part["image_embeds"]) for part in parts}) > 1:
            raise Refused("All dictionaries in the list of embeddings must have the same keys.")
        if parts and any(frame.jpeg for frame in request.frames):
            raise Refused("Mixing raw image and embedding inputs is not allowed")
        if len(carrying) > 1:
            raise Refused("image_embeds in more than one message")
        text = self._rendered(request)
        tokens = [self._tokens_of(frame.grid) for frame in request.frames]
        ids: list[int] = []
        sizes = iter(tokens)
        for id in self._tokenizer.encode(text, add_special_tokens=False).ids:
            if id == self._image and (size := next(sizes, None)) is None:
                raise Refused("Failed to apply prompt replacement for mm_items['image']")
            ids += [id] * (size if id == self._image else 1)  # type: ignore[operator]  # None was refused above
        if len(ids) > self._max_model_len:
            raise Refused(
                f"This model's maximum context length is {self._max_model_len} tokens. However, your prompt contains "
                f"{len(ids)} input tokens, which exceeds this limit even without any output tokens."
            )
        return SeenPrompt(text, tuple(ids), tuple(frame.ref for frame in request.frames if frame.ref))

    def _rendered(self, request: SeenRequest) -> str:
        messages = [
            {
                "role": message["role"],
                "content": message["content"]
                if isinstance(message["content"], str)
                else [
                    {"type": "text", "text": part["text"]} if part["type"] == "text" else {"type": "image"}
                    for part in message["content"]
                ],
            }
            for message in request.messages
        ]
        return self._template.render(messages=messages, add_generation_prompt=True)

    def _tokens_of(self, grid: tuple[int, ...] | None) -> int:
        return self._pixel_tokens if grid is None else prod(grid) // self._merge**2

    def _hits(self, prompt: SeenPrompt) -> int:
        """Return how many tokens whole blocks seen before cover, and remember this prompt's blocks."""
        refs, row, inside = iter(prompt.refs), [], False
        ref = ""
        for id in prompt.ids:
            if id == self._image and not inside:
                ref = next(refs, "")
            inside = id == self._image
            row.append((id, ref) if inside else id)
        blocks = [tuple(row[:end]) for end in range(BLOCK, len(row) + 1, BLOCK)]
        hits = sum(block in self._kept for block in blocks)
        self._kept.update(blocks)
        return hits * BLOCK
