from dataclasses import replace

import pytest

from core.cameras import Credentials, Source
from core.errors import ServiceError
from core.ids import ConversationId, InvalidCameraId, RequestId
from core.spans import Span
from qa.answers import LastWindow
from qa.errors import InvalidWindow
from tests.support.web_fakes import parse_source
from web import rest, wire
from web.accept import (
    parse_question,
    parse_source_form,
    parse_span,
    parse_zone,
    question_id_of,
    read_message,
)
from web.errors import InvalidMessage, MalformedMessage, UnknownMessage, UnknownZone

NOW_US = 1_796_047_385_250_000
REQUEST = RequestId("req_1")


def test_a_question_becomes_ours() -> None:
    form = wire.AskForm.model_validate(
        {"text": "what?", "cameras": ["gate", "gate"], "window": {"last_s": 0.5}, "conversation": "conv_1"}
    )
    question = parse_question(form, REQUEST, received_us=NOW_US)
    assert question.cameras == ("gate",)
    assert question.window == LastWindow(500_000)
    assert question.conversation == ConversationId("conv_1")
    assert (question.received_us, question.asked_at_us) == (NOW_US, None)


def test_when_a_question_says_now_is_left_for_others_to_judge() -> None:
    form = wire.AskForm.model_validate({"text": "what?", "asked_at": "2026-11-30T14:03:10.250000Z"})
    assert parse_question(form, REQUEST, received_us=NOW_US).asked_at_us == NOW_US + 5_000_000


def test_a_span_that_ends_before_it_starts_is_refused() -> None:
    form = wire.AskForm.model_validate(
        {"text": "what?", "window": {"from": "2026-11-30T14:00:00Z", "to": "2026-11-30T14:00:00Z"}}
    )
    with pytest.raises(InvalidWindow):
        parse_question(form, REQUEST, received_us=NOW_US)


def test_a_camera_name_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(InvalidCameraId):
        parse_question(wire.AskForm(text="a", cameras=["../x"]), REQUEST, received_us=NOW_US)


def test_a_query_names_its_span_in_one_way() -> None:
    start, end = "2026-11-30T14:03:00Z", "2026-11-30T14:03:01Z"
    assert parse_span(start, end, None, now_us=NOW_US).duration_us == 1_000_000
    assert parse_span(start, None, None, now_us=NOW_US).end_us == NOW_US + 1
    assert parse_span(None, None, 2.0, now_us=NOW_US) == Span(NOW_US - 2_000_000, NOW_US + 1)
    assert parse_span(None, None, None, now_us=NOW_US, default_s=1.0).start_us == NOW_US - 1_000_000


@pytest.mark.parametrize(
    ("start", "end", "last_s"),
    [
        (None, None, None),
        (None, "2026-11-30T14:03:00Z", None),
        ("2026-11-30T14:03:00Z", None, 3.0),
        ("2026-11-30T14:03:01Z", "2026-11-30T14:03:00Z", None),
        ("noon", None, None),
        (None, None, 0.0),
        (None, None, -1.0),
        (None, None, float("nan")),
        (None, None, float("inf")),
    ],
)
def test_a_query_without_a_clear_span_is_refused(
    start: str | None, end: str | None, last_s: float | None
) -> None:
    with pytest.raises(InvalidWindow):
        parse_span(start, end, last_s, now_us=NOW_US)


@pytest.mark.parametrize("name", ["Mars/Base", "", "../etc/passwd", "Europe", "/etc/localtime", "a\0b"])
def test_a_zone_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UnknownZone):
        parse_zone(name)


CURRENT = Source("rtsp://cam:554/a?token=abc", Credentials("admin", "s3cret"))


def test_an_address_sent_back_as_shown_keeps_its_secrets() -> None:
    form = rest.SourceForm(url="rtsp://cam:554/a?token=***", username="admin", transport="udp")
    source = parse_source_form(form, parse_source, current=CURRENT)
    assert source == replace(CURRENT, transport=source.transport)


def test_a_password_is_kept_while_host_and_login_stay() -> None:
    form = rest.SourceForm(url="rtsp://cam:554/b", username="admin")
    assert parse_source_form(form, parse_source, current=CURRENT).credentials == CURRENT.credentials
    form = rest.SourceForm(url="rtsp://cam:554/b")
    assert parse_source_form(form, parse_source, current=CURRENT).credentials == CURRENT.credentials


@pytest.mark.parametrize(
    ("url", "username", "password"),
    [
        ("rtsp://evil:554/b", "admin", None),
        ("rtsp://cam:9999/b", None, None),
        ("rtsps://cam:554/b", None, None),
        ("rtsp://cam:554/b", "root", None),
        ("rtsp://root@cam:554/b", None, None),
        ("rtsp://cam:554/b", "admin", ""),
    ],
)
def test_a_password_never_follows_to_another_host_or_login(
    url: str, username: str | None, password: str | None
) -> None:
    form = rest.SourceForm(url=url, username=username, password=password)
    source = parse_source_form(form, parse_source, current=CURRENT)
    assert source.credentials is None or source.credentials.password != "s3cret"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", MalformedMessage),
        ("{", MalformedMessage),
        ("[]", MalformedMessage),
        ("5", MalformedMessage),
        ("{}", MalformedMessage),
        ("[" * 100_000, MalformedMessage),
        ('{"type":"ask","id":"a","text":"\\ud800"}', MalformedMessage),
        ('{"type":"dance"}', UnknownMessage),
        ('{"type":5}', UnknownMessage),
        ('{"type":"cancel"}', InvalidMessage),
        ('{"type":"resume","session":"a","seq":-1}', InvalidMessage),
    ],
)
def test_a_message_that_is_none_is_refused_by_name(text: str, error: type[ServiceError]) -> None:
    with pytest.raises(error):
        read_message(text)


def test_a_refusal_names_the_field_and_not_its_value() -> None:
    with pytest.raises(InvalidMessage, match=r"max_tokens: ") as caught:
        read_message('{"type":"ask","id":"a","text":"b","max_tokens":"s3cret"}')
    assert "s3cret" not in str(caught.value)


def test_the_id_of_a_refused_message_is_found_where_there_is_one() -> None:
    assert question_id_of('{"id":"a","x":1}') == "a"
    for text in ('{"id":5}', '{"id":""}', "[]", "{", '{"id":"a\\nb"}', '{"id":"' + "x" * 65 + '"}'):
        assert question_id_of(text) is None
