from pathlib import Path

import pytest

from bench import gpu_encoder
from bench.gpu_encoder import LARGE, LARGE_TOKENS, SIDE_PX, encoder_figures, tower_config
from bench.gpu_table import CPU
from models.pictures import PictureRules, fit_cells
from tests.support.model_configs import CONFIGS
from tests.support.tiny_model import tiny_model_folder

__all__ = ["tiny_model_folder"]


def test_the_towers_shape_is_that_of_the_whole_model() -> None:
    config = tower_config(CONFIGS[LARGE])
    assert config["vision_config"] == CONFIGS[LARGE]["vision_config"]
    assert config["text_config"]["hidden_size"] == CONFIGS[LARGE]["text_config"]["hidden_size"]
    assert config["text_config"]["num_hidden_layers"] == 1


@pytest.mark.torch
def test_frames_a_second_are_told_for_each_batch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_model_folder: Path
) -> None:
    monkeypatch.setattr(gpu_encoder, "CACHE", tmp_path)
    (tmp_path / "small-qwen3-vl").symlink_to(tiny_model_folder)
    figures = encoder_figures(CPU, quick=True)
    assert [figure.name for figure in figures] == ["gpu.cpu.encoder.small.1", "gpu.cpu.encoder.small.4"]
    assert all(figure.value > 0 and figure.unit == "frames/s" for figure in figures)


def test_the_picture_of_the_bench_has_as_many_tokens_as_it_says() -> None:
    ones = (1.0, 1.0, 1.0)
    rules = PictureRules(16, 2, 2, mean=ones, std=ones, rescale=1 / 255, frame_tokens=LARGE_TOKENS)
    cells = fit_cells(SIDE_PX, SIDE_PX, rules)
    assert cells.rows * cells.columns == LARGE_TOKENS
