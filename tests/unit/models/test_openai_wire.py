import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ids import CameraId, make_frame_ref
from models.decoder import Finish, SamplingParams, Usage
from models.errors import DecoderBusy, DecoderRefused, DecoderUnavailable, NoUsableFrames, PromptTooLarge
from models.openai_wire import (
    MAX_EVENT_BYTES,
    Closed,
    Counted,
    Dialect,
    Ended,
    Event,
    EventReader,
    Failed,
    Text,
    adapt,
    error_of,
    message_of,
    request_body,
    whole_answer,
    without_picture,
)
from models.prompt import Dialogue, FramePart, Message, PicturePart, Prompt, Role, TextPart, Turn


def frame(n: int, jpeg: bytes | None = b"x") -> FramePart:
    return FramePart(f"[14:03:{n:02d}]", make_frame_ref(CameraId("gate"), n), jpeg=jpeg and jpeg + bytes([n]))


def body_of(prompt: Prompt, dialect: Dialect | None = None, **sampling: Any) -> dict[str, Any]:
    return request_body(prompt, model="m", sampling=SamplingParams(**sampling), dialect=dialect or Dialect())


def read(*pieces: bytes) -> list[Event]:
    reader = EventReader()
    return [event for piece in pieces for event in reader.feed(piece)]


def chunk(content: object = None, finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]} | more).encode() + b"\n\n"


def test_frames_stand_behind_their_labels_oldest_first_and_the_question_is_last() -> None:
    body = body_of(Prompt("Watch.", (frame(1), TextPart("still"), frame(2)), "What?"))
    system, user = body["messages"]

    assert system == {"role": "system", "content": "Watch."}
    kinds = [p.get("text") or p["image_url"]["url"] for p in user["content"]]
    url = "data:image/jpeg;base64,"
    assert kinds == [
        "[14:03:01]",
        url + base64.b64encode(b"x\x01").decode(),
        "still",
        "[14:03:02]",
        url + base64.b64encode(b"x\x02").decode(),
        "What?",
    ]
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert body["max_tokens"] == 256


def test_history_comes_between_frames_and_question() -> None:
    body = body_of(Prompt("Watch.", (frame(1),), "Now?", (Turn("A?", "B."), Turn("C?", "D."))))

    assert [
        (m["role"], m["content"] if isinstance(m["content"], str) else len(m["content"]))
        for m in body["messages"]
    ] == [
        ("system", "Watch."),
        ("user", 3),
        ("assistant", "B."),
        ("user", 1),
        ("assistant", "D."),
        ("user", 1),
    ]


def test_a_frame_without_a_picture_leaves_with_its_label() -> None:
    prompt = Prompt("s", (frame(1, None), frame(2)), "q")

    assert without_picture(prompt) == (prompt.frames[0].ref,)
    assert "[14:03:02]" in json.dumps(body_of(prompt))
    assert "[14:03:01]" not in json.dumps(body_of(prompt))


def test_a_prompt_none_of_whose_frames_has_a_picture_is_refused() -> None:
    with pytest.raises(NoUsableFrames):
        without_picture(Prompt("s", (frame(1, None), frame(2, None)), "q"))


def test_a_seed_is_sent_only_where_there_is_one() -> None:
    assert "seed" not in body_of(Prompt("s", (), "q"))
    assert body_of(Prompt("s", (), "q"), seed=3)["seed"] == 3


def test_stop_texts_and_a_share_are_sent_only_where_there_are_some() -> None:
    assert {"stop", "top_p"}.isdisjoint(body_of(Prompt("s", (), "q")))
    body = body_of(Prompt("s", (), "q"), stop=("END",), top_p=0.5)
    assert (body["stop"], body["top_p"]) == (["END"], 0.5)


