"""Started with the built-in model, about a generated scene: the built-in model answers, from the window, and says what it knows."""

import re
from pathlib import Path

import pytest

from models.builtin.scenes import draw, kind_of, scene_truth, write_clip
from tests.support.asking import ask_on, socket
from tests.support.service import LivelensProcess

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(120)]

STREET = Path(__file__).resolve().parents[1] / "media" / "person-bicycle-car-detection-preview.mp4"
SEED = (1 << 40) + 11
FPS, SECONDS = 10, 10


def generated_clip(path: Path) -> Path:
    """Write a scene that no training has seen."""
    kind = kind_of(SEED)
    truth = scene_truth(SEED, SECONDS * 1_000_000, kind=kind)
    times_us = [number * 1_000_000 // FPS for number in range(FPS * SECONDS)]
    write_clip(path, draw(SEED, truth, times_us), fps=FPS, crf=kind.crf)
    return path


async def test_the_built_in_model_answers_about_a_generated_scene_and_the_rest_is_measured(
    tmp_path: Path,
) -> None:
    clip = generated_clip(tmp_path / "scene.mp4")
    words = ["serve", "--camera", f"scene={clip}", "--camera", f"street={STREET}"]
    async with LivelensProcess(words, model="builtin") as service:
        for camera in ("scene", "street"):
            await service.until(
                f"{camera} has frames",
                lambda camera=camera: service.camera(camera)["window"]["frames"] >= 8,  # type: ignore[misc]
            )
        async with socket(service.url) as connection:
            english = await ask_on(connection, {"cameras": ["scene"], "text": "What do you see?"})
            chinese = await ask_on(connection, {"cameras": ["scene"], "text": "最近5秒发生了什么？"})
            street = await ask_on(connection, {"cameras": ["street"], "text": "What do you see?"})
        assert service.camera("scene")["answered_by"] == "builtin"
        assert service.camera("street")["answered_by"] == "measured"
        assert service.counted("livelens_encode_failures_total") == 0
    for heard in (english, chinese):
        assert (heard.done["model"], heard.done["frames_encoded_now"]) == ("builtin", 0), heard.done
        assert heard.text
        assert heard.done["frames_used"] > 1
        assert {frame["ref"].split("/")[3] for frame in heard.started["frames"]} == {"32"}
    assert "knows only the scenes that livelens generates" in english.done["notice"]
    assert re.search(r"[\u4e00-\u9fff]", chinese.done["notice"])
    assert street.done["model"] == "measured"


async def test_the_built_in_model_can_be_asked_for_by_name(tmp_path: Path) -> None:
    async with LivelensProcess(["serve", "--model", "builtin"]) as service:
        assert service.get("/readyz")["ready"] is True
