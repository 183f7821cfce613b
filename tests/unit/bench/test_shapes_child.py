from pathlib import Path

import pytest

from bench.shapes_child import (
    few_layers,
    full_config,
    highest,
    peak_allocated_bytes,
    peak_resident_bytes,
    resident_bytes,
    write_random,
)
from tests.support.model_configs import QWEN3_VL_2B


def test_few_layers_leave_every_width_as_it_is() -> None:
    small = few_layers(QWEN3_VL_2B)
    assert small["text_config"] == QWEN3_VL_2B["text_config"] | {"num_hidden_layers": 2}
    assert small["vision_config"] == QWEN3_VL_2B["vision_config"] | {
        "depth": 4,
        "deepstack_visual_indexes": [0, 1, 2],
    }


def test_a_configuration_takes_its_shapes_from_one_and_its_tokens_from_another() -> None:
    found = full_config(QWEN3_VL_2B, {"image_token_id": 7, "text_config": {"hidden_size": 1}})
    assert found["image_token_id"] == 7
    assert found["text_config"]["hidden_size"] == 2048
    assert found["tie_word_embeddings"] is True
    assert sum(found["text_config"]["rope_parameters"]["mrope_section"]) == 128 // 2


def test_the_highest_sum_on_the_way_counts_not_the_last() -> None:
    assert highest([4, 6, -4, 3, -9]) == 10
    assert highest([]) == 0


def test_memory_is_read_from_the_process_itself() -> None:
    assert 0 < resident_bytes() <= peak_resident_bytes() * 1.05


@pytest.mark.torch
def test_random_weights_are_a_file_that_safetensors_reads(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    write_random(tmp_path / "model.safetensors", {"wide": (300, 70), "norm": (70,)})
    found = load_file(tmp_path / "model.safetensors")
    assert {name: (tuple(value.shape), value.dtype) for name, value in found.items()} == {
        "wide": ((300, 70), torch.bfloat16),
        "norm": ((70,), torch.bfloat16),
    }
    assert 0.01 < found["wide"].float().std() < 0.03


@pytest.mark.torch
def test_the_peak_is_what_was_held_at_one_time() -> None:
    import torch

    def work() -> object:
        for _ in range(3):
            torch.zeros(1 << 20, dtype=torch.uint8)
        first = torch.zeros(1 << 20, dtype=torch.uint8)
        return torch.cat([first, first])

    assert peak_allocated_bytes(work) == pytest.approx(3 << 20, rel=0.01)
