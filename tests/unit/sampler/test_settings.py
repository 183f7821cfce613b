"""Settings of the sampler."""

import pytest

from sampler.settings import SamplerSettings


def test_the_defaults_are_allowed() -> None:
    assert SamplerSettings().heartbeat_us == 2_000_000


@pytest.mark.parametrize(
    ("name", "value"), [("plane_side_px", 8), ("motion_per_s", 0), ("jpeg_quality", 101), ("heartbeat_us", 0)]
)
def test_a_wrong_value_names_its_key_and_what_is_allowed(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=rf"{name} must be \d+ to \d+, got {value}"):
        SamplerSettings(**{name: value})
