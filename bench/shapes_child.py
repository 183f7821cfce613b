"""The processes of ``shapes``: write a random checkpoint, run it whole, run a few layers of it. One task each, so that
what memory grows by is that task's.

    python -m bench.shapes_child write NAME FOLDER
    python -m bench.shapes_child whole FOLDER FRAME_TOKENS
    python -m bench.shapes_child layers NAME STEP_TOKENS TOWER_TOKENS
"""

import gc
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from bench.shapes_tally import grid_of
from tests.support.model_configs import CONFIGS
from tests.support.tiny_model import NoisePicture, build_tiny_model

_BLOCK_VALUES = (1 << 24) - 3  # of a length that fits no matrix, so that no two rows are alike
_SPREAD = 0.02
_ROPE = {
    "rope_type": "default",
    "rope_theta": 5_000_000.0,
    "mrope_section": [24, 20, 20],
    "mrope_interleaved": True,
}


def main(words: Sequence[str]) -> None:
    """Do one task and print what it found as a line of JSON."""
    task, *rest = words
    found: Mapping[str, Any] = {}
    match task:
        case "write":
            write_checkpoint(CONFIGS[rest[0]], Path(rest[1]))
        case "whole":
            found = run_whole(Path(rest[0]), int(rest[1]))
        case "layers":
            found = run_layers(CONFIGS[rest[0]], int(rest[1]), int(rest[2]))
        case _:
            raise SystemExit(f"no such task: {task}")
    print(json.dumps(found))


def write_checkpoint(config: Mapping[str, Any], folder: Path) -> None:
    """Write a checkpoint of a configuration with random bf16 weights, and the tests' small tokenizer beside them."""
    import torch
    import transformers

    build_tiny_model(folder)  # tokenizer, chat template, picture settings
    small = json.loads((folder / "config.json").read_text())
    (folder / "model.safetensors").unlink()
    made = transformers.Qwen3VLConfig(**full_config(config, small))
    made.architectures = ["Qwen3VLForConditionalGeneration"]  # vLLM goes by it
    made.save_pretrained(folder)
    with torch.device("meta"):
        model = transformers.Qwen3VLForConditionalGeneration(made)
    shapes = {name: tuple(value.shape) for name, value in model.named_parameters()}
    if made.tie_word_embeddings:
        shapes.pop("lm_head.weight", None)  # it is the embedding
    write_random(folder / "model.safetensors", shapes)


