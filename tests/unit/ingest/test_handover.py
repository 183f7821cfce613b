"""From a reader's thread to the event loop."""

import asyncio
import threading

import numpy as np

from core.records import EpochClock
from ingest.handover import Decoded, Ended, Handover, Opened
from tests.support.pictures import ArrayPicture

PICTURE = ArrayPicture(np.zeros((2, 2), dtype=np.uint8))


def decoded(t_us: int, *, restarted: bool = False) -> Decoded:
    return Decoded(t_us, PICTURE, EpochClock.MEDIA, restarted)


async def test_messages_of_a_thread_wake_the_loop_and_keep_their_order() -> None:
    handover = Handover(asyncio.get_running_loop(), capacity=8)
    sent = [Opened("h264", 2, 2), decoded(1), decoded(2), Ended(None)]
    thread = threading.Thread(target=lambda: [handover.put(message) for message in sent])
    thread.start()
    got: list[object] = []
    while len(got) < 4:
        await handover.wait(5.0)
        got += handover.take()[0]
    thread.join()
    assert got == sent


async def test_a_slow_loop_loses_the_oldest_frames_counted_and_nothing_else() -> None:
    handover = Handover(asyncio.get_running_loop(), capacity=3)
    handover.put(Opened("h264", 2, 2))
    for t_us in range(100):
        handover.put(decoded(t_us))
    handover.put(Ended(None))
    messages, skipped = handover.take()
    assert [m.t_us for m in messages if isinstance(m, Decoded)] == [97, 98, 99]
    assert isinstance(messages[0], Opened)
    assert isinstance(messages[-1], Ended)
    assert skipped == {"slow_loop": 97}


async def test_the_mark_of_a_restarted_clock_outlives_the_frame_that_carried_it() -> None:
    for capacity, left in ((2, [(2, True), (3, False)]), (1, [(3, True)])):
        handover = Handover(asyncio.get_running_loop(), capacity=capacity)
        handover.put(decoded(1, restarted=True))
        handover.put(decoded(2))
        handover.put(decoded(3))
        messages, _ = handover.take()
        assert [(m.t_us, m.restarted) for m in messages if isinstance(m, Decoded)] == left


async def test_a_thread_that_outlives_the_loop_is_not_hurt() -> None:
    loop = asyncio.new_event_loop()
    handover = Handover(loop, capacity=2)
    loop.close()
    handover.put(decoded(1))
    assert len(handover.take()[0]) == 1


async def test_waiting_is_bounded() -> None:
    handover = Handover(asyncio.get_running_loop(), capacity=2)
    await handover.wait(0.01)
    handover.packet()
    handover.skip("corrupt")
    assert (handover.packets, handover.take()[1]) == (1, {"corrupt": 1})
