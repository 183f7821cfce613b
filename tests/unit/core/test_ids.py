import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ErrorKind
from core.ids import (
    CAMERA_ID_PATTERN,
    CameraId,
    IdSource,
    InvalidCameraId,
    InvalidFrameRef,
    make_frame_ref,
    parse_camera_id,
    split_frame_ref,
)

camera_ids = st.from_regex(CAMERA_ID_PATTERN, fullmatch=True).map(CameraId)


@pytest.mark.parametrize("text", ["a", "0", "gate", "gate-1", "front_door", "a" * 63])
def test_good_camera_ids_are_kept(text: str) -> None:
    assert parse_camera_id(text) == text


@pytest.mark.parametrize(
    "text", ["", "-a", "_a", "Gate", "a b", "a/b", "a.b", "ä", "a" * 64, "gate\n", "gate\0", "٣"]
)
def test_bad_camera_ids_are_refused(text: str) -> None:
    with pytest.raises(InvalidCameraId) as caught:
        parse_camera_id(text)
    assert (caught.value.code, caught.value.kind) == ("invalid_camera_id", ErrorKind.INVALID)


def test_the_error_quotes_no_more_than_a_line() -> None:
    with pytest.raises(InvalidCameraId) as caught:
        parse_camera_id("x" * 100_000)
    assert len(str(caught.value)) < 300


@given(
    camera_ids,
    st.integers(0, 10**17 - 1),
    st.from_regex(r"[0-9a-f]{12}", fullmatch=True),
    st.sampled_from(["196", "196i8"]),
)
def test_a_ref_comes_apart_as_it_was_made(camera_id: CameraId, t_us: int, encoder: str, detail: str) -> None:
    ref = make_frame_ref(camera_id, t_us, encoder=encoder, detail=detail)
    assert split_frame_ref(ref) == (camera_id, t_us, encoder, detail)


def test_a_frame_without_features_has_a_ref_of_its_own() -> None:
    assert make_frame_ref(CameraId("gate"), 5) == "gate/5/jpeg/0"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gate",
        "gate/5/jpeg",
        "gate/5/jpeg/0/1",
        "gate/-5/jpeg/0",
        "gate/5.0/jpeg/0",
        "gate/٣/jpeg/0",
        "gate/" + "9" * 18 + "/jpeg/0",
        "Gate/5/jpeg/0",
        "gate/5//0",
        "gate/5/jpeg/",
        "gate/5\n/jpeg/0",
        "../5/jpeg/0",
    ],
)
def test_malformed_refs_are_refused(text: str) -> None:
    with pytest.raises(InvalidFrameRef) as caught:
        split_frame_ref(text)
    assert caught.value.code == "invalid_frame_ref"


@given(st.text(max_size=60))
def test_any_text_is_a_ref_or_the_named_error(text: str) -> None:
    try:
        parts = split_frame_ref(text)
    except InvalidFrameRef:
        return
    assert text.startswith(f"{parts.camera_id}/")


def test_ids_differ_and_say_what_they_name() -> None:
    ids = IdSource()
    assert len({ids.request() for _ in range(1_000)}) == 1_000
    assert ids.request().startswith("req_")
    assert ids.conversation().startswith("conv_")
    assert ids.session().startswith("ses_")
    assert ids.incarnation() != ids.incarnation()


def test_tests_may_count_instead() -> None:
    class Counting(IdSource):
        number = 0

        def _token(self) -> str:
            self.number += 1
            return str(self.number)

    ids = Counting()
    assert [ids.request(), ids.conversation()] == ["req_1", "conv_2"]
