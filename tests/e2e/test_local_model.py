"""A Qwen3-VL checkpoint (tiny, random) in the service's own process: encoded once, asked many times."""

from pathlib import Path

import pytest

from tests.support.asking import ask, ask_on, rfc3339, socket, to_us
from tests.support.clips import Shot, constant_rate, write_clip
from tests.support.service import LivelensProcess, ServiceFailed
from tests.support.tiny_model import tiny_model_folder

__all__ = ["tiny_model_folder"]

pytestmark = [pytest.mark.slow, pytest.mark.torch]


# fp32, so that the same computation in another order gives the same tokens.
SETTINGS = {"LIVELENS_FRAME_TOKENS": "24", "LIVELENS_ENGINE__DTYPE": "float32"}


def encoded(service: LivelensProcess) -> int:
    """Return the engine's own count of encoded frames."""
    return service.counted("livelens_frames_encoded_total")


def all_encoded(service: LivelensProcess) -> bool:
    """Return whether every sample has been encoded, but those dropped for load."""
    dropped = service.counted("livelens_frames_dropped_total")
    return encoded(service) >= service.counted("livelens_samples_total") - dropped > 0


async def test_questions_are_answered_from_cached_features_while_the_encoder_stands_still(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    clip = write_clip(tmp_path / "moving.mp4", [Shot(constant_rate(60))])
    # Played once, not looped: the window stands still afterwards, and so must the encoder.
    words = ["serve", "--model", str(tiny_model_folder)]
    async with LivelensProcess(words, settings=SETTINGS) as service:
        body = {"id": "gate", "source": {"url": clip.as_uri()}}
        assert service.call("POST", "/api/v1/cameras", body).status_code == 201
        await service.until_state("gate", "offline")
        await service.until("all samples are encoded", lambda: all_encoded(service))
        kept = service.camera("gate")["window"]["frames"]
        assert encoded(service) == kept
        async with socket(service.url) as connection:
            # "Now" stands in the prompt: with the same one, the same question gets the same tokens.
            last_us = to_us(service.camera("gate")["state"]["last_frame_at"])
            asked_at = rfc3339(last_us + 1_000_000)
            window = {"last_s": 60}
            question = {"cameras": ["gate"], "window": window, "asked_at": asked_at, "max_tokens": 12}
            first = await ask_on(connection, {**question, "text": "What happened?"})
            again = await ask_on(connection, {**question, "text": "What happened?"})
            other = await ask_on(connection, {**question, "text": "And what else?"})
        assert first.done["model"] == tiny_model_folder.name
        assert first.text
        assert again.text == first.text
        assert [heard.done["frames_used"] for heard in (first, again, other)] == [kept] * 3
        assert [heard.done["frames_encoded_now"] for heard in (first, again, other)] == [0, 0, 0]
        assert encoded(service) == kept
        refs = [frame["ref"].split("/") for frame in first.started["frames"]]
        assert {len(encoder) for _, _, encoder, _ in refs} == {12}


async def test_a_follow_up_keeps_camera_span_and_history(tmp_path: Path, tiny_model_folder: Path) -> None:
    clip = write_clip(tmp_path / "moving.mp4", [Shot(constant_rate(30))])
    words = ["serve", "--camera", f"gate={clip}", "--model", str(tiny_model_folder)]
    async with LivelensProcess(words, settings=SETTINGS) as service:
        await service.until("frames are held", lambda: service.camera("gate")["window"]["frames"] > 5)
        first = await ask(
            service.url,
            {"cameras": ["gate"], "text": "what happened in the last 3 seconds?", "max_tokens": 5},
        )
        conversation = first.started["conversation"]
        second = await ask(
            service.url, {"text": "what colour was it?", "conversation": conversation, "max_tokens": 5}
        )
        assert second.started["window"]["from"] == first.started["window"]["from"]
        assert second.done["usage"]["prompt_tokens"] > first.done["usage"]["prompt_tokens"]


async def test_a_model_that_cannot_be_loaded_ends_the_start_with_one_line(tmp_path: Path) -> None:
    with pytest.raises(ServiceFailed, match=r"livelens: cannot load the model"):
        async with LivelensProcess(["serve", "--model", str(tmp_path)]):
            raise AssertionError("started without a model")
