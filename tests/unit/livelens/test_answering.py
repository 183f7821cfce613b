from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.clock import ManualClock
from core.meter import NullMeter
from livelens.answering import answering, choose_model
from livelens.settings import Settings
from models import LocalModel, ModelNotLoadable, NoModel, RemoteLimits, RemoteModel


def test_without_a_model_answers_are_measured() -> None:
    assert choose_model(Settings()) == NoModel()


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


async def test_nobody_named_means_no_encoder_and_the_name_measured() -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="pictures") as executor:
        async with answering(
            Settings(), executor=executor, clock=ManualClock(), meter=NullMeter()
        ) as answers:
            assert (answers.answered_by(), answers.encoder, answers.healthy()) == ("measured", None, True)


async def test_a_folder_that_is_no_model_ends_the_start_with_its_reason(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="pictures") as executor:
        with pytest.raises(ModelNotLoadable, match="cannot load the model"):
            async with answering(
                Settings(model=str(tmp_path)), executor=executor, clock=ManualClock(), meter=NullMeter()
            ):
                raise AssertionError("opened nothing")
