"""A short sample of the soak test's trouble."""

from pathlib import Path

import pytest

from tests.support.torment import torment

pytestmark = [pytest.mark.slow, pytest.mark.rtsp]


async def test_short_trouble_leaves_every_camera_online_and_nothing_behind(tmp_path: Path) -> None:
    assert await torment(tmp_path, seed=1, seconds=12) > 0
