"""The model itself: what comes out of pixels through transformers comes out of stored features too."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForImageTextToText
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from core.frames import BadFeatures, FarBytes, Features
from core.ids import CameraId, RequestId, make_frame_ref
from models.checkpoint import FAMILIES, Checkpoint, read_checkpoint
from models.compute import Compute
from models.decoder import SamplingParams
from models.errors import ModelNotLoadable
from models.intake import take_in
from models.pictures import Prepared, prepare
from models.prompt import FramePart, Prompt, Turn
from models.qwen_vl import QwenVL
from models.text import ChatText
from tests.support.tiny_model import NoisePicture, build_tiny_model

pytestmark = pytest.mark.torch

FP32 = Compute("cpu", "float32")
LENGTH = 16


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of each family in turn."""
    torch.set_num_threads(1)
    return build_tiny_model(tmp_path_factory.mktemp("families") / request.param, family=request.param)


@pytest.fixture(scope="module")
def checkpoint(folder: Path) -> Checkpoint:
    return read_checkpoint(str(folder), frame_tokens=24)


@pytest.fixture(scope="module")
def model(checkpoint: Checkpoint) -> QwenVL:
    loaded = QwenVL(checkpoint, FP32, kept_bytes=1 << 28)
    loaded.load()
    return loaded


@pytest.fixture(scope="module")
def text(checkpoint: Checkpoint) -> ChatText:
    return ChatText.load(checkpoint)


@pytest.fixture(scope="module")
def pictures() -> list[NoisePicture]:
    return [NoisePicture(n, 640, 360 if n % 2 else 480) for n in range(8)]


@pytest.fixture(scope="module")
def features(model: QwenVL, checkpoint: Checkpoint, pictures: list[NoisePicture]) -> list[Features]:
    found = model.encode([prepare(picture, checkpoint.pictures) for picture in pictures])
    assert all(isinstance(f, Features) for f in found)
    return [f for f in found if isinstance(f, Features)]


Ask = Callable[..., list[int]]


@pytest.fixture
def ask(model: QwenVL, checkpoint: Checkpoint, text: ChatText, features: list[Features]) -> Ask:
    """Return a function that answers a question about numbered frames and tells what was reused."""
    model.forget()

    def run(
        numbers: Sequence[int], question: str = "What?", *, piece: int = 512, history: tuple[Turn, ...] = ()
    ) -> list[int]:
        intake = take_in(
            prompt_of(numbers, question, features, history),
            checkpoint,
            text=text.encoder,
            tokens=text.tokens,
            answer_tokens=LENGTH,
        )
        answering = model.open(intake, SamplingParams(LENGTH), RequestId("r"))
        run.reused = answering.cached_tokens  # type: ignore[attr-defined]
        run.stem = intake.rendered.stem  # type: ignore[attr-defined]
        while (token := model.prefill(answering, piece)) is None:
            pass
        tokens = [token]
        while len(tokens) < LENGTH:
            tokens += model.step([answering])
        model.close(answering)
        return tokens

    return run


def prompt_of(
    numbers: Sequence[int], question: str, features: Sequence[Features | None], history: tuple[Turn, ...] = ()
) -> Prompt:
    parts = tuple(
        FramePart(f"[14:03:{n:02d}]", make_frame_ref(CameraId("gate"), n, encoder="e"), features=features[n])
        for n in numbers
    )
    return Prompt("You watch.", parts, question, history)


def through_transformers(
    folder: Path,
    checkpoint: Checkpoint,
    text: ChatText,
    pictures: list[NoisePicture],
    prompt: Prompt,
    features: list[Features],
    numbers: Sequence[int],
) -> list[int]:
    """Return the tokens that transformers' own ``generate`` makes of pixels, features rounded as stored ones are."""
    theirs: Any = AutoModelForImageTextToText.from_pretrained(folder).eval()
    plain = theirs.model.get_image_features

    def rounding(pixel_values: Any, image_grid_thw: Any = None, **kwargs: Any) -> Any:
        seen = plain(pixel_values, image_grid_thw, **kwargs)
        seen.pooler_output = tuple(v.bfloat16().float() for v in seen.pooler_output)
        if hasattr(seen, "deepstack_features"):
            seen.deepstack_features = [
                tuple(v.bfloat16().float() for v in layer) for layer in seen.deepstack_features
            ]
        return seen

    theirs.model.get_image_features = rounding
    intake = take_in(prompt, checkpoint, text=text.encoder, tokens=text.tokens, answer_tokens=LENGTH)
    ids = torch.from_numpy(intake.rendered.ids)[None]
    side = checkpoint.pictures.patch_px
    images = [pictures[n].rgb(features[n].grid[2] * side, features[n].grid[1] * side) for n in numbers]
    seen = Qwen2VLImageProcessorPil.from_pretrained(folder)(images, do_resize=False, return_tensors="pt")
    out = theirs.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        pixel_values=seen["pixel_values"],
        image_grid_thw=seen["image_grid_thw"],
        mm_token_type_ids=(ids == text.tokens.image_pad).int(),
        max_new_tokens=LENGTH,
        min_new_tokens=LENGTH,
        do_sample=False,
        eos_token_id=None,
    )
    return out[0, ids.shape[1] :].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("numbers", [(0,), (0, 1, 2), (0, 1, 2, 3, 4, 5, 6, 7)])
