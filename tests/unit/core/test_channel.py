import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.channel import Channel, ChannelClosed, Overflow


async def read_all(channel: Channel[int]) -> list[int]:
    return [item async for item in channel]


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("overflow", list(Overflow))
async def test_items_come_out_in_the_order_they_went_in(overflow: Overflow) -> None:
    channel = Channel[int](3, overflow)
    for item in (1, 2, 3):
        await channel.send(item)
    channel.close()
    assert await read_all(channel) == [1, 2, 3]


async def test_a_full_channel_of_live_frames_drops_the_oldest_and_counts_it() -> None:
    channel = Channel[int](2, Overflow.DROP_OLDEST)
    assert [channel.send_nowait(item) for item in (1, 2, 3, 4)] == [True, True, False, False]
    statistics = channel.statistics()
    assert (statistics.waiting, statistics.accepted, statistics.dropped) == (2, 4, 2)
    channel.close()
    assert await read_all(channel) == [3, 4]


async def test_a_full_channel_of_paid_work_lets_its_sender_wait_for_room() -> None:
    channel = Channel[int](1, Overflow.WAIT)
    await channel.send(1)
    sending = asyncio.create_task(channel.send(2))
    await settle()
    assert not sending.done()
    assert await anext(channel) == 1
    await sending
    assert await anext(channel) == 2
    assert channel.statistics().dropped == 0


async def test_what_cannot_wait_is_told_that_there_is_no_room() -> None:
    channel = Channel[int](1, Overflow.WAIT)
    channel.send_nowait(1)
    with pytest.raises(asyncio.QueueFull):
        channel.send_nowait(2)


async def test_many_waiting_senders_all_get_their_turn() -> None:
    channel = Channel[int](2, Overflow.WAIT)
    async with asyncio.TaskGroup() as group:
        senders = [group.create_task(channel.send(item)) for item in range(50)]
        reading = group.create_task(read_all(channel))
        await asyncio.wait(senders)
        channel.close()
    assert sorted(reading.result()) == list(range(50))
    assert channel.statistics().accepted == 50


async def test_after_the_end_nothing_goes_in_and_what_is_left_comes_out() -> None:
    channel = Channel[int](3, Overflow.DROP_OLDEST)
    channel.send_nowait(1)
    channel.close()
    channel.close()
    with pytest.raises(ChannelClosed):
        channel.send_nowait(2)
    with pytest.raises(ChannelClosed):
        await channel.send(2)
    assert await read_all(channel) == [1]
    assert await read_all(channel) == []


async def test_closing_wakes_a_waiting_reader() -> None:
    channel = Channel[int](1, Overflow.WAIT)
    reading = asyncio.create_task(read_all(channel))
    await settle()
    channel.close()
    assert await reading == []


async def test_closing_wakes_a_waiting_sender() -> None:
    channel = Channel[int](1, Overflow.WAIT)
    await channel.send(1)
    sending = asyncio.create_task(channel.send(2))
    await settle()
    channel.close()
    with pytest.raises(ChannelClosed):
        await sending
    assert await read_all(channel) == [1]


async def test_a_reader_cancelled_while_waiting_loses_nothing() -> None:
    channel = Channel[int](2, Overflow.DROP_OLDEST)
    waiting = asyncio.create_task(anext(channel))
    await settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    channel.send_nowait(7)
    assert await anext(channel) == 7


async def test_a_sender_cancelled_while_waiting_has_sent_nothing() -> None:
    channel = Channel[int](1, Overflow.WAIT)
    await channel.send(1)
    sending = asyncio.create_task(channel.send(2))
    await settle()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    channel.close()
    assert await read_all(channel) == [1]


def test_a_channel_holds_at_least_one_item() -> None:
    with pytest.raises(ValueError, match="at least one item, got 0"):
        Channel[int](0, Overflow.WAIT)


@given(st.integers(1, 5), st.lists(st.booleans(), max_size=40))
def test_live_frames_are_the_newest_in_order_whatever_the_pace(capacity: int, steps: list[bool]) -> None:
    async def run() -> None:
        channel = Channel[int](capacity, Overflow.DROP_OLDEST)
        model: list[int] = []
        sent = dropped = 0
        for is_send in steps:
            if is_send:
                channel.send_nowait(sent)
                model.append(sent)
                sent += 1
                if len(model) > capacity:
                    model.pop(0)
                    dropped += 1
            elif model:
                assert await anext(channel) == model.pop(0)
        statistics = channel.statistics()
        assert (statistics.waiting, statistics.accepted, statistics.dropped) == (len(model), sent, dropped)

    asyncio.run(run())
