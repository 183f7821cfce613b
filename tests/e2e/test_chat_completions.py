"""The stock ``openai`` client against the real service: the built-in model, a checkpoint, an address, and nobody."""

import asyncio
import base64
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import openai
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.support import foreign_scenes
from tests.support.scripted_openai import Reply, ScriptedOpenAI
from tests.support.service import ROOT, LivelensProcess
from tests.support.tiny_model import tiny_model_folder

__all__ = ["tiny_model_folder"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

Json = dict[str, Any]
SECOND = 1_000_000


@asynccontextmanager
async def client_of(service: LivelensProcess) -> AsyncIterator[openai.AsyncOpenAI]:
    """Open a client as its documentation says, but for retries: a refusal is to be seen at once."""
    async with openai.AsyncOpenAI(base_url=f"{service.url}/v1", api_key="unused", max_retries=0) as client:
        yield client


def scene(number: int = 1) -> NDArray[np.uint8]:
    """Return a picture of the toy world, by another program than the one that taught the model."""
    truth = foreign_scenes.invent(number)
    return next(foreign_scenes.draw(truth, [6 * SECOND], seed=number))


def noise(height: int = 200, width: int = 300) -> NDArray[np.uint8]:
    return np.random.default_rng(1).integers(0, 255, (height, width, 3), dtype=np.uint8)


def street() -> NDArray[np.uint8]:
    """Return a picture of a real camera."""
    clip = cv2.VideoCapture(str(ROOT / "tests" / "media" / "car-detection-1.mp4"))
    try:
        found, pixels = clip.read()
        assert found
        return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), dtype=np.uint8)
    finally:
        clip.release()


