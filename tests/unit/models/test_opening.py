import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.clock import ServiceClock
from core.ids import RequestId, make_frame_ref
from core.meter import NullMeter
from models.builtin import architecture
from models.chat import SYSTEM_TEXT
from models.decoder import Reads, SamplingParams
from models.engine import Engine
from models.errors import DecoderUnavailable, ModelNotLoadable
from models.openai import OpenAIDecoder
from models.openai_settings import OpenAISettings
from models.opening import (
    BuiltinModel,
    LocalModel,
    ModelChoice,
    NoModel,
    RemoteModel,
    VllmModel,
    open_decoder,
    open_tower,
    read_builtin,
)
from models.prompt import FramePart, Prompt
from models.vllm import VllmDecoder
from models.vllm_settings import VllmSettings
from tests.support.tiny_model import NoisePicture, tiny_model_folder
from tests.support.windows import GATE

__all__ = ["tiny_model_folder"]


def opened(choice: ModelChoice) -> Engine | OpenAIDecoder | VllmDecoder | None:
    with ThreadPoolExecutor(1) as executor:
        return open_decoder(choice, executor=executor, clock=ServiceClock(), meter=NullMeter())


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("torch", "transformers", "tokenizers", "huggingface_hub", "safetensors")
    code = f"import sys, models; print([m for m in {heavy!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert out.stdout.strip() == "[]"


def test_no_model_is_no_decoder() -> None:
    assert opened(NoModel()) is None


async def test_an_address_is_a_client_of_it() -> None:
    decoder = opened(RemoteModel(OpenAISettings("http://host", model="llava")))

    assert isinstance(decoder, OpenAIDecoder)
    assert decoder.profile.name == "llava"
    await decoder.aclose()


@pytest.mark.torch
async def test_a_folder_is_an_engine_that_knows_its_profile_before_it_starts(tiny_model_folder: Path) -> None:
    decoder = opened(LocalModel(str(tiny_model_folder), frame_tokens=24, window_tokens=2_048))

    assert isinstance(decoder, Engine)
    assert decoder.profile.frame_tokens == 24
    assert decoder.profile.window_tokens == 2_048
    assert decoder.profile.encoder_version is not None
    assert not decoder.healthy()
    with pytest.raises(DecoderUnavailable, match="not running"):
        await decoder.encode(NoisePicture(1))


@pytest.mark.torch
async def test_the_built_in_model_comes_with_the_package_under_its_own_name_and_sizes() -> None:
    decoder = opened(BuiltinModel())

    assert isinstance(decoder, Engine)
    profile = decoder.profile
    assert (profile.name, profile.frame_tokens, profile.window_tokens) == (
        "builtin",
        architecture.FRAME_TOKENS,
        architecture.WINDOW_TOKENS,
    )
    assert profile.own_world


@pytest.mark.torch
@pytest.mark.parametrize("text", ["What happened?", "发生了什么？" * 20])
async def test_the_built_in_model_takes_any_question_over_up_to_64_frames(text: str) -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="pictures") as executor:
        engine = open_decoder(BuiltinModel(), executor=executor, clock=ServiceClock(), meter=NullMeter())
        assert isinstance(engine, Engine)
        await engine.start()
        try:
            features = await engine.encode(NoisePicture(1, width_px=640, height_px=360))
            for count in (0, 1, 64):
                parts = [
                    FramePart(
                        f"[2026-11-30 14:03:{number:02}.5]",
                        make_frame_ref(GATE, number, encoder=features.encoder_version),
                        features=features,
                    )
                    for number in range(count)
                ]
                prompt = Prompt(SYSTEM_TEXT, tuple(parts), text)
                sampling = SamplingParams(max_tokens=4)
                request = RequestId(f"req_{count}")
                deltas = [d async for d in engine.generate(prompt, request_id=request, sampling=sampling)]
                assert deltas[-1].finish is not None
                usage = deltas[-1].usage
                assert usage is not None
                assert usage.refused == ()
                assert usage.prompt_tokens > count * features.tokens
        finally:
            await engine.aclose()


def test_reading_the_built_in_model_loads_nothing_heavy_and_leaves_room_for_a_full_window() -> None:
    heavy = ("torch", "transformers", "tokenizers", "safetensors")
    code = (
        "import sys; from models.opening import read_builtin; c = read_builtin();"
        f"print(c.context_tokens, [m for m in {heavy!r} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    context, loaded = out.stdout.split(" ", 1)
    assert int(context) >= 4_096
    assert loaded.strip() == "[]"


def test_a_built_in_model_without_weights_is_named_without_a_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(architecture, "__file__", str(tmp_path / "architecture.py"))
    with pytest.raises(ModelNotLoadable, match=r"^cannot load the model 'builtin': its weights are not in"):
        read_builtin()
    (tmp_path / "weights").mkdir()
    with pytest.raises(ModelNotLoadable, match=r"^cannot load the model 'builtin': config.json is missing$"):
        read_builtin()


def test_a_model_that_is_none_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelNotLoadable):
        opened(LocalModel(str(tmp_path)))


@pytest.mark.torch
async def test_vllm_by_refs_has_the_checkpoint_s_profile_and_without_one_takes_pictures(
    tiny_model_folder: Path,
) -> None:
    settings = VllmSettings(OpenAISettings("http://host"))
    by_ref = opened(VllmModel(settings, LocalModel(str(tiny_model_folder), frame_tokens=24)))
    pictures = opened(VllmModel(settings))

    assert isinstance(by_ref, VllmDecoder)
    assert by_ref.profile.reads is Reads.REFS
    assert by_ref.profile.frame_tokens == 24
    assert isinstance(pictures, VllmDecoder)
    assert pictures.profile.reads is Reads.JPEG
    await by_ref.aclose()
    await pictures.aclose()


@pytest.mark.torch
async def test_a_tower_encodes_what_vllm_is_asked_about(tiny_model_folder: Path) -> None:
    choice = LocalModel(str(tiny_model_folder), frame_tokens=24)
    with ThreadPoolExecutor(1) as executor:
        tower = open_tower(choice, executor=executor, clock=ServiceClock(), meter=NullMeter())
        await tower.start()
        features = await tower.encode(NoisePicture(1))
        await tower.aclose()

    assert features.encoder_version == tower.profile.encoder_version
