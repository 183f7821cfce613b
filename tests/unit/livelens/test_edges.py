"""What stands around every window: work beside a block, the folder of durable state, gauges and the host's clock."""

import asyncio
from pathlib import Path

import pytest

from core.clock import ServiceClock
from core.meter import Metric
from livelens import edges as module
from livelens.edges import background, database_of, housekeeping
from livelens.errors import WrongSetting
from livelens.settings import Settings
from web import ExportedMeter


async def test_leaving_the_block_ends_what_ran_beside_it() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with background(work()):
        await asyncio.sleep(0)
    assert ended.is_set()


async def test_work_that_fails_ends_the_block() -> None:
    async def work() -> None:
        raise RuntimeError("no more")

    with pytest.raises(ExceptionGroup):
        async with background(work()):
            await asyncio.Event().wait()


def test_a_database_s_address_wins_over_the_data_folder(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    assert database_of(Settings(data_dir=folder, database_url="sqlite:///x.db")) == "sqlite:///x.db"
    assert not folder.exists()
    assert database_of(Settings(data_dir=folder)) == folder / "livelens.db"
    assert folder.is_dir()


def test_a_data_folder_that_cannot_be_made_is_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WrongSetting, match="data_dir = "):
        database_of(Settings(data_dir=tmp_path / "file" / "state"))


class Counted:
    """Cameras that count how often they were counted."""

    def __init__(self, *, online: bool) -> None:
        self.any_online = online
        self.measured = asyncio.Event()

    def measure(self) -> None:
        self.measured.set()


class Stepped(ServiceClock):
    """A clock whose host has gone forward for good."""

    adopted = 0

    def adopt_step(self) -> int:
        self.adopted += 1
        return 3_000_000 if self.adopted == 1 else 0


@pytest.mark.parametrize("online", [True, False])
async def test_a_step_of_the_host_s_clock_is_adopted_only_while_no_camera_sends(
    online: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEASURE_EVERY_S", 0.0)
    cameras, clock, meter = Counted(online=online), Stepped(), ExportedMeter()
    async with background(housekeeping(cameras, clock, meter)), asyncio.timeout(5):
        await cameras.measured.wait()
        await asyncio.sleep(0)
    assert bool(clock.adopted) is not online
    assert Metric.HOST_CLOCK_STEP_SECONDS.value.name.encode() in meter.render()