def data_url(data: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def file_of(pixels: NDArray[np.uint8], kind: str = "PNG", **how: Any) -> bytes:
    written = io.BytesIO()
    Image.fromarray(pixels).save(written, kind, **how)
    return written.getvalue()


def asked(*urls: str, text: str = "What is there?") -> list[Any]:
    pictures = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return [{"role": "user", "content": [*pictures, {"type": "text", "text": text}]}]


def encoded(service: LivelensProcess) -> int:
    return service.counted("livelens_frames_encoded_total")


@pytest.mark.torch
async def test_the_built_in_model_answers_about_a_scene_whole_and_streamed() -> None:
    messages = asked(data_url(file_of(scene())))
    async with LivelensProcess(["serve"], model="builtin") as service, client_of(service) as client:
        listed = [model.id async for model in await client.models.list()]
        assert listed == ["builtin"]
        assert (await client.models.retrieve("builtin")).owned_by == "livelens"

        whole = await client.chat.completions.create(model="builtin", messages=messages)
        choice = whole.choices[0]
        assert choice.message.role == "assistant"
        assert choice.message.content
        assert choice.finish_reason == "stop"
        assert whole.usage is not None
        assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
        assert "knows only the scenes" in (whole.model_extra or {})["notice"]
        assert whole._request_id

        stream = await client.chat.completions.create(
            model="builtin", messages=messages, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text == choice.message.content
        assert len([chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]) > 1
        assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
        assert encoded(service) == 1, "the same picture twice is encoded once"

        first_letter = text[0]
        stopped = await client.chat.completions.create(
            model="builtin", messages=messages, stop=[text[3:6]], max_tokens=50, n=1, user="eve"
        )
        assert stopped.choices[0].message.content == text[:3]
        assert stopped.choices[0].finish_reason == "stop"
        short = await client.chat.completions.create(
            model="builtin", messages=messages, max_completion_tokens=1, temperature=0, seed=1, top_p=0.5
        )
        assert short.choices[0].finish_reason == "length"
        assert (short.choices[0].message.content or "").startswith(first_letter)

        more = [*messages, {"role": "assistant", "content": text}, *asked(text="How many things are there?")]
        assert (
            (await client.chat.completions.create(model="builtin", messages=more)).choices[0].message.content
        )
        assert encoded(service) == 1
        assert service.counted("livelens_chats_total") == 5


@pytest.mark.torch
async def test_what_is_no_picture_of_its_world_is_refused_in_the_clients_own_words() -> None:
    bomb, whole = file_of(np.zeros((9_000, 9_000), np.uint8)), file_of(scene())
    refusals: list[tuple[list[Any], type[openai.APIStatusError], str]] = [
        (asked(data_url(b"garbage")), openai.BadRequestError, "unknown_picture_format"),
        (asked(data_url(whole[: len(whole) // 2])), openai.BadRequestError, "picture_unreadable"),
        (asked(data_url(file_of(noise(), "JPEG"))), openai.BadRequestError, "picture_not_known"),
        (asked(data_url(file_of(street(), "JPEG"))), openai.BadRequestError, "picture_not_known"),
        (asked(data_url(bomb)), openai.APIStatusError, "picture_too_large"),
        (asked("http://127.0.0.1:1/a.png"), openai.BadRequestError, "picture_url_not_allowed"),
        (asked(*[data_url(whole)] * 9), openai.APIStatusError, "too_many_pictures"),
        (asked(), openai.BadRequestError, "picture_required"),
        ([{"role": "assistant", "content": "a"}], openai.BadRequestError, "invalid_dialogue"),
    ]
    async with LivelensProcess(["serve"], model="builtin") as service, client_of(service) as client:
        for messages, kind, code in refusals:
            for stream in (False, True):
                with pytest.raises(kind) as refused:
                    await client.chat.completions.create(model="builtin", messages=messages, stream=stream)
                assert refused.value.code == code
                assert 400 <= refused.value.status_code < 500
        with pytest.raises(openai.NotFoundError) as missing:
            await client.chat.completions.create(model="gpt-4o", messages=asked(data_url(whole)))
        assert missing.value.code == "model_not_found"
        with pytest.raises(openai.BadRequestError) as several:
            await client.chat.completions.create(model="builtin", messages=asked(), n=2)
        assert (several.value.code, several.value.param) == ("unsupported_parameter", "n")
        assert encoded(service) == 0
        assert (await client.models.list()).data, "the service is as well as before"
        assert "Traceback" not in service.log


async def test_without_a_model_the_list_is_empty_and_nobody_answers() -> None:
    async with LivelensProcess(["serve"]) as service, client_of(service) as client:
        assert (await client.models.list()).data == []
        with pytest.raises(openai.NotFoundError) as refused:
            await client.chat.completions.create(model="measured", messages=asked(text="hello"))
        assert refused.value.code == "no_model"


async def test_a_model_at_an_address_gets_the_dialogue_and_the_picture_upright() -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    picture = data_url(file_of(street(), "JPEG", exif=turned), "jpeg")
    with ScriptedOpenAI(Reply.of("A ", "street.")) as far:
        words = ["serve", "--model-url", far.url]
        async with LivelensProcess(words, model=None) as service, client_of(service) as client:
            (model,) = (await client.models.list()).data
            messages = [{"role": "system", "content": "Be brief."}, *asked(picture, text="What is this?")]
            whole = await client.chat.completions.create(model=model.id, messages=messages, temperature=0.5)
            streamed = await client.chat.completions.create(model=model.id, messages=messages, stream=True)
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in streamed])
            from_thread = await asyncio.to_thread(_ask_synchronously, service.url)
        assert whole.choices[0].message.content == text == from_thread == "A street."
        assert whole.usage is not None
        assert whole.model_extra == {}
        seen = far.requests[0]
        assert (seen.system, seen.question, seen.body["temperature"]) == ("Be brief.", "What is this?", 0.5)
        (frame,) = seen.frames
        height, width = street().shape[:2]
        assert Image.open(io.BytesIO(frame.jpeg)).size == (height, width)


@pytest.mark.torch
async def test_a_checkpoint_in_the_process_sees_pictures_once_and_lets_go_of_who_leaves(
    tiny_model_folder: Path,
) -> None:
    settings = {"LIVELENS_FRAME_TOKENS": "24", "LIVELENS_ENGINE__DTYPE": "float32"}
    words = ["serve", "--model", str(tiny_model_folder)]
    async with LivelensProcess(words, settings=settings) as service, client_of(service) as client:
        (model,) = (await client.models.list()).data
        messages = asked(data_url(file_of(street(), "JPEG")), data_url(file_of(noise())), text="Compare.")
        first = await client.chat.completions.create(model=model.id, messages=messages, max_tokens=8)
        again = await client.chat.completions.create(model=model.id, messages=messages, max_tokens=8)
        assert first.choices[0].message.content == again.choices[0].message.content
        assert first.usage is not None
        assert again.usage is not None
        assert again.usage.prompt_tokens_details is not None
        assert (again.usage.prompt_tokens_details.cached_tokens or 0) > 20, "its pictures are a kept prefix"
        assert encoded(service) == 2
        text_only = await client.chat.completions.create(
            model=model.id, messages=asked(text="Compare."), max_tokens=4
        )
        assert text_only.usage is not None
        assert text_only.usage.completion_tokens <= 4
        assert text_only.usage.prompt_tokens + 2 * 12 <= first.usage.prompt_tokens, "pictures count"

        def running() -> int:
            return service.counted("livelens_engine_running")

        leaving = asyncio.create_task(
            client.chat.completions.create(model=model.id, messages=messages, max_tokens=4_000)
        )
        await service.until("the answer is being decoded", lambda: running() == 1)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        await service.until("the engine has let it go", lambda: running() == 0, within_s=3)
        async with await client.chat.completions.create(
            model=model.id, messages=messages, max_tokens=4_000, stream=True
        ) as stream:
            async for _ in stream:
                break
        await service.until("the engine has let this one go too", lambda: running() == 0, within_s=3)


def _ask_synchronously(url: str) -> str:
    """Return what the client without ``await`` hears, streamed."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="unused") as client:
        model = client.models.list().data[0].id
        with client.chat.completions.create(
            model=model, messages=asked(data_url(file_of(street()))), stream=True
        ) as stream:
            return "".join(chunk.choices[0].delta.content or "" for chunk in stream)
