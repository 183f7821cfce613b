from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.frames import BadFeatures, Features, FeatureType
from core.ids import CameraId, FrameRef, make_frame_ref
from models.chat import ChatTokens
from models.checkpoint import Checkpoint
from models.decoder import ModelProfile, Reads
from models.errors import NoUsableFrames, PromptTooLarge
from models.intake import Intake, check_features, take_in
from models.pictures import PictureRules
from models.prompt import Dialogue, FramePart, Message, PicturePart, Prompt, Role, TextPart

VERSION = "0123456789ab"
CHECKPOINT = Checkpoint(
    name="tiny",
    model_class="Qwen3VLForConditionalGeneration",
    folder=Path(),
    profile=ModelProfile("tiny", Reads.FEATURES, 24, 500, VERSION),
    pictures=PictureRules(16, 2, 2, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), 1 / 255, 24),
    encoder_version=VERSION,
    feature_width=8,
    feature_type=FeatureType.BF16,
    weights_type="float32",
    context_tokens=200,
    end_tokens=(),
)


class Letters:
    def encode(self, text: str) -> list[int]:
        return [ord(c) for c in text]


def features(rows: int = 4, columns: int = 6, width: int = 8, version: str = VERSION) -> Features:
    tokens = rows * columns // 4
    return Features(
        np.ones((tokens, width), "<u2").tobytes(),
        FeatureType.BF16,
        (tokens, width),
        (1, rows, columns),
        version,
    )


def ref(n: int) -> FrameRef:
    return make_frame_ref(CameraId("gate"), n, encoder=VERSION, detail="6")


def frame(n: int, held: Features | None) -> FramePart:
    return FramePart(f"<{n}>", ref(n), features=held)


def take(*parts: FramePart | TextPart, answer_tokens: int = 10) -> Intake:
    tokens = ChatTokens(-1, -2, -3, -4, -5)
    return take_in(
        Prompt("s", parts, "q"), CHECKPOINT, text=Letters(), tokens=tokens, answer_tokens=answer_tokens
    )


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (None, "without features"),
        (features(version="ffffffffffff"), "of encoder ffffffffffff"),
        (features(width=9), "9 wide"),
        (replace(features(), dtype=FeatureType.F16), "f16"),
        (replace(features(), grid=(1, 4, 4)), "has not 6 tokens"),
        (replace(features(), grid=(2, 4, 6)), "no grid of one picture"),
        (replace(features(), grid=(1, 3, 8)), "no grid of one picture"),
        (replace(features(), grid=(1, 0, 6)), "no grid of one picture"),
        (replace(features(), grid=(1, -4, -6)), "no grid of one picture"),
    ],
)
def test_features_of_another_kind_are_refused_with_the_reason(bad: Features | None, why: str) -> None:
    with pytest.raises(BadFeatures, match=why):
        check_features(bad, CHECKPOINT)


def test_good_features_pass() -> None:
    good = features()
    assert check_features(good, CHECKPOINT) is good


def test_a_refused_frame_leaves_with_its_label_and_is_named() -> None:
    intake = take(frame(1, features()), frame(2, None), TextPart("still"), frame(3, features(2, 2)))
    text = "".join(chr(i) for i in intake.rendered.ids.tolist() if i > 0)

    assert intake.refused == (ref(2),)
    assert [placed.ref for placed in intake.rendered.frames] == [ref(1), ref(3)]
    assert [len(f.data) // 16 for f in intake.features] == [6, 1]
    assert "<2>" not in text
    assert "<1>" in text
    assert "still" in text


def test_a_prompt_whose_frames_are_all_refused_is_not_answered_blind() -> None:
    with pytest.raises(NoUsableFrames, match="none of the 2 frames"):
        take(frame(1, None), frame(2, features(width=7)))


def test_a_dialogue_is_taken_whole_or_not_at_all() -> None:
    tokens = ChatTokens(-1, -2, -3, -4, -5)
    good, bad = PicturePart(ref(1), features=features()), PicturePart(ref(2), features=features(width=7))

    def dialogue(*pictures: PicturePart) -> Dialogue:
        return Dialogue((Message(Role.USER, (*pictures, TextPart("q"))),))

    intake = take_in(dialogue(good, good), CHECKPOINT, text=Letters(), tokens=tokens, answer_tokens=10)
    assert [placed.ref for placed in intake.rendered.frames] == [ref(1), ref(1)]
    assert len(intake.features) == 2
    with pytest.raises(NoUsableFrames, match="7 wide"):
        take_in(dialogue(good, bad), CHECKPOINT, text=Letters(), tokens=tokens, answer_tokens=10)


def test_a_prompt_without_frames_is_fine() -> None:
    assert take(TextPart("nothing was seen")).features == ()


def test_prompt_and_answer_must_fit_the_context() -> None:
    fits = 200 - take(frame(1, features())).rendered.tokens
    take(frame(1, features()), answer_tokens=fits)
    with pytest.raises(PromptTooLarge) as error:
        take(frame(1, features()), answer_tokens=fits + 1)

    assert (error.value.tokens, error.value.limit) == (201, 200)
