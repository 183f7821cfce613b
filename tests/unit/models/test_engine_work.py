import asyncio
from typing import Any

import pytest

from core.ids import CameraId, RequestId, make_frame_ref
from models.chat import ChatTokens, render
from models.decoder import Delta, Finish, SamplingParams, Usage
from models.engine_work import Ask, DeltaStream, Look
from models.errors import DecoderUnavailable
from models.intake import Intake
from models.prompt import Prompt
from models.text import TextStream

END = 0


class Letters:
    def encode(self, text: str) -> list[int]:
        return [ord(c) for c in text]


def ask_of(stream: DeltaStream, max_tokens: int = 10, stop: tuple[str, ...] = ()) -> Ask:
    rendered = render(Prompt("", (), "q"), [], text=Letters(), tokens=ChatTokens(-1, -2, -3, -4, -5))
    refused = (make_frame_ref(CameraId("gate"), 1),)
    intake = Intake(rendered, (), refused)
    text = TextStream(lambda token: bytes([token]))
    return Ask(1, intake, RequestId("r"), SamplingParams(max_tokens, stop=stop), 0, stream, text)


async def all_of(stream: DeltaStream) -> list[Delta]:
    deltas = [await stream.next()]
    while deltas[-1].finish is None:
        deltas.append(await stream.next())
    return deltas


async def test_bytes_of_a_character_come_out_as_one_piece() -> None:
    stream = DeltaStream(asyncio.get_running_loop())
    ask = ask_of(stream)
    for byte in "aď🔥".encode():
        assert ask.push(byte, ends=frozenset({END})) is None
    assert ask.push(END, ends=frozenset({END})) is Finish.STOP
    *words, last = await all_of(stream)

    assert [delta.text for delta in words] == ["a", "ď", "🔥"]
    assert last == Delta("", Finish.STOP, Usage(ask.intake.rendered.tokens, 7, 0, ask.intake.refused))


async def test_a_forced_stop_in_mid_character_drops_its_first_bytes() -> None:
    stream = DeltaStream(asyncio.get_running_loop())
    ask = ask_of(stream, max_tokens=3)
    ends = [ask.push(byte, ends=frozenset({END})) for byte in "a🔥".encode()[:3]]

    assert ends == [None, None, Finish.LENGTH]
    assert "".join(delta.text for delta in await all_of(stream)) == "a"


async def test_a_stop_text_ends_the_answer_and_is_not_part_of_it() -> None:
    stream = DeltaStream(asyncio.get_running_loop())
    ask = ask_of(stream, stop=("bc",))
    ends = [ask.push(byte, ends=frozenset()) for byte in b"abc"]
    *words, last = await all_of(stream)

    assert ends == [None, None, Finish.STOP]
    assert [delta.text for delta in words] == ["a"]
    assert (last.text, last.finish) == ("", Finish.STOP)
    assert last.usage is not None
    assert last.usage.completion_tokens == 3


@pytest.mark.parametrize("finish", [Finish.STOP, Finish.LENGTH])
async def test_what_was_held_back_for_a_stop_text_comes_with_the_end(finish: Finish) -> None:
    stream = DeltaStream(asyncio.get_running_loop())
    ask = ask_of(stream, max_tokens=2 if finish is Finish.LENGTH else 10, stop=("bc",))
    ask.push(ord("a"), ends=frozenset())
    ask.push(ord("b"), ends=frozenset())
    if finish is Finish.STOP:
        ask.push(END, ends=frozenset({END}))

    assert [(delta.text, delta.finish) for delta in await all_of(stream)] == [("a", None), ("b", finish)]


async def test_an_error_ends_a_stream_after_what_came_before_it() -> None:
    stream = DeltaStream(asyncio.get_running_loop())
    ask = ask_of(stream)
    ask.push(ord("a"), ends=frozenset())
    ask.fail(DecoderUnavailable("gone"))

    assert (await stream.next()).text == "a"
    with pytest.raises(DecoderUnavailable):
        await stream.next()


async def test_a_stream_crosses_from_a_thread() -> None:
    stream = DeltaStream(asyncio.get_running_loop())
    reading = asyncio.create_task(stream.next())
    await asyncio.to_thread(stream.push_threadsafe, Delta("x"))

    assert (await reading).text == "x"


def test_a_loop_that_has_ended_is_not_told() -> None:
    loop = asyncio.new_event_loop()
    stream = DeltaStream(loop)
    look = Look(1, _no_picture(), loop.create_future())
    loop.close()

    stream.push_threadsafe(Delta("x"))
    look.settle_threadsafe(DecoderUnavailable("gone"))


async def test_a_picture_nobody_waits_for_settles_quietly() -> None:
    look: Look = Look(1, _no_picture(), asyncio.get_running_loop().create_future())
    look.found.cancel()
    look.settle_threadsafe(DecoderUnavailable("gone"))
    await asyncio.sleep(0)

    assert look.found.cancelled()


def _no_picture() -> Any:
    return None
