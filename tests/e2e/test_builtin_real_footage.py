"""A plain start, real footage: the built-in model is there, is shown nothing of it, and says not a word about it."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import Heard, ask, ask_on, rfc3339, socket, to_us
from tests.support.service import LivelensProcess

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(180)]

MEDIA = Path(__file__).resolve().parents[1] / "media"
CLIPS = {
    "car-park": "car-detection-1.mp4",
    "shelf": "bottle-detection.mp4",
    "classroom": "classroom-preview.mp4",
    "corridor": "face-demographics-walking-preview.mp4",
    "room": "people-detection-preview.mp4",
    "street": "person-bicycle-car-detection-preview.mp4",
    "aisle": "store-aisle-detection-preview.mp4",
    "warehouse": "worker-zone-detection-preview.mp4",
    "clean-room": "nasa_13013.mp4",
    "visits": "two-visits.mp4",
}

QUESTIONS = (
    "What do you see?",
    "How many objects are there now?",
    "What colour is the circle?",
    "Is there a red square?",
    "Which way did the green triangle move in the last 5 seconds?",
    "What appeared and what left in the last 10 seconds?",
    "你看到什么？",
    "现在有几个物体？",
    "有没有红色的圆形？",
    "最近5秒发生了什么？",
)

# A word of the toy world is the name of one of its shapes, which real footage never gives a measured answer a reason
# to say, or a sentence that only the built-in model forms. Rough colours, sides, directions and "nothing moved" are
# not among them: what was measured is told in those words too.
TOY = re.compile(
    r"\b(circles?|squares?|triangles?|cross(es)?|objects?)\b|did not see|there from the start|"
    r"圆形|方形|三角形|十字形|没看到",
    re.IGNORECASE,
)


def test_what_counts_as_a_word_of_the_toy_world() -> None:
    for said in (
        "A red circle on the left.",
        "I did not see a blue cross.",
        "左边有一个红色圆形。",
        "我没看到它。",
    ):
        assert TOY.search(said), said
    for said in ("Something red moved to the left.", "Nothing moved from [14:03:05] to [14:03:09]."):
        assert TOY.search(said) is None, said


async def test_on_real_footage_a_plain_start_measures_and_no_answer_holds_a_word_of_the_toy_world() -> None:
    words = ["serve"]
    for camera, clip in CLIPS.items():
        words += ["--camera", f"{camera}={MEDIA / clip}"]
    async with LivelensProcess(words, model="builtin") as service:
        for camera in CLIPS:
            await service.until(
                f"{camera} has been seen for a while",
                lambda camera=camera: held_s(service, camera) > 6,  # type: ignore[misc]
                within_s=60,
            )
        async with socket(service.url) as connection:
            for camera in CLIPS:
                for text in QUESTIONS:
                    measured(await ask_on(connection, {"cameras": [camera], "text": text}), text)
            for window in seconds(service, "street"):
                question = {"cameras": ["street"], "text": "What do you see?", "window": window}
                measured(await ask_on(connection, question), str(window))
        assert {service.camera(camera)["answered_by"] for camera in CLIPS} == {"measured"}
        assert service.counted("livelens_frames_encoded_total") == 0
        assert service.counted("livelens_frames_out_of_domain_total") > 50
        assert service.counted("livelens_encode_failures_total") == 0
        assert "without features" not in service.log


def measured(heard: Heard, asked: str) -> None:
    """Check that an answer is measured, says so in the question's language, and holds no word of the toy world."""
    assert heard.done["model"] == "measured", (asked, heard.text)
    assert heard.done["outcome"] == "ok", (asked, heard.text)
    assert TOY.search(heard.text) is None, (asked, heard.text)
    notice = heard.done["notice"]
    assert "builtin" in notice
    assert "--model-url" in notice
    assert TOY.search(notice) is None, notice
    chinese = re.search(r"[\u4e00-\u9fff]", asked) is not None
    assert (re.search(r"[\u4e00-\u9fff]", notice) is not None) is chinese


def held_s(service: LivelensProcess, camera: str) -> float:
    """Return how many seconds a camera's window reaches back."""
    window = service.camera(camera)["window"]
    return (to_us(window["to"]) - to_us(window["from"])) / 1e6 if window["from"] else 0.0


def seconds(service: LivelensProcess, camera: str) -> list[dict[str, Any]]:
    """Return each second of a camera's window that holds a frame: spans as small as anybody asks about."""
    frames = service.get(f"/api/v1/cameras/{camera}/frames?last_s=60")["frames"]
    starts = sorted({frame["t_us"] // 1_000_000 * 1_000_000 for frame in frames})
    return [{"from": rfc3339(start), "to": rfc3339(start + 1_000_000)} for start in starts]


async def test_without_the_built_in_model_the_same_answer_carries_no_notice() -> None:
    words = ["serve", "--camera", f"street={MEDIA / CLIPS['street']}", "--model", "none"]
    async with LivelensProcess(words) as service:
        await service.until("frames are held", lambda: service.camera("street")["window"]["frames"] > 3)
        heard = await ask(service.url, {"cameras": ["street"], "text": "What do you see?"})
    assert (heard.done["model"], heard.done.get("notice")) == ("measured", None)