@pytest.mark.filterwarnings("ignore")
def test_stored_features_give_the_tokens_that_transformers_makes_of_pixels(
    ask: Ask,
    folder: Path,
    checkpoint: Checkpoint,
    text: ChatText,
    pictures: list[NoisePicture],
    features: list[Features],
    numbers: tuple[int, ...],
) -> None:
    prompt = prompt_of(numbers, "What?", features)
    wanted = through_transformers(folder, checkpoint, text, pictures, prompt, features, numbers)

    assert ask(numbers) == wanted
    assert len(set(wanted)) > 3, "a model that repeats itself would prove nothing"


def test_positions_are_those_the_model_itself_would_compute(
    model: QwenVL, checkpoint: Checkpoint, text: ChatText, features: list[Features]
) -> None:
    intake = take_in(
        prompt_of((0, 1, 2), "What?", features),
        checkpoint,
        text=text.encoder,
        tokens=text.tokens,
        answer_tokens=1,
    )
    ids = torch.from_numpy(intake.rendered.ids)[None]
    grids = torch.tensor([f.grid for f in intake.features])
    positions, delta = model._model.model.get_rope_index(
        ids, (ids == text.tokens.image_pad).int(), image_grid_thw=grids
    )

    assert intake.rendered.positions.tolist() == positions[:, 0].tolist()
    assert intake.rendered.next_position == ids.shape[1] + int(delta)


def test_prompts_have_the_form_of_the_checkpoint_s_own_chat_template(
    folder: Path, checkpoint: Checkpoint, text: ChatText, features: list[Features]
) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompt = prompt_of((0, 1), "And 刚刚?", features, (Turn("What?", "A van at [14:03:01]."),))
    frames: list[dict[str, str]] = []
    for part in prompt.frames:
        frames += [{"type": "text", "text": part.label}, {"type": "image"}]
    messages = [
        {"role": "system", "content": prompt.system},
        {"role": "user", "content": [*frames, {"type": "text", "text": "\nWhat?"}]},
        {"role": "assistant", "content": "A van at [14:03:01]."},
        {"role": "user", "content": prompt.question},
    ]
    written = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    for held in (features[0], features[1]):
        written = written.replace(
            "<|image_pad|><|vision_end|>", "<|IMAGE|>" * held.tokens + "<|vision_end|>", 1
        )
    wanted = tokenizer.encode(written.replace("<|IMAGE|>", "<|image_pad|>"), add_special_tokens=False)
    intake = take_in(prompt, checkpoint, text=text.encoder, tokens=text.tokens, answer_tokens=1)

    assert intake.rendered.ids.tolist() == wanted


def test_another_question_one_more_frame_and_a_slid_window_give_the_tokens_of_a_cold_run(
    model: QwenVL, ask: Ask
) -> None:
    asked = [
        ((0, 1, 2, 3), "What?"),
        ((0, 1, 2, 3), "Who came to the gate?"),  # another question
        ((0, 1, 2, 3, 4), "What?"),  # one more frame
        ((2, 3, 4, 5), "What?"),  # the window slid
        ((0, 1, 6, 3), "What?"),  # another frame in the middle
        ((0, 1, 2), "What?"),  # fewer frames
        ((), "What?"),
    ]
    cold = []
    for numbers, question in asked:
        model.forget()
        cold.append(ask(numbers, question))
        assert ask.reused == 0  # type: ignore[attr-defined]
    model.forget()
    ask((0, 1, 2, 3), "What?")
    reused = []
    for (numbers, question), wanted in zip(asked, cold, strict=True):
        assert ask(numbers, question) == wanted
        reused.append(ask.reused)  # type: ignore[attr-defined]

    assert all(tokens > 0 for tokens in reused[:6])
    assert reused[1] > 4 * 20


