"""The benchmark command measures the real service. What it finds is printed, never asserted."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.rtsp, pytest.mark.timeout(180)]


async def test_a_bench_prints_its_table_and_every_row_that_a_target_names(tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench", "glass", "--quick", "--json", str(rows)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, complaints = await process.communicate()
    assert process.returncode == 0, complaints.decode()
    lines = printed.decode().rstrip().splitlines()
    assert lines[-1].startswith(("MET:", "MISSED:"))
    found = {row["name"]: row for row in json.loads(rows.read_text())}
    assert {"glass.median", "glass.p95"} <= set(found)
    assert found["glass.p95"]["n"] == 10
    assert found["glass.p95"]["target"] == 1.0
