import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.clock import ServiceClock
from core.meter import NullMeter
from models.engine import Engine
from models.errors import DecoderUnavailable, ModelNotLoadable
from models.openai import OpenAIDecoder
from models.openai_settings import OpenAISettings
from models.opening import LocalModel, ModelChoice, NoModel, RemoteModel, open_decoder
from tests.support.tiny_model import NoisePicture, tiny_model_folder

__all__ = ["tiny_model_folder"]


def opened(choice: ModelChoice) -> Engine | OpenAIDecoder | None:
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


def test_a_model_that_is_none_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelNotLoadable):
        opened(LocalModel(str(tmp_path)))
