"""Features in pages of a device, here of the machine's own memory: told as such, and read there by the model."""

from pathlib import Path

import pytest

from tests.support.asking import ask
from tests.support.clips import Shot, constant_rate, write_clip
from tests.support.service import LivelensProcess, ServiceFailed
from tests.support.tiny_model import tiny_model_folder

__all__ = ["tiny_model_folder"]

pytestmark = [pytest.mark.slow, pytest.mark.torch]

MODEL = {"LIVELENS_FRAME_TOKENS": "24", "LIVELENS_ENGINE__DTYPE": "float32"}
PAGES = {"LIVELENS_WINDOW__GPU_BUDGET_BYTES": str(1 << 20), "LIVELENS_WINDOW__GPU_DEVICE": "cpu"}


@pytest.mark.parametrize("int8", ["false", "true"])
async def test_questions_are_answered_from_features_in_pages_and_the_tier_is_told(
    tmp_path: Path, tiny_model_folder: Path, int8: str
) -> None:
    clip = write_clip(tmp_path / "moving.mp4", [Shot(constant_rate(60))])
    words = ["serve", "--model", str(tiny_model_folder)]
    settings = MODEL | PAGES | {"LIVELENS_WINDOW__INT8_FEATURES": int8}
    async with LivelensProcess(words, settings=settings) as service:
        body = {"id": "gate", "source": {"url": clip.as_uri()}}
        assert service.call("POST", "/api/v1/cameras", body).status_code == 201
        await service.until_state("gate", "offline")
        encoded = service.counted("livelens_frames_encoded_total")
        kept = service.camera("gate")["window"]["frames"]
        assert encoded == kept > 5
        heard = await ask(
            service.url,
            {"cameras": ["gate"], "text": "What happened?", "window": {"last_s": 60}, "max_tokens": 8},
        )
        assert heard.done["model"] == tiny_model_folder.name
        assert (heard.done["frames_used"], heard.done["frames_encoded_now"]) == (kept, 0)
        assert heard.text
        timeline = service.get("/api/v1/cameras/gate/timeline?last_s=600")
        assert [tier["tier"] for tier in timeline["tiers"]] == ["gpu"]
        assert service.counted('livelens_window_frames{tier="gpu"}') == kept
        assert service.counted('livelens_window_frames{tier="memory"}') == 0
        assert 0 < service.counted('livelens_window_bytes{tier="gpu"}') <= 1 << 20


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            {"GPU_BUDGET_BYTES": "5"},
            r"livelens: window .*gpu_budget_bytes must be 0 or at least 1048576, got 5",
        ),
        (
            {"GPU_BUDGET_BYTES": str(1 << 20), "GPU_DEVICE": "cuda:63"},
            r"livelens: window\.gpu_device = 'cuda:63': there is no such device; there is cpu",
        ),
        (
            {"GPU_BUDGET_BYTES": str(1 << 60), "GPU_DEVICE": "cpu"},
            r"livelens: window\.gpu_budget_bytes = 1152921504606846976: cpu has \d+ bytes of memory",
        ),
    ],
)
async def test_memory_that_cannot_be_had_ends_the_start_with_one_line(
    settings: dict[str, str], line: str
) -> None:
    named = {f"LIVELENS_WINDOW__{name}": value for name, value in settings.items()}
    with pytest.raises(ServiceFailed, match=line):
        async with LivelensProcess(["serve", "--model", "none"], settings=named):
            raise AssertionError("started all the same")