def full_config(config: Mapping[str, Any], small: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration that transformers takes: the shapes of one, the token numbers of another."""
    numbers = {name: value for name, value in small.items() if name.endswith("_token_id")}
    return {
        **numbers,
        "tie_word_embeddings": config["tie_word_embeddings"],
        "dtype": "bfloat16",
        "text_config": {
            **config["text_config"],
            "rope_parameters": _ROPE,
            "dtype": "bfloat16",
        },
        "vision_config": {**config["vision_config"]},
    }


def few_layers(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with two layers of text and four of vision, all of them as wide as before."""
    vision = config["vision_config"]
    kept = list(range(len(vision["deepstack_visual_indexes"])))
    return {
        **config,
        "text_config": {**config["text_config"], "num_hidden_layers": 2},
        "vision_config": {**vision, "depth": len(kept) + 1, "deepstack_visual_indexes": kept},
    }


def write_random(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Write a safetensors file of random bf16 values: one block over and over, as fast as the disk takes it.

    Source: the format is a length, a header in JSON, and the values one after the other.
    """
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in shapes.items():
        size = 2 * int(np.prod(shape, dtype=np.int64))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    values = np.random.default_rng(1).normal(0, _SPREAD, _BLOCK_VALUES).astype(np.float32)
    block = memoryview((values.view(np.uint32) >> 16).astype("<u2").tobytes())
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        while end > 0:
            file.write(block[: min(end, len(block))])
            end -= len(block)


def run_whole(folder: Path, frame_tokens: int) -> dict[str, Any]:
    """Load a checkpoint in bf16 as the engine does, encode a picture, answer a question about it."""
    from core.ids import RequestId, make_frame_ref
    from models.checkpoint import read_checkpoint
    from models.compute import Compute
    from models.decoder import SamplingParams
    from models.intake import take_in
    from models.pictures import prepare
    from models.prompt import FramePart, Prompt
    from models.qwen_vl import QwenVL
    from models.text import ChatText
    from tests.support.qa_stage import GATE

    checkpoint = read_checkpoint(str(folder), frame_tokens=frame_tokens)
    text = ChatText.load(checkpoint)
    runner = QwenVL(checkpoint, Compute("cpu", "bfloat16", threads=_threads()), kept_bytes=0)
    before = resident_bytes()
    runner.load()
    gc.collect()
    loaded, peak = resident_bytes(), peak_resident_bytes()
    prepared = prepare(NoisePicture(1), checkpoint.pictures)
    (features,) = runner.encode([prepared])
    if isinstance(features, Exception):
        raise features
    ref = make_frame_ref(GATE, 1, encoder=features.encoder_version, detail=str(features.tokens))
    prompt = Prompt("Watch.", (FramePart("[14:03:05]", ref, features=features),), "What?")
    intake = take_in(prompt, checkpoint, text=text.encoder, tokens=text.tokens, answer_tokens=2)
    answering = runner.open(intake, SamplingParams(max_tokens=2), RequestId("shapes"))
    rows = runner._rows
    assert rows is not None
    kv_bytes = sum(block.nbytes for block in (*rows._keys, *rows._values))
    runner.prefill(answering, intake.rendered.tokens)
    runner.step([answering])
    return {
        "loaded_bytes": loaded - before,
        "peak_bytes": peak - before,
        "feature_shape": list(features.shape),
        "feature_bytes": len(features.data),
        "deepstack": len(_deepstack(runner._model, prepared)),
        "kv_bytes": kv_bytes,
        "kv_tokens": rows._rows * rows._capacity,
    }


def _deepstack(model: Any, prepared: Any) -> Sequence[object]:
    """Return what the tower itself gives for each DeepStack layer."""
    import torch

    with torch.inference_mode():
        pixels = torch.from_numpy(np.ascontiguousarray(prepared.pixels)).to(model.dtype)
        found: Sequence[object] = model.model.get_image_features(
            pixels, torch.tensor([prepared.grid])
        ).deepstack_features
    return found


def run_layers(config: Mapping[str, Any], step_tokens: int, tower_tokens: int) -> dict[str, int]:
    """Return what is allocated at the peak of a step of a text model, and of its tower, in fp32 at full width."""
    import torch
    import transformers

    from models.kv import KvRows

    torch.set_num_threads(_threads())
    with tempfile.TemporaryDirectory() as folder:
        small = json.loads((build_tiny_model(Path(folder)) / "config.json").read_text())
    made = transformers.Qwen3VLConfig(**full_config(few_layers(config), small))
    made._attn_implementation = "sdpa"
    with torch.device("meta"):
        model = transformers.Qwen3VLForConditionalGeneration(made)
    model = model.float().to_empty(device="cpu").eval()
    model.tie_weights()
    for name, weight in model.named_parameters():
        if "embed_tokens" not in name:  # of its memory only the rows that are read are touched
            torch.nn.init.normal_(weight, std=_SPREAD)
    for value in model.buffers():
        value.zero_()
    text, vision = made.text_config, made.vision_config
    rows = KvRows(
        layers=2,
        heads=text.num_key_value_heads,
        dim=text.head_dim,
        dtype=torch.float32,
        device=torch.device("cpu"),
    )
    slot = rows.open(step_tokens)
    ids = torch.zeros((1, step_tokens), dtype=torch.int64)
    grid = torch.tensor([grid_of(tower_tokens)])
    source = torch.randn(4 * tower_tokens, 3 * vision.temporal_patch_size * vision.patch_size**2)
    with torch.inference_mode():
        step = peak_allocated_bytes(
            lambda: model(
                input_ids=ids, past_key_values=rows.chunk(slot, step_tokens), use_cache=True, logits_to_keep=1
            )
        )
        tower = peak_allocated_bytes(lambda: model.model.get_image_features(source.clone(), grid))
    return {"step_bytes": step, "tower_bytes": tower}


def peak_allocated_bytes(work: Callable[[], object]) -> int:
    """Return the most memory that torch's allocator handed out at a time while ``work`` ran, by its own account."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as account:
        kept = work()
    del kept
    events = account.profiler.kineto_results.events()
    changes = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    return highest(size for _, size in changes)


def highest(changes: Iterable[int]) -> int:
    """Return the highest sum of changes on their way, in bytes."""
    now = most = 0
    for change in changes:
        now += change
        most = max(most, now)
    return most


def resident_bytes() -> int:
    """Return the memory that this process has, pages of mapped files included."""
    return int(psutil.Process().memory_info().rss)


def peak_resident_bytes() -> int:
    """Return the most that it ever had."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return resident_bytes()


def _threads() -> int:
    return len(psutil.Process().cpu_affinity() or [1])


if __name__ == "__main__":
    main(sys.argv[1:])
