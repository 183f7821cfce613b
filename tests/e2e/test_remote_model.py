"""A model at an OpenAI-compatible address is shown the right moments, in order, each behind its label."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.support.asking import ask
from tests.support.clips import Shot, constant_rate, read_number, write_clip
from tests.support.rtsp_server import Mount, RtspServer
from tests.support.scripted_openai import Reply, ScriptedOpenAI
from tests.support.service import LivelensProcess

pytestmark = [pytest.mark.slow, pytest.mark.rtsp]

FRAMES = 300
RATE = 10


async def test_the_model_gets_the_frames_of_the_span_oldest_first_and_the_question_last(
    tmp_path: Path,
) -> None:
    clip = write_clip(tmp_path / "numbered.mp4", [Shot(constant_rate(FRAMES, rate=RATE))])
    async with RtspServer({"cam": Mount([clip], report=[10, 20, 30])}) as cameras:
        with ScriptedOpenAI(Reply.of("Look ", "here.")) as model:
            words = ["serve", "--camera", f"gate={cameras.url('cam')}", "--model-url", model.url]
            async with LivelensProcess(words) as service:
                await service.until_state("gate", "online")
                await service.until(
                    "six seconds are held",
                    lambda: len(held(service)) >= 14 and span_us(held(service)) > 6_000_000,
                )
                # Stop the camera's time in the window: ask about a fixed span.
                frames = held(service)
                start, end = frames[-14]["t"], frames[-2]["t"]
                inside = [f for f in frames if start <= f["t"] < end]
                heard = await ask(
                    service.url,
                    {"cameras": ["gate"], "text": "Which numbers?", "window": {"from": start, "to": end}},
                )
                assert heard.text == "Look here.", heard
                assert heard.done["model"] == "scripted-vl"
                assert heard.done["frames_used"] == len(inside)
                [request] = model.requests
                shown = request.frames
                assert [frame.label for frame in shown] == [f["label"] for f in inside]
                assert [f["ref"] for f in heard.started["frames"]] == [f["ref"] for f in inside]
                assert request.question == "Which numbers?"
                sent = cameras.sent()[0]
    numbers = [number_of(frame.jpeg) for frame in shown]
    assert numbers == sorted(numbers)
    for number, frame in zip(numbers, inside, strict=True):
        # What the camera sent when is known from the camera itself; the window's time of a frame is that time.
        assert abs((frame["t_us"] - sent.wall_us) / 1e6 - (number - sent.place) / RATE) < 0.25


def held(service: LivelensProcess) -> list[dict[str, object]]:
    frames: list[dict[str, object]] = service.get("/api/v1/cameras/gate/frames?last_s=60")["frames"]
    return frames


def span_us(frames: list[dict[str, object]]) -> int:
    return int(str(frames[-1]["t_us"])) - int(str(frames[0]["t_us"]))


def number_of(jpeg: bytes) -> int:
    picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_GRAYSCALE)
    assert picture is not None
    number = read_number(np.asarray(picture, dtype=np.uint8))
    assert number is not None
    return number


async def test_a_model_that_is_away_is_replaced_by_a_measured_answer_that_says_so(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "numbered.mp4", [Shot(constant_rate(50, rate=RATE))])
    with ScriptedOpenAI(Reply.of("Seen.")) as model:
        words = ["serve", "--camera", f"gate={clip}", "--model-url", model.url, "--model-name", "some-vl"]
        async with LivelensProcess(words) as service:
            await service.until("a frame is held", lambda: len(held(service)) > 3)
            question = {"cameras": ["gate"], "text": "What happened just now?"}
            assert (await ask(service.url, question)).text == "Seen."
            model.stop()
            heard = await ask(service.url, question)
            assert heard.done["model"] == "measured"
            assert "some-vl" in heard.done["notice"]
            assert heard.times(), heard.text
            model.start()
            await service.until(
                "the model is asked again", lambda: bool(model.requests[1:]) or again(service)
            )


def again(service: LivelensProcess) -> bool:
    body = {"cameras": ["gate"], "text": "And now?"}
    return '"model":"some-vl"' in service.call("POST", "/api/v1/ask", body).text.replace(": ", ":")