def test_a_dialogue_is_sent_as_it_was_written() -> None:
    picture = PicturePart(make_frame_ref(CameraId("gate"), 1), jpeg=b"x")
    messages = (
        Message(Role.SYSTEM, (TextPart("Be "), TextPart("brief."))),
        Message(Role.USER, (TextPart("This:"), picture, TextPart("What is it?"))),
        Message(Role.ASSISTANT, (TextPart("A cat."),)),
        Message(Role.USER, (TextPart("Sure?"),)),
    )
    body = body_of(Dialogue(messages))
    url = "data:image/jpeg;base64," + base64.b64encode(b"x").decode()
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "This:"},
                {"type": "image_url", "image_url": {"url": url}},
                {"type": "text", "text": "What is it?"},
            ],
        },
        {"role": "assistant", "content": "A cat."},
        {"role": "user", "content": "Sure?"},
    ]


def test_a_server_that_does_not_know_a_field_is_asked_without_it() -> None:
    first = adapt(Dialect(), 400, "Unknown field: stream_options")
    assert first == Dialect(stream_options=False)
    assert "stream_options" not in body_of(Prompt("s", (), "q"), first)
    second = adapt(first, 400, "Use 'max_completion_tokens' instead.")
    assert second == Dialect(stream_options=False, max_completion_tokens=True)
    assert body_of(Prompt("s", (), "q"), second, max_tokens=5)["max_completion_tokens"] == 5
    assert adapt(second, 400, "max_completion_tokens stream_options") is None
    assert adapt(Dialect(), 500, "stream_options") is None
    assert adapt(Dialect(), 400, "no such model") is None


def test_events_say_text_end_usage_and_close() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    stream = (
        chunk("Hi")
        + chunk(None)
        + chunk("", "stop")
        + b'data: {"choices":[],"usage":%s}\n\n' % (json.dumps(usage).encode())
    )

    assert read(stream + b"data: [DONE]\n\n") == [
        Text("Hi"),
        Ended(Finish.STOP),
        Counted(Usage(9, 2, 4)),
        Closed(),
    ]


@pytest.mark.parametrize(
    "stream",
    [
        b'data:{"choices":[{"delta":{"content":"Hi"}}]}\r\n\r\n',
        b': ping\n\nevent: message\nid: 3\nretry: 5\ndata: {"choices":[{"delta":{"content":"Hi"}}]}\n\n',
        b'data: {"choices":[{"message":{"content":"Hi"}}],"usage":null}\n\n',
        b'data: {"choices":[{"delta":{"role":"assistant","reasoning_content":"hm"}}]}\n\n' + chunk("Hi"),
        b'data: {"choices":null}\n\ndata: 3\n\n' + chunk("Hi", usage={"prompt_tokens": None}),
    ],
)
def test_other_servers_ways_are_understood(stream: bytes) -> None:
    assert read(stream) == [Text("Hi")]


def test_usage_beside_the_last_choice_counts_and_length_is_told_from_stop() -> None:
    assert read(chunk("", "length", usage={"prompt_tokens": 1, "completion_tokens": 2})) == [
        Ended(Finish.LENGTH),
        Counted(Usage(1, 2)),
    ]


