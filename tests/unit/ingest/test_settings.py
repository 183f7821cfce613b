"""Settings of ingest."""

import pytest

from ingest.settings import IngestSettings


def test_the_defaults_are_valid() -> None:
    assert IngestSettings().read_timeout_s == 10.0


@pytest.mark.parametrize(
    "wrong", [{"read_timeout_s": 0}, {"handover_frames": -1}, {"longest_pause_s": 0.1}, {"slow_pause_s": 999}]
)
def test_a_wrong_value_is_refused_when_set(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        IngestSettings(**wrong)  # type: ignore[arg-type]
