import pytest

from models.compute import Compute, Hardware, choose_compute, look_at_hardware

OLD_CPU = Hardware(cuda=False, cuda_bf16=False, cpu_bf16=False)
NEW_CPU = Hardware(cuda=False, cuda_bf16=False, cpu_bf16=True)
GPU = Hardware(cuda=True, cuda_bf16=True, cpu_bf16=False)
OLD_GPU = Hardware(cuda=True, cuda_bf16=False, cpu_bf16=False)


@pytest.mark.parametrize(
    ("hardware", "weights", "wanted"),
    [
        (OLD_CPU, "bfloat16", Compute("cpu", "float32")),
        (NEW_CPU, "bfloat16", Compute("cpu", "bfloat16")),
        (NEW_CPU, "float16", Compute("cpu", "float32")),
        (NEW_CPU, "float32", Compute("cpu", "float32")),
        (GPU, "bfloat16", Compute("cuda", "bfloat16")),
        (GPU, "float16", Compute("cuda", "float16")),
        (GPU, "float32", Compute("cuda", "float32")),
        (OLD_GPU, "bfloat16", Compute("cuda", "float16")),
    ],
)
def test_a_model_computes_in_its_own_type_where_that_is_quick(
    hardware: Hardware, weights: str, wanted: Compute
) -> None:
    assert choose_compute(hardware, weights) == wanted


def test_what_the_user_says_holds() -> None:
    assert choose_compute(GPU, "bfloat16", device="cpu", dtype="float32") == Compute("cpu", "float32")


@pytest.mark.parametrize(("cores", "asked", "wanted"), [(1, 0, 1), (2, 0, 1), (8, 0, 7), (8, 2, 2)])
def test_one_core_is_left_to_others_unless_the_user_says_how_many(
    cores: int, asked: int, wanted: int
) -> None:
    hardware = Hardware(cuda=False, cuda_bf16=False, cpu_bf16=False, cores=cores)

    assert choose_compute(hardware, "float32", threads=asked).threads == wanted


@pytest.mark.torch
def test_this_machine_can_be_looked_at() -> None:
    assert isinstance(look_at_hardware().cuda, bool)