@given(st.text(max_size=40), st.data())
def test_bytes_may_arrive_in_any_pieces(text: str, data: st.DataObject) -> None:
    stream = (
        chunk(text)
        + b"data: "
        + json.dumps({"choices": [{"delta": {"content": text}}]}, ensure_ascii=False).encode()
        + b"\n"
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    assert "".join(e.text for e in read(*pieces) if isinstance(e, Text)) == (text * 2).replace("\ufffd", "")


def test_a_line_separator_inside_a_text_cuts_nothing() -> None:
    assert read('data: {"choices":[{"delta":{"content":"a\u2028b\u0085c"}}]}\n'.encode()) == [
        Text("a\u2028b\u0085c")
    ]


def test_a_character_whose_halves_come_in_two_events_is_put_together() -> None:
    halves = b'data: {"choices":[{"delta":{"content":"x\\ud83d"}}]}\ndata: {"choices":[{"delta":{"content":"\\udd25y"}}]}\n'

    assert read(halves) == [Text("x"), Text("🔥y")]


def test_a_half_that_never_gets_its_other_half_and_a_replacement_character_are_dropped() -> None:
    odd = b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\ndata: {"choices":[{"delta":{"content":"z\\ufffd"}}]}\n'

    assert read(odd) == [Text("z")]


def test_an_error_in_mid_stream_is_told() -> None:
    (event,) = read(b'data: {"error":{"message":"out of memory","code":500}}\n\n')

    assert isinstance(event, Failed)
    assert isinstance(event.error, DecoderUnavailable)
    assert "out of memory" in str(event.error)


@pytest.mark.parametrize("bad", [b"data: {not json}\n", b"data: " + b"x" * (MAX_EVENT_BYTES + 1)])
def test_nonsense_is_an_error_not_an_answer(bad: bytes) -> None:
    with pytest.raises(DecoderUnavailable):
        read(bad)


def test_an_answer_in_one_piece_is_read_too() -> None:
    body = json.dumps(
        {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}},
        indent=2,
    )

    assert whole_answer(body.encode()) == [Text("Hi"), Ended(Finish.STOP), Counted(Usage(1, 0))]


@pytest.mark.parametrize(
    ("status", "error", "wanted"),
    [
        (401, {"error": {"message": "bad key"}}, DecoderRefused),
        (404, {"error": "model not found"}, DecoderRefused),
        (429, {"error": {"message": "slow down"}}, DecoderBusy),
        (503, "<html>busy</html>", DecoderUnavailable),
        (
            400,
            {"error": {"n_prompt_tokens": 5000, "n_ctx": 4096, "message": "exceeds the context"}},
            PromptTooLarge,
        ),
        (
            400,
            {
                "error": {
                    "message": "maximum context length is 4096 tokens. However, you requested 5000 tokens"
                }
            },
            PromptTooLarge,
        ),
        (400, {"error": {"code": "context_length_exceeded", "message": "too long"}}, DecoderRefused),
    ],
)
def test_a_servers_errors_become_ours(status: int, error: object, wanted: type[Exception]) -> None:
    ours = error_of(status, error)

    assert type(ours) is wanted
    if isinstance(ours, PromptTooLarge):
        assert (ours.tokens, ours.limit) == (5000, 4096)


@pytest.mark.parametrize(
    ("message", "figures"),
    [
        (
            (
                "This model's maximum context length is 512 tokens. However, your prompt contains at least 513 input "
                "tokens, which exceeds this limit even without any output tokens."
            ),
            (513, 512),
        ),
        (
            "The decoder prompt (length 700) is longer than the maximum model length of 512. Make sure",
            (700, 512),
        ),
        (
            (
                "'max_tokens' is too large: 256. This model's maximum context length is 512 tokens and your request has "
                "300 input tokens"
            ),
            (513, 512),
        ),
    ],
)
def test_vllms_words_about_a_full_context_are_read_with_their_figures(
    message: str, figures: tuple[int, int]
) -> None:
    ours = error_of(400, {"error": {"message": message, "type": "BadRequestError", "code": 400}})

    assert isinstance(ours, PromptTooLarge)
    assert (ours.tokens, ours.limit) == figures


def test_an_error_in_mid_stream_may_name_its_status() -> None:
    refused, failed = (
        list(
            EventReader().feed(
                b"data: " + json.dumps({"error": {"message": "no", "code": code}}).encode() + b"\n"
            )
        )
        for code in (400, 500)
    )

    assert isinstance(refused[0].error, DecoderRefused)
    assert isinstance(failed[0].error, DecoderUnavailable)


def test_a_servers_words_are_one_short_printable_line() -> None:
    assert message_of({"error": {"message": "a\n\tb\x1b[31m" + "c" * 500}})[:8] == "a b[31mc"
    assert len(message_of("x" * 999)) == 200
    assert message_of(None) == "None"
    assert message_of({}) == "no reason given"
    assert message_of({"detail": "Not Found"}) == "Not Found"
