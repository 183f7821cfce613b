import pytest

from featcache.settings import Settings


def test_the_defaults_are_allowed() -> None:
    assert Settings().pool_budget_bytes == 1 << 30


@pytest.mark.parametrize("name", ["pool_budget_bytes", "retention_us", "max_records"])
def test_limits_below_one_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        Settings(**{name: 0})
