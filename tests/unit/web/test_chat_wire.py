from typing import Any

import pytest
from pydantic import ValidationError

from web.chat_wire import ChatForm, ChunkView, CompletionView, ImageForm, TextForm


def form(**fields: Any) -> ChatForm:
    body = {"model": "toy", "messages": [{"role": "user", "content": "hi"}], **fields}
    return ChatForm.model_validate(body)


def content(*parts: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(parts)}]


def test_words_alone_are_a_part_like_any_other() -> None:
    assert form().messages[0].content == [TextForm(type="text", text="hi")]


def test_words_and_pictures_keep_their_order() -> None:
    text, picture = {"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:,"}}
    parts = form(messages=content(text, picture, text)).messages[0].content
    assert [type(part) for part in parts] == [TextForm, ImageForm, TextForm]


def test_what_a_stock_client_may_send_beside_is_ignored() -> None:
    asked = form(
        user="u",
        metadata={"a": "b"},
        store=False,
        frequency_penalty=0.5,
        logit_bias={},
        service_tier="auto",
        made_up=1,
    )
    assert not hasattr(asked, "made_up")
    named = form(messages=[{"role": "user", "name": "eve", "content": "hi"}])
    assert named.messages[0].role == "user"


def test_null_is_as_good_as_nothing() -> None:
    names = ("max_tokens", "temperature", "top_p", "seed", "stop", "stream", "stream_options", "n", "tools")
    assert form(**dict.fromkeys(names)) == form()


def test_one_stop_text_is_a_list_of_one() -> None:
    assert form(stop="END").stop == form(stop=["END"]).stop == ["END"]


@pytest.mark.parametrize(
    "fields",
    [
        {"model": ""},
        {"model": 5},
        {"messages": []},
        {"messages": "hi"},
        {"messages": [{"role": "tool", "content": "x"}]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": None}]},
        {"messages": content({"type": "input_audio", "input_audio": {}})},
        {"messages": content({"type": "image_url", "image_url": "data:,"})},
        {"messages": content({"type": "text"})},
        {"messages": content(*[{"type": "text", "text": ""}] * 1_001)},
        {"max_tokens": 0},
        {"max_tokens": "5"},
        {"max_tokens": 1.5},
        {"temperature": 2.1},
        {"temperature": float("nan")},
        {"top_p": -0.1},
        {"seed": 2**63},
        {"stop": ""},
        {"stop": ["a"] * 17},
        {"stream": "yes"},
        {"n": 0},
    ],
)
def test_what_is_known_is_checked_strictly(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        form(**fields)


def test_a_picture_is_not_written_into_errors_or_logs() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:secret"}}
    assert "secret" not in repr(form(messages=content(picture)))


def test_the_schema_says_that_words_alone_are_fine() -> None:
    described = ChatForm.model_json_schema()["$defs"]["MessageForm"]["properties"]["content"]
    assert {"type": "string"} in described["anyOf"]


def test_completions_and_chunks_name_their_kind() -> None:
    assert CompletionView(id="a", created=1, model="m", choices=[], usage=None).object == "chat.completion"
    assert ChunkView(id="a", created=1, model="m", choices=[]).object == "chat.completion.chunk"
