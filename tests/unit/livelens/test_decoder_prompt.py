"""A vLLM that renders questions in another way is noticed and told in words; one that cannot be compared is not accused."""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from livelens.decoder_prompt import PromptLook, PromptProbe, PromptWatch, Verdict, judge
from livelens.ports import free_port
from models.checkpoint import read_checkpoint
from models.openai_settings import OpenAISettings
from models.vllm_settings import VllmSettings
from tests.support.scripted_openai import Reply
from tests.support.scripted_vllm import ScriptedVllm
from tests.support.tiny_model import CHAT_TEMPLATE, eventually, tiny_model_folder

__all__ = ["tiny_model_folder"]

SAME, OTHER = PromptLook(Verdict.SAME), PromptLook(Verdict.OTHER, "it differs")
UNKNOWN = PromptLook(Verdict.UNKNOWN, "it does not tell")


def test_the_first_difference_is_shown() -> None:
    assert judge([1, 2, 3], [1, 2, 3], str) == SAME
    found = judge([1, 2, 3], [1, 9, 2, 3], str)
    assert found.verdict is Verdict.OTHER
    assert "4 tokens of a question where this process makes 3" in found.why
    assert "from token 1 on '[9, 2, 3]' stands where '[2, 3]' should" in found.why


def test_one_that_begins_its_answers_with_words_of_its_own_differs_at_the_end() -> None:
    assert judge([1, 2], [1, 2, 7], str).why.startswith("it makes 3 tokens")


async def look(folder: Path, server: ScriptedVllm) -> PromptLook:
    checkpoint = read_checkpoint(str(folder))
    with server:
        return await PromptProbe(VllmSettings(OpenAISettings(server.url)), checkpoint).look()


@pytest.mark.torch
async def test_the_checkpoint_s_own_template_is_the_same_frames_and_history_and_all(
    tiny_model_folder: Path,
) -> None:
    server = ScriptedVllm(tiny_model_folder, Reply.of("x"))
    assert await look(tiny_model_folder, server) == SAME
    assert server.requests == []  # nothing was computed


@pytest.mark.torch
@pytest.mark.parametrize(
    ("template", "seen"),
    [
        ("{{- '<|im_start|>system\nBe kind.<|im_end|>\n' }}" + CHAT_TEMPLATE, "Be kind"),
        (CHAT_TEMPLATE.replace("<|im_start|>assistant\\n", "<|im_start|>assistant\\n<think>\\n"), "<think>"),
        (CHAT_TEMPLATE.replace("<|vision_start|><|image_pad|>", "<|image_pad|>"), "<|image_pad|>"),
    ],
)
async def test_another_template_is_named_with_what_it_writes(
    template: str, seen: str, tiny_model_folder: Path, tmp_path: Path
) -> None:
    other = shutil.copytree(tiny_model_folder, tmp_path / "other")
    (other / "chat_template.jinja").write_text(template)
    found = await look(tiny_model_folder, ScriptedVllm(other, Reply.of("x")))
    assert found.verdict is Verdict.OTHER
    assert seen in found.why


@pytest.mark.torch
async def test_a_server_that_does_not_tell_or_does_not_answer_is_not_accused(tiny_model_folder: Path) -> None:
    server = ScriptedVllm(tiny_model_folder, Reply.of("x"))
    server.tokenizes = False
    found = await look(tiny_model_folder, server)
    assert (found.verdict, "status 404" in found.why) == (Verdict.UNKNOWN, True)
    nobody = VllmSettings(OpenAISettings(f"http://127.0.0.1:{free_port()}"))
    found = await PromptProbe(nobody, read_checkpoint(str(tiny_model_folder))).look()
    assert (found.verdict, "did not answer" in found.why) == (Verdict.UNKNOWN, True)


class Server:
    """A server that is up or not, and what looks at it find, in order; the last one again and again."""

    def __init__(self, *finds: PromptLook) -> None:
        self.up = False
        self.finds = list(finds)
        self.looks = 0
        self.seen_down = 0

    def healthy(self) -> bool:
        self.seen_down += not self.up
        return self.up

    async def look(self) -> PromptLook:
        self.looks += 1
        return self.finds.pop(0) if len(self.finds) > 1 else self.finds[0]


@asynccontextmanager
async def watching(server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PromptWatch]:
    monkeypatch.setattr("livelens.decoder_prompt.LOOK_EVERY_S", 0.001)
    watch = PromptWatch(server.look, server.healthy)
    task = asyncio.create_task(watch.run())
    try:
        yield watch
        assert not task.done()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_it_is_compared_when_it_comes_up_and_again_each_time_it_has_been_away(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(SAME, OTHER)
    async with watching(server, monkeypatch) as watch:
        assert watch.details() == {}
        server.up = True
        await eventually(lambda: watch.found == SAME)
        assert (watch.details(), server.looks) == ({}, 1)
        with caplog.at_level(logging.WARNING):
            server.up, server.seen_down = False, 0
            await eventually(lambda: server.seen_down > 0)
            server.up = True
            await eventually(lambda: watch.details() == {"prompt": "it differs"})
        assert len(caplog.records) == 1


async def test_what_cannot_be_compared_is_tried_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(UNKNOWN, UNKNOWN, SAME)
    async with watching(server, monkeypatch) as watch:
        server.up = True
        await eventually(lambda: watch.found == SAME)
        assert (server.looks, watch.details()) == (3, {})
