import json
from typing import Any

import pytest
from pydantic import ValidationError

from web import wire


def test_a_question_is_read_with_its_times_as_microseconds() -> None:
    ask = wire.CLIENT_MESSAGES.validate_json(
        '{"type":"ask","id":"q1","text":" hello ","cameras":["gate"],"asked_at":"1970-01-01T00:00:01Z",'
        '"window":{"from":"1970-01-01T00:00:00Z","to":"1970-01-01T00:00:01.5Z"}}'
    )
    assert isinstance(ask, wire.AskMessage)
    assert (ask.text, ask.asked_at) == ("hello", 1_000_000)
    assert isinstance(ask.window, wire.FromTo)
    assert (ask.window.from_, ask.window.to) == (0, 1_500_000)


@pytest.mark.parametrize(
    "change",
    [
        {"id": 5},
        {"id": ""},
        {"id": "a b"},
        {"id": "x" * 65},
        {"text": ""},
        {"text": "   "},
        {"text": "x" * 4001},
        {"text": ["a"]},
        {"cameras": "gate"},
        {"cameras": [1]},
        {"cameras": ["x" * 64]},
        {"window": {"last_s": 0}},
        {"window": {"last_s": "30"}},
        {"window": {"from": "1970-01-01T00:00:00Z"}},
        {"window": {"last_s": 1, "to": "1970-01-01T00:00:00Z"}},
        {"window": []},
        {"asked_at": 17},
        {"asked_at": "yesterday"},
        {"max_tokens": 0},
        {"max_tokens": "5"},
        {"max_tokens": 1.5},
        {"max_tokens": True},
        {"conversation": "no spaces please"},
        {"surprise": 1},
    ],
)
def test_a_question_with_a_wrong_field_is_refused(change: dict[str, Any]) -> None:
    message = {"type": "ask", "id": "q1", "text": "hello", **change}
    with pytest.raises(ValidationError):
        wire.CLIENT_MESSAGES.validate_json(json.dumps(message))


def test_a_message_we_send_has_rfc3339_times_and_can_be_read_back() -> None:
    message = wire.CameraStateMessage(seq=3, camera="gate", state=None, removed=True)
    assert wire.SERVER_MESSAGES.validate_json(wire.to_json(message)) == message
    span = wire.SpanView(from_=0, to=1)
    assert json.loads(wire.to_json(span)) == {
        "from": "1970-01-01T00:00:00.000000Z",
        "to": "1970-01-01T00:00:00.000001Z",
    }


def test_every_message_type_is_in_the_schema() -> None:
    schema = json.dumps(wire.message_schema())
    for name in (*wire.CLIENT_TYPES, "session.ready", "answer.started", "answer.delta", "answer.done"):
        assert f'"{name}"' in schema
