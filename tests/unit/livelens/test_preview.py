import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import cast

import cv2
import numpy as np
import pytest

from core.clock import ManualClock
from core.frames import Frame
from core.ids import CameraId
from featcache import UnknownCamera
from livelens.cameras import Cameras
from livelens.preview import PERIOD_US, Previews, encode_preview
from tests.support.pictures import ArrayPicture

GATE = CameraId("gate")


class OneRoad:
    """As much of a road as previews look at."""

    def __init__(self) -> None:
        self.newest_frame: Frame | None = None

    def show(self, t_us: int, value: int = 128) -> None:
        pixels = np.full((720, 1280, 3), value, dtype=np.uint8)
        self.newest_frame = Frame(GATE, t_us, 0, ArrayPicture(pixels))


class OneCamera:
    """As much of ``Cameras`` as previews need: one road by name."""

    def __init__(self) -> None:
        self.one = OneRoad()

    def road(self, camera_id: CameraId) -> OneRoad:
        if camera_id != GATE:
            raise UnknownCamera(camera_id)
        return self.one


@pytest.fixture
def cameras() -> OneCamera:
    return OneCamera()


def previews(cameras: OneCamera, clock: ManualClock, executor: ThreadPoolExecutor) -> Previews:
    return Previews(cast(Cameras, cameras), clock=clock, executor=executor)  # only ``road`` is used


def test_a_picture_is_scaled_to_640_with_its_shape_kept_and_never_up() -> None:
    for size, shown in (((1280, 720), (640, 360)), ((320, 240), (320, 240)), ((1281, 7), (640, 3))):
        jpeg = encode_preview(ArrayPicture(np.zeros((size[1], size[0], 3), dtype=np.uint8)))
        decoded = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
        assert decoded is not None
        assert decoded.shape[1::-1] == shown


async def test_before_the_first_frame_there_is_no_picture(cameras: OneCamera) -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="pictures") as executor:
        assert await previews(cameras, ManualClock(), executor).latest(GATE) is None


async def test_viewers_of_one_moment_share_one_encoding(cameras: OneCamera) -> None:
    clock = ManualClock()
    clock.advance(PERIOD_US)
    with ThreadPoolExecutor(1, thread_name_prefix="pictures") as executor:
        shared = previews(cameras, clock, executor)
        cameras.one.show(1)
        first = await asyncio.gather(*(shared.latest(GATE) for _ in range(5)))
        assert len({id(jpeg) for jpeg in first}) == 1
        cameras.one.show(2)
        assert await shared.latest(GATE) is first[0]  # a newer frame within the period waits
        clock.advance(PERIOD_US)
        assert await shared.latest(GATE) is not first[0]


async def test_watching_yields_each_picture_once(cameras: OneCamera) -> None:
    clock = ManualClock()
    clock.advance(PERIOD_US)
    with ThreadPoolExecutor(1, thread_name_prefix="pictures") as executor:
        cameras.one.show(1)
        async with aclosing(previews(cameras, clock, executor).watch(GATE)) as pictures:
            first = await anext(pictures)
            clock.advance(PERIOD_US)
            cameras.one.show(2, 20)
            assert await anext(pictures) != first


async def test_an_unknown_camera_is_named(cameras: OneCamera) -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="pictures") as executor, pytest.raises(UnknownCamera):
        await previews(cameras, ManualClock(), executor).latest(CameraId("other"))


async def test_a_camera_registered_anew_does_not_show_the_old_picture(cameras: OneCamera) -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="pictures") as executor:
        shared = previews(cameras, ManualClock(), executor)
        cameras.one.show(1)
        assert await shared.latest(GATE)
        cameras.one = OneRoad()
        assert await shared.latest(GATE) is None
