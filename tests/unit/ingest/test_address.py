"""Addresses of sources, and the login taken out of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cameras import Credentials, Source, Transport
from core.errors import ErrorKind
from ingest.address import check_source, file_path, masked, parse_source
from ingest.errors import AmbiguousAddress, SourceRefused

AWKWARD = "p@ss#w%rd/:?"


def test_an_address_without_a_login_stays_as_it_is() -> None:
    source = parse_source("rtsp://10.0.0.5:554/main?x=1", transport=Transport.UDP)
    assert source == Source("rtsp://10.0.0.5:554/main?x=1", transport=Transport.UDP)


def test_a_login_in_the_address_is_taken_out_and_decoded_once() -> None:
    source = parse_source("rtsp://adm%20in:p%40ss%23w%25rd%2F%3A%3F@cam/main")
    assert source.url == "rtsp://cam/main"
    assert source.credentials == Credentials("adm in", AWKWARD)


def test_a_login_in_fields_of_its_own_is_taken_as_it_is() -> None:
    source = parse_source("rtsp://cam/main", "admin", "100%41")
    assert source.credentials == Credentials("admin", "100%41")


def test_fields_win_over_the_address() -> None:
    assert parse_source("rtsp://a:b@cam/main", "c", "d").credentials == Credentials("c", "d")


def test_a_colon_in_a_password_is_no_trouble() -> None:
    assert parse_source("rtsp://u:p:ss@cam/main").credentials == Credentials("u", "p:ss")


@pytest.mark.parametrize(
    "url",
    [
        f"rtsp://u:{AWKWARD}@cam/main",
        "rtsp://u:p@ss@cam/main",
        "rtsp://u:p#ss@cam/main",
        "rtsp://u:p/ss@cam/main",
        "rtsp://u:12/ss@cam/main",
        "rtsp://u:p?ss@cam/main",
        "rtsp://cam/main#x",
    ],
)
def test_a_raw_special_character_in_a_login_is_refused_by_name(url: str) -> None:
    with pytest.raises(AmbiguousAddress) as refused:
        parse_source(url)
    assert refused.value.code == "ambiguous_address"
    assert refused.value.kind is ErrorKind.INVALID
    assert "ss" not in str(refused.value).replace("address", "").replace("password", "")


@pytest.mark.parametrize(
    "url",
    [
        "http://cam/x",
        "gopher://cam",
        "concat:/etc/passwd|x",
        "/etc/passwd",
        "",
        "rtsp:cam",
        "rtsp://",
        "rtsp:///main",
        "rtsp://cam:0/x",
        "rtsp://ca m/x",
        "rtsp://cam/x\r\nX: y",
        "file:clip.mp4",
        "file://other/clip.mp4",
        "file:/clip%00.mp4",
    ],
)
def test_what_is_no_camera_and_no_local_file_is_refused(url: str) -> None:
    with pytest.raises(SourceRefused) as refused:
        parse_source(url)
    assert refused.value.kind is ErrorKind.INVALID


def test_only_files_are_looped_and_only_cameras_have_passwords() -> None:
    with pytest.raises(SourceRefused):
        parse_source("rtsp://cam/x", loop=True)
    with pytest.raises(SourceRefused):
        parse_source("file:/clip.mp4", "u", "p")
    with pytest.raises(SourceRefused):
        parse_source("rtsp://cam/x", password="p")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("file:/a/b.mp4", "/a/b.mp4"),
        ("file:///a/b.mp4", "/a/b.mp4"),
        ("file://localhost/a.mp4", "/a.mp4"),
        ("file:/a%20b#1.mp4", "/a b#1.mp4"),
        ("FILE:/a.mp4", "/a.mp4"),
    ],
)
def test_a_file_address_names_a_local_path(url: str, path: str) -> None:
    assert file_path(parse_source(url)) == path


def test_a_source_built_by_hand_is_checked_too() -> None:
    check_source(Source("rtsp://cam/x", credentials=Credentials("u", AWKWARD)))
    for url in ("rtsp://u:p@cam/x", "http://cam/x", "rtsp://cam:x/"):
        with pytest.raises(SourceRefused):
            check_source(Source(url))


def test_a_masked_address_shows_that_there_is_a_login_and_nothing_of_it() -> None:
    source = Source("rtsp://cam/x", credentials=Credentials("u", AWKWARD))
    assert masked(source) == "rtsp://***@cam/x"
    assert masked(Source("rtsp://cam/x")) == "rtsp://cam/x"
    assert AWKWARD not in repr(source)


@given(st.text(min_size=1).filter(lambda s: s.isprintable()), st.text().filter(lambda s: s.isprintable()))
def test_what_goes_to_the_library_comes_back_the_same(name: str, word: str) -> None:
    source = parse_source("rtsp://cam:8554/x", name, word)
    assert parse_source(source.address()) == source
