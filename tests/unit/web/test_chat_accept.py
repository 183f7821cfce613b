import base64
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ids import RequestId
from models.prompt import Role, TextPart
from qa.chat_values import ChatQuestion, SentMessage, SentPicture
from web.chat_accept import parse_chat, parse_picture
from web.chat_wire import ChatForm
from web.errors import InvalidPictureUrl, PictureUrlNotAllowed, UnsupportedParameter


def parsed(**fields: Any) -> ChatQuestion:
    body = {"model": "toy", "messages": [{"role": "user", "content": "hi"}], **fields}
    return parse_chat(ChatForm.model_validate(body), RequestId("req_1"))


def data_url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def test_messages_become_what_was_said_by_whom() -> None:
    messages = [
        {"role": "developer", "content": "brief"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "a"},
                {"type": "image_url", "image_url": {"url": data_url(b"png"), "detail": "high"}},
            ],
        },
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    assert parsed(messages=messages).messages == (
        SentMessage(Role.SYSTEM, (TextPart("brief"),)),
        SentMessage(Role.USER, (TextPart("a"), SentPicture(b"png"))),
        SentMessage(Role.ASSISTANT, (TextPart("b"),)),
        SentMessage(Role.USER, (TextPart("c"),)),
    )


def test_without_wishes_the_likeliest_words_are_taken_and_the_settings_limit_them() -> None:
    asked = parsed()
    assert (asked.max_tokens, asked.temperature, asked.top_p, asked.seed, asked.stop) == (
        None,
        0.0,
        1.0,
        None,
        (),
    )


def test_wishes_are_passed_on() -> None:
    asked = parsed(max_tokens=5, temperature=1, top_p=0.5, seed=-3, stop=["a", "b"])
    assert (asked.max_tokens, asked.temperature, asked.top_p, asked.seed, asked.stop) == (
        5,
        1.0,
        0.5,
        -3,
        ("a", "b"),
    )


def test_the_newer_name_of_the_limit_wins() -> None:
    assert parsed(max_tokens=5, max_completion_tokens=7).max_tokens == 7
    assert parsed(max_completion_tokens=7).max_tokens == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 2),
        ("tools", [{"type": "function"}]),
        ("functions", [{}]),
        ("response_format", {"type": "json_object"}),
        ("logprobs", True),
        ("modalities", ["text", "audio"]),
        ("audio", {"voice": "x"}),
    ],
)
def test_what_is_not_served_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(UnsupportedParameter) as refused:
        parsed(**{name: value})
    assert refused.value.param == name


def test_asking_for_what_is_served_anyway_is_fine() -> None:
    parsed(n=1, tools=[], response_format={"type": "text"}, logprobs=False, modalities=["text"])


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1/a.png",
        "https://example.com/a.png",
        "file:///etc/passwd",
        "ftp://a/b",
        "",
        "a.png",
        "//h/a",
    ],
)
def test_nothing_is_fetched(url: str) -> None:
    with pytest.raises(PictureUrlNotAllowed):
        parse_picture(url)


@pytest.mark.parametrize(
    "url",
    [
        "data:",
        "data:image/png,abc",
        "data:image/png;base64",
        "data:image/png;base64,",
        "data:image/png;base64,a",
        "data:image/png;base64,a b",
        "data:image/png;base64, \n",
        "data:image/png;base64,@@@@",
        "data:image/png;base64,ä===",
        "data:image/png;base64,_-_-",
        "data:" + "a" * 500 + ";base64,YWJj",
    ],
)
def test_a_broken_data_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidPictureUrl):
        parse_picture(url)


def test_folded_base64_and_any_case_of_the_scheme_are_fine() -> None:
    for url in ("data:image/png;base64,YWJj\r\n YWJj\n", "DATA:image/png;charset=utf-8;BASE64,YWJjYWJj"):
        assert parse_picture(url) == SentPicture(b"abcabc")


@pytest.mark.parametrize("size", [3 << 18, (3 << 18) - 1, (3 << 18) + 1, 2_000_000])
def test_large_files_are_read_whole(size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert parse_picture(data_url(data)) == SentPicture(data)


def test_a_file_that_ends_before_its_end_is_refused() -> None:
    with pytest.raises(InvalidPictureUrl):
        parse_picture("data:image/png;base64," + "A" * ((1 << 20) - 4) + "YQ==" + "YWJj")


@given(st.binary(min_size=1), st.sampled_from(["image/png", "image/svg+xml", "", "image/jpeg;charset=x"]))
def test_the_file_in_a_data_url_is_what_was_put_there(data: bytes, kind: str) -> None:
    assert parse_picture(data_url(data, kind)) == SentPicture(data)
    assert parse_picture(data_url(data, kind).replace("data:", "DATA:", 1)) == SentPicture(data)