def test_a_follow_up_reuses_the_frames(ask: Ask) -> None:
    ask((0, 1, 2), "What?")
    ask((0, 1, 2), "And then?", history=(Turn("What?", "Nothing."),))

    assert ask.reused == ask.stem  # type: ignore[attr-defined]


@pytest.mark.parametrize("piece", [1, 7, 33, 1000])
def test_a_prompt_may_be_computed_in_pieces_of_any_size(model: QwenVL, ask: Ask, piece: int) -> None:
    whole = ask((0, 1, 2))
    model.forget()

    assert ask((0, 1, 2), piece=piece) == whole


def test_answers_join_and_leave_a_batch_without_changing_one_another(
    model: QwenVL, checkpoint: Checkpoint, text: ChatText, features: list[Features], ask: Ask
) -> None:
    frames = [(0,), (0, 1, 2), (3, 4), (5, 6, 7, 0, 1), (2,)]
    alone = [ask(numbers, f"Question {n}?") for n, numbers in enumerate(frames)]
    model.forget()

    def begin(n: int) -> tuple[Any, list[int]]:
        intake = take_in(
            prompt_of(frames[n], f"Question {n}?", features),
            checkpoint,
            text=text.encoder,
            tokens=text.tokens,
            answer_tokens=LENGTH,
        )
        answering = model.open(intake, SamplingParams(LENGTH), RequestId("r"))
        while (token := model.prefill(answering, 64)) is None:
            pass
        return answering, [token]

    running: dict[int, tuple[Any, list[int]]] = {}
    done: dict[int, list[int]] = {}
    waiting = list(range(len(frames)))
    while waiting or running:
        if waiting and len(running) < 4:
            n = waiting.pop(0)
            running[n] = begin(n)
        order = sorted(running, reverse=len(done) % 2 == 0)
        for n, token in zip(order, model.step([running[n][0] for n in order]), strict=True):
            running[n][1].append(token)
            if len(running[n][1]) == LENGTH:
                model.close(running[n][0])
                done[n] = running.pop(n)[1]

    assert [done[n] for n in range(len(frames))] == alone
    assert model.rows_bytes == 0


def test_features_are_the_pooled_tokens_with_deepstack_beside_them_in_the_stored_type(
    model: QwenVL, checkpoint: Checkpoint, features: list[Features], pictures: list[NoisePicture]
) -> None:
    prepared = prepare(pictures[0], checkpoint.pictures)
    with torch.inference_mode():
        seen = model._model.model.get_image_features(
            torch.from_numpy(prepared.pixels), torch.tensor([prepared.grid])
        )
    wanted = torch.cat(
        [seen.pooler_output[0], *(layer[0] for layer in getattr(seen, "deepstack_features", ()))], dim=1
    ).bfloat16()
    stored = torch.from_numpy(features[0].bits().astype(np.int16)).view(torch.bfloat16)

    assert features[0].shape == (wanted.shape[0], checkpoint.feature_width)
    assert features[0].grid == prepared.grid
    assert features[0].encoder_version == checkpoint.encoder_version
    assert torch.allclose(stored.float(), wanted.float(), atol=0.02, rtol=0.02)


class OnDevice(FarBytes):
    """Features that lie on the model's own device; asked for in memory, they fail."""

    def __init__(self, data: bytes, device: str) -> None:
        self._tensor = torch.from_numpy(np.frombuffer(data, np.uint8).copy())
        self._device = device

    def __len__(self) -> int:
        return len(self._tensor)

    @property
    def room_bytes(self) -> int:
        return len(self)

    def near(self) -> bytes:
        if self._device == FP32.device:
            raise AssertionError("asked for by way of memory")
        return bytes(self._tensor.numpy())

    def on(self, device: str) -> torch.Tensor | None:
        return self._tensor.clone() if device == self._device else None


@pytest.mark.parametrize("device", [FP32.device, "elsewhere"])
def test_features_on_a_device_are_read_there_by_a_model_on_it_and_through_memory_by_others(
    ask: Ask, features: list[Features], device: str
) -> None:
    numbers = [3, 0, 5]
    in_memory = ask(numbers, piece=17)
    kept = list(features)
    try:
        features[:] = [replace(one, data=OnDevice(bytes(one.near()), device)) for one in kept]
        assert ask(numbers, piece=17) == in_memory
    finally:
        features[:] = kept


def test_a_picture_that_makes_no_numbers_is_refused_alone(model: QwenVL, checkpoint: Checkpoint) -> None:
    good = prepare(NoisePicture(1), checkpoint.pictures)
    bad = Prepared(np.full_like(good.pixels, np.nan), good.grid)
    found = model.encode([good, bad])

    assert isinstance(found[0], Features)
    assert isinstance(found[1], BadFeatures)


