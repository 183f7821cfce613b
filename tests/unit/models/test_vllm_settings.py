import pytest

from models.openai_settings import OpenAISettings
from models.vllm_settings import VllmLimits, VllmSettings


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000"),
        ("https://host/gate/v1/", "https://host/gate"),
    ],
)
def test_the_engine_s_health_is_asked_beside_its_chat_completions(url: str, root: str) -> None:
    assert VllmSettings(OpenAISettings(url)).root == root


@pytest.mark.parametrize("name", ["probe_every_us", "probe_timeout_us", "frames_timeout_us", "inline_frames"])
def test_limits_that_make_no_sense_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        VllmLimits(**{name: 0})
