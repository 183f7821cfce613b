import pytest

from featcache.settings import Settings


def test_the_defaults_are_allowed() -> None:
    assert Settings().pool_budget_bytes == 1 << 30


@pytest.mark.parametrize("name", ["pool_budget_bytes", "retention_us", "max_records"])
def test_limits_below_one_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        Settings(**{name: 0})


def test_gpu_memory_is_none_or_enough_to_hold_something() -> None:
    assert Settings().gpu_budget_bytes == 0
    assert Settings(gpu_budget_bytes=1 << 20).gpu_budget_bytes == 1 << 20
    for wrong in (-1, 1, (1 << 20) - 1):
        with pytest.raises(ValueError, match=f"gpu_budget_bytes must be 0 or at least 1048576, got {wrong}"):
            Settings(gpu_budget_bytes=wrong)


@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:0", "cuda:11"])
def test_devices_are_named_as_torch_names_them(device: str) -> None:
    assert Settings(gpu_device=device).gpu_device == device


@pytest.mark.parametrize("device", ["", "gpu", "CUDA", "cuda:", "cuda:x", "cuda:0 ", "mps"])
def test_names_of_no_device_are_refused(device: str) -> None:
    with pytest.raises(ValueError, match="gpu_device must be cuda, cuda:N or cpu"):
        Settings(gpu_device=device)
