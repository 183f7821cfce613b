"""Long, random trouble: ``make soak``, with ``SOAK_SEED`` and ``SOAK_SECONDS`` to choose another run."""

import os
from pathlib import Path

import pytest

from tests.support.torment import torment

SEED = int(os.environ.get("SOAK_SEED", "20261130"))
SECONDS = float(os.environ.get("SOAK_SECONDS", "900"))


@pytest.mark.timeout(SECONDS + 300)
async def test_long_trouble_leaves_every_camera_online_and_nothing_behind(tmp_path: Path) -> None:
    assert await torment(tmp_path, seed=SEED, seconds=SECONDS) > 0
