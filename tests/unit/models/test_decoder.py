from core.ids import CameraId, make_frame_ref
from models.decoder import Delta, ModelProfile, Reads, SamplingParams, Usage
from models.engine import Engine
from models.openai import OpenAIDecoder
from tests.support.scripted_decoder import ScriptedDecoder


def test_sampling_is_greedy_unless_told_otherwise() -> None:
    assert SamplingParams().temperature == 0.0
    assert SamplingParams().seed is None


def test_a_delta_in_mid_stream_says_neither_why_nor_how_many() -> None:
    assert Delta("word") == Delta("word", finish=None, usage=None)


def test_usage_names_the_frames_that_were_left_out() -> None:
    ref = make_frame_ref(CameraId("gate"), 1)
    assert Usage(1, 2).refused == ()
    assert Usage(1, 2, refused=(ref,)).refused == (ref,)


def test_a_decoder_of_pictures_has_no_encoder_version() -> None:
    assert ModelProfile("m", Reads.JPEG, 1, 2).encoder_version is None


def test_every_decoder_has_what_the_seam_asks_for() -> None:
    for decoder in (Engine, OpenAIDecoder, ScriptedDecoder):
        assert all(hasattr(decoder, name) for name in ("profile", "generate", "healthy"))
