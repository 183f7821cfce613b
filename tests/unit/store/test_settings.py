import pytest

from store.settings import Settings


@pytest.mark.parametrize("name", ["busy_timeout_us", "connections"])
def test_limits_below_one_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        Settings(**{name: 0})
