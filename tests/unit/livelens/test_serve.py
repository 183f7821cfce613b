import asyncio
import os
import signal
from pathlib import Path

import httpx2
import pytest

from livelens.errors import AddressNotFree, WrongSetting
from livelens.first_cameras import named_camera, register
from livelens.serve import run_service, running_service
from livelens.settings import Settings
from tests.support.roads import UTC, moving_clip
from web import listen


async def test_leaving_the_block_leaves_no_task(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with running_service(Settings(data_dir=tmp_path, model="none"), UTC) as service:
        assert service.cameras.list() == ()
    assert asyncio.all_tasks() == before


async def test_a_taken_address_is_named_before_anything_starts(tmp_path: Path) -> None:
    taken = listen("127.0.0.1", 0)
    port = taken.getsockname()[1]
    settings = Settings(data_dir=tmp_path / "state", port=port, model="none")
    with taken, pytest.raises(AddressNotFree, match=str(port)):
        await run_service(settings, demo=False, browser=False, isolate=False, cameras=(), announce=print)
    assert not (tmp_path / "state").exists()


async def test_a_data_folder_that_cannot_be_made_is_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    settings = Settings(data_dir=tmp_path / "file" / "state", port=0, model="none")
    with pytest.raises(WrongSetting, match="data_dir = "):
        await run_service(settings, demo=False, browser=False, isolate=False, cameras=(), announce=print)


async def test_the_address_is_announced_once_questions_can_be_asked_and_isolated_state_goes_away(
    tmp_path: Path,
) -> None:
    announced: asyncio.Queue[str] = asyncio.Queue()
    running = asyncio.create_task(
        run_service(
            Settings(data_dir=tmp_path / "never", port=0, model="none"),
            demo=False,
            browser=False,
            isolate=True,
            cameras=[f"gate={moving_clip(tmp_path)}"],
            announce=announced.put_nowait,
        )
    )
    async with asyncio.timeout(20):
        url = await announced.get()
        async with httpx2.AsyncClient(trust_env=False) as client:
            assert (await client.get(f"{url}/readyz")).json()["ready"] is True
            cameras = (await client.get(f"{url}/api/v1/cameras")).json()["cameras"]
    assert [camera["id"] for camera in cameras] == ["gate"]
    running.cancel()
    await asyncio.wait([running], timeout=20)
    assert running.done()
    assert not (tmp_path / "never").exists()


async def test_a_signal_that_comes_as_the_address_is_announced_ends_the_service(tmp_path: Path) -> None:
    async with asyncio.timeout(20):
        await run_service(
            Settings(data_dir=tmp_path, port=0, model="none"),
            demo=False,
            browser=False,
            isolate=True,
            cameras=(),
            announce=lambda _url: os.kill(os.getpid(), signal.SIGTERM),
        )


async def test_a_camera_whose_pictures_the_built_in_model_does_not_know_is_measured(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, model="builtin")
    async with running_service(settings, UTC) as service:
        camera = named_camera(f"gate={moving_clip(tmp_path)}", UTC, 0)
        await register(service.cameras, camera)
        assert service.cameras.status(camera.id).answered_by == "builtin"
        async with asyncio.timeout(20):
            while service.cameras.status(camera.id).answered_by != "measured":
                await asyncio.sleep(0.01)
