import json
from typing import Any

from core.errors import ErrorKind, ServiceError
from core.ids import RequestId
from models.decoder import Finish, Usage
from models.errors import DecoderUnavailable
from qa.chat_values import ChatDone, ChatModel
from qa.errors import ModelNotFound
from web.chat_present import (
    DONE,
    Telling,
    error_event,
    error_view,
    model_list_view,
    usage_view,
)
from web.errors import InvalidRequest, KeysRequired, UnsupportedParameter

TELLING = Telling(RequestId("req_12ab"), "toy", now_us=1_790_000_000_999_999)
USAGE = Usage(40, 3, 8)


def data(event: bytes) -> Any:
    """Return what an event says; it is one line between its mark and its end."""
    text = event.decode()
    assert text.startswith("data: ")
    assert text.endswith("\n\n")
    assert text.count("\n") == 2
    return json.loads(text[6:])


def test_a_completion_says_everything_that_openais_does() -> None:
    told = json.loads(TELLING.completion("A cat.", ChatDone(Finish.STOP, USAGE)))
    assert told == {
        "id": "chatcmpl-12ab",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "toy",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "A cat.", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 40,
            "completion_tokens": 3,
            "total_tokens": 43,
            "prompt_tokens_details": {"cached_tokens": 8},
        },
    }


def test_a_notice_is_there_only_where_there_is_one() -> None:
    told = json.loads(TELLING.completion("", ChatDone(Finish.LENGTH, notice="mind")))
    assert told["notice"] == "mind"
    assert told["choices"][0]["finish_reason"] == "length"
    assert told["usage"] is None
    assert data(TELLING.ended(ChatDone(Finish.STOP, notice="mind")))["notice"] == "mind"
    assert "notice" not in data(TELLING.ended(ChatDone(Finish.STOP)))


def test_chunks_say_who_speaks_then_what_then_why_it_ended() -> None:
    events = [TELLING.begun(), TELLING.piece("A\ncat"), TELLING.ended(ChatDone(Finish.STOP))]
    choices = [data(event)["choices"][0] for event in events]
    assert [choice["delta"] for choice in choices] == [
        {"role": "assistant", "content": ""},
        {"content": "A\ncat"},
        {},
    ]
    assert [choice["finish_reason"] for choice in choices] == [None, None, "stop"]
    assert {data(event)["id"] for event in events} == {"chatcmpl-12ab"}
    assert {data(event)["object"] for event in events} == {"chat.completion.chunk"}


def test_the_chunk_with_the_usage_has_no_choices() -> None:
    told = data(TELLING.counted(USAGE))
    assert told["choices"] == []
    assert told["usage"]["total_tokens"] == 43
    assert data(TELLING.counted(None))["usage"] is None


def test_an_error_has_openais_shape_and_our_code() -> None:
    view = error_view(ModelNotFound("gpt", "toy")).error
    assert (view.type, view.param, view.code) == ("invalid_request_error", None, "model_not_found")
    assert "'gpt'" in view.message
    assert error_view(KeysRequired()).error.type == "permission_error"
    assert data(error_event(DecoderUnavailable("gone")))["error"]["type"] == "server_error"


def test_an_error_names_the_field_at_fault() -> None:
    assert error_view(InvalidRequest((("messages.0.role", "is odd"),))).error.param == "messages.0.role"
    assert error_view(InvalidRequest()).error.param is None
    assert error_view(UnsupportedParameter("tools")).error.param == "tools"


def test_a_fault_inside_tells_nothing_of_itself() -> None:
    class Broken(ServiceError):
        kind = ErrorKind.INTERNAL

    assert "secret" not in error_view(Broken("secret")).error.message


def test_models_are_listed_since_when_they_answer() -> None:
    told = model_list_view([ChatModel("toy", 1_790_000_000_000_001)]).model_dump()
    assert told == {
        "object": "list",
        "data": [{"id": "toy", "object": "model", "created": 1_790_000_000, "owned_by": "livelens"}],
    }
    assert usage_view(None) is None


def test_a_stream_ends_as_clients_expect() -> None:
    assert DONE == b"data: [DONE]\n\n"