def test_kept_states_stay_within_their_budget(
    checkpoint: Checkpoint, text: ChatText, features: list[Features]
) -> None:
    small = QwenVL(checkpoint, FP32, kept_bytes=200_000)
    small.load()
    for n in range(8):
        intake = take_in(
            prompt_of((n,), "What?", features),
            checkpoint,
            text=text.encoder,
            tokens=text.tokens,
            answer_tokens=1,
        )
        answering = small.open(intake, SamplingParams(1), RequestId("r"))
        small.prefill(answering, 1_000)
        small.close(answering)
        assert small.kept_bytes <= 200_000

    assert small.kept_bytes > 0


def test_sixteen_bit_weights_compute_and_store(tmp_path: Path) -> None:
    for dtype in ("bfloat16", "float16"):
        checkpoint = read_checkpoint(str(build_tiny_model(tmp_path / dtype, dtype=dtype)), frame_tokens=24)
        model = QwenVL(
            checkpoint, Compute("cpu", "bfloat16" if dtype == "bfloat16" else "float32"), kept_bytes=0
        )
        model.load()
        (found,) = model.encode([prepare(NoisePicture(1), checkpoint.pictures)])
        assert isinstance(found, Features)
        assert found.dtype is checkpoint.feature_type


def test_weights_that_are_missing_or_damaged_end_the_start_with_a_line(
    folder: Path, tmp_path: Path, checkpoint: Checkpoint
) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    weights.pop(next(name for name in weights if "visual.merger." in name))
    for file in folder.iterdir():
        if file.suffix != ".safetensors":
            (tmp_path / file.name).symlink_to(file)
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelNotLoadable, match=r"weights are missing: .*merger\."):
        QwenVL(replace(checkpoint, folder=tmp_path), FP32, kept_bytes=0).load()
    (tmp_path / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0not json at all!")
    with pytest.raises(ModelNotLoadable) as error:
        QwenVL(replace(checkpoint, folder=tmp_path), FP32, kept_bytes=0).load()
    assert "\n" not in str(error.value)


def test_the_older_form_of_a_folder_gives_the_same_answer(tmp_path: Path) -> None:
    """Hubs have Qwen2 checkpoints with the text model's values on the first level, and rotary sections elsewhere."""
    checkpoint = read_checkpoint(str(build_tiny_model(tmp_path, family="qwen2_5_vl")), frame_tokens=24)
    config = json.loads((tmp_path / "config.json").read_text())
    text = config.pop("text_config")
    sections = text.pop("rope_parameters")["mrope_section"]
    older = {"torch_dtype": config.pop("dtype"), "rope_scaling": {"type": "mrope", "mrope_section": sections}}
    theta = {"rope_theta": 10_000.0, "use_sliding_window": False, "sliding_window": 32_768}
    del text["model_type"], text["layer_types"]
    (tmp_path / "config.json").write_text(json.dumps(text | config | older | theta))
    older_form = read_checkpoint(str(tmp_path), frame_tokens=24)
    said = []
    for form in (checkpoint, older_form):
        model = QwenVL(form, FP32, kept_bytes=0)
        model.load()
        text_of = ChatText.load(form)
        seen = model.encode([prepare(NoisePicture(n), form.pictures) for n in range(2)])
        prompt = prompt_of((0, 1), "What?", [f for f in seen if isinstance(f, Features)])
        intake = take_in(prompt, form, text=text_of.encoder, tokens=text_of.tokens, answer_tokens=LENGTH)
        answering = model.open(intake, SamplingParams(LENGTH), RequestId("r"))
        said.append([model.prefill(answering, 1_000), *(model.step([answering])[0] for _ in range(8))])

    assert (older_form.feature_width, older_form.context_tokens, older_form.weights_type) == (
        checkpoint.feature_width,
        checkpoint.context_tokens,
        checkpoint.weights_type,
    )
    assert said[0] == said[1]
    assert len(set(said[0])) > 3


def test_a_text_model_that_forgets_is_refused(tmp_path: Path) -> None:
    checkpoint = read_checkpoint(str(build_tiny_model(tmp_path, family="qwen2_vl")))
    config = json.loads((tmp_path / "config.json").read_text())
    config["text_config"] |= {"use_sliding_window": True, "sliding_window": 64, "max_window_layers": 1}
    del config["text_config"]["layer_types"]
    (tmp_path / "config.json").write_text(json.dumps(config))

    with pytest.raises(ModelNotLoadable, match="sliding attention"):
        QwenVL(checkpoint, FP32, kept_bytes=0).load()
