from core.ids import CameraId
from livelens.listeners import CHANGES_WAITING, Listeners


async def test_each_listener_hears_what_changes_while_it_listens() -> None:
    listeners = Listeners()
    assert not listeners
    listeners.tell((CameraId("early"), None))
    async with listeners.listening() as one, listeners.listening() as other:
        assert listeners
        listeners.tell((CameraId("gate"), None))
        assert await anext(one) == await anext(other) == (CameraId("gate"), None)
    assert not listeners


async def test_one_that_does_not_keep_up_loses_the_oldest() -> None:
    listeners = Listeners()
    async with listeners.listening() as channel:
        for number in range(CHANGES_WAITING + 1):
            listeners.tell((CameraId(f"camera-{number}"), None))
        assert (await anext(channel))[0] == "camera-1"
