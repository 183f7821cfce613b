import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.clock import ServiceClock
from core.frames import Picture
from core.meter import NullMeter
from featcache.redis_settings import RedisSettings
from ingest import IngestSettings
from livelens.answering import Answering, KnowsPicture, answering, choose_model
from livelens.errors import WrongSetting
from livelens.settings import Settings
from models import (
    BuiltinModel,
    LocalModel,
    ModelNotLoadable,
    NoModel,
    RemoteLimits,
    RemoteModel,
    VllmLimits,
    VllmModel,
)
from tests.support.scripted_vllm import ScriptedVllm
from tests.support.tiny_model import NoisePicture, eventually, tiny_model_folder

__all__ = ["tiny_model_folder"]


@asynccontextmanager
async def opened(settings: Settings, knows: KnowsPicture = lambda _picture: True) -> AsyncIterator[Answering]:
    with ThreadPoolExecutor(1, thread_name_prefix="pictures") as executor:
        async with answering(
            settings, executor=executor, clock=ServiceClock(), meter=NullMeter(), knows=knows
        ) as answers:
            yield answers


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process one in which the extra ``encoder`` is not installed."""
    for name in ("torch", "transformers", "tokenizers"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "models.qwen_vl", raising=False)


def test_none_means_measured_and_is_the_default() -> None:
    assert choose_model(Settings()) == choose_model(Settings(model="none")) == NoModel()


def test_builtin_means_the_model_in_the_package() -> None:
    assert isinstance(choose_model(Settings(model="builtin")), BuiltinModel)


def test_an_address_wins_over_a_local_model_and_carries_its_key() -> None:
    choice = choose_model(Settings(model="folder", model_url="http://127.0.0.1:11434", model_key="k"))
    assert isinstance(choice, RemoteModel)
    assert choice.settings.api_key == "k"
    assert "'k'" not in repr(choice)


def test_the_limits_of_an_address_are_the_operator_s() -> None:
    limits = RemoteLimits(frame_tokens=64, attempts=1)
    choice = choose_model(Settings(model_url="http://127.0.0.1:11434", remote=limits))
    assert isinstance(choice, RemoteModel)
    assert choice.settings.limits == limits


def test_any_other_name_is_a_local_model() -> None:
    choice = choose_model(Settings(model="Qwen/Qwen3-VL-2B-Instruct"))
    assert isinstance(choice, LocalModel)
    assert choice.model == "Qwen/Qwen3-VL-2B-Instruct"


REDIS = RedisSettings(url="redis://127.0.0.1:1/0", connect_timeout_us=100_000)


def test_with_a_decoder_s_address_the_model_only_encodes_here() -> None:
    settings = Settings(
        model="folder", decoder_url="http://127.0.0.1:8000", redis=REDIS, remote=RemoteLimits(attempts=1)
    )
    choice = choose_model(settings)
    assert isinstance(choice, VllmModel)
    assert choice.encoder == LocalModel("folder")
    assert choice.settings.address.url == "http://127.0.0.1:8000"
    assert choice.settings.address.limits.attempts == 1


def test_a_decoder_without_a_model_here_gets_pictures_and_needs_no_redis() -> None:
    choice = choose_model(Settings(model="none", decoder_url="http://127.0.0.1:8000"))
    assert isinstance(choice, VllmModel)
    assert choice.encoder is None


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"decoder_url": "http://a", "model_url": "http://b"}, "decoder_url"),
        ({"decoder_url": "http://a", "model": "folder"}, "redis.url"),
    ],
)
def test_addresses_that_do_not_go_together_are_named(settings: dict[str, str], named: str) -> None:
    with pytest.raises(WrongSetting, match=named):
        choose_model(Settings(**settings))  # type: ignore[arg-type]  # all of them are texts


@pytest.mark.torch
async def test_a_decoder_that_is_away_is_unwell_and_well_by_itself_once_it_is_there(
    tiny_model_folder: Path,
) -> None:
    server = ScriptedVllm(tiny_model_folder)
    server.start()
    url = server.url
    server.stop()
    settings = Settings(
        model=str(tiny_model_folder),
        frame_tokens=24,
        decoder_url=url,
        redis=REDIS,
        decoder=VllmLimits(probe_every_us=10_000),
    )
    async with opened(settings) as answers, asyncio.TaskGroup() as group:
        watching = group.create_task(answers.look_after())
        await eventually(lambda: not answers.healthy())
        assert answers.encoder is not None
        features = await answers.encoder.encode(NoisePicture(1))
        server.start()
        try:
            await eventually(answers.healthy)
        finally:
            watching.cancel()
            server.stop()

    assert features is not None
    assert answers.decoder is not None
    assert features.encoder_version == answers.decoder.profile.encoder_version == answers.encoder.version


@pytest.mark.torch
async def test_a_process_that_takes_no_cameras_in_loads_no_tower_for_a_decoder_elsewhere(
    tiny_model_folder: Path,
) -> None:
    settings = Settings(
        model=str(tiny_model_folder),
        frame_tokens=24,
        decoder_url="http://127.0.0.1:9",
        redis=REDIS,
        ingest=IngestSettings(enabled=False),
    )
    async with opened(settings) as answers:
        assert (answers.encoder, answers.knows) == (None, None)
        assert answers.decoder is not None
        assert answers.decoder.profile.encoder_version


async def test_without_a_model_there_is_no_encoder_and_the_name_is_measured() -> None:
    async with opened(Settings(model="none")) as answers:
        assert (answers.answered_by(encoded=False), answers.encoder, answers.healthy()) == (
            "measured",
            None,
            True,
        )


async def test_a_folder_that_is_no_model_ends_the_start_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(ModelNotLoadable, match="cannot load the model"):
        async with opened(Settings(model=str(tmp_path))):
            raise AssertionError("opened nothing")


@pytest.mark.torch
async def test_the_built_in_model_encodes_what_it_knows_and_has_nothing_to_say_of_the_rest() -> None:
    asked: list[str] = []

    def knows(picture: Picture) -> bool:
        asked.append(threading.current_thread().name)
        return picture is known

    known, unknown = NoisePicture(1), NoisePicture(2)
    async with opened(Settings(model="builtin"), knows) as answers:
        encoder: Any = answers.encoder
        features = await encoder.encode(known)
        assert features is not None
        assert features.encoder_version == encoder.version
        assert features.tokens <= 32
        assert await encoder.encode(unknown) is None
        assert encoder.engine.frames_encoded == 1
        assert (answers.answered_by(encoded=True), answers.answered_by(encoded=False)) == (
            "builtin",
            "measured",
        )
    assert all(name.startswith("pictures") for name in asked)


@pytest.mark.usefixtures("without_the_extra")
async def test_without_the_extra_a_built_in_model_asked_for_by_name_ends_the_start() -> None:
    with pytest.raises(ModelNotLoadable, match=r"'builtin'.*the extra 'encoder' is not installed"):
        async with opened(Settings(model="builtin")):
            raise AssertionError("opened nothing")
