"""The built-in model: a small vision-language model of a toy world, its world, its questions and its training.

Leaves to others: loading and running it (``models.opening``: it is an ordinary Qwen3-VL folder), deciding when it may
speak, and everything about real cameras. Nothing of the product imports the trainer.

    seed ──World──▶ SceneTruth ──Painter──▶ frames ──H.264──▶ sampler ──▶ kept frames ─┐
                        └──Watched (what those frames show)──▶ questions, true answers ─┴──▶ training ──▶ HF folder
"""

from models.builtin.truth import BadTruth, PathKnot, SceneObject, SceneTruth, read_truth, write_truth
from models.builtin.world import World

__all__ = ["BadTruth", "PathKnot", "SceneObject", "SceneTruth", "World", "read_truth", "write_truth"]
