"""A camera that goes away and comes back, and a service that does: nothing lost, and the gap is told."""

import asyncio
from pathlib import Path

import pytest

from tests.support.asking import ask, to_us
from tests.support.clips import Shot, constant_rate, write_clip
from tests.support.rtsp_server import Mount, RtspServer
from tests.support.service import LivelensProcess

pytestmark = [pytest.mark.slow, pytest.mark.rtsp]

AWAY_S = 10
QUICK = {"LIVELENS_INGEST__READ_TIMEOUT_S": "3", "LIVELENS_INGEST__LONGEST_PAUSE_S": "2"}


async def test_a_camera_gone_for_ten_seconds_comes_back_by_itself_and_answers_tell_of_the_gap(
    tmp_path: Path,
) -> None:
    clip = write_clip(tmp_path / "moving.mp4", [Shot(constant_rate(100))])
    async with RtspServer({"cam": Mount([clip])}) as cameras:
        words = ["serve", "--camera", f"gate={cameras.url('cam')}", "--camera", f"other={clip}"]
        async with LivelensProcess(words, settings=QUICK) as service:
            await service.until_state("gate", "online")
            await service.until("frames", lambda: service.camera("gate")["window"]["frames"] > 3)
            cameras.kill()
            await service.until_state("gate", "offline", "stalled")
            during = await ask(service.url, {"cameras": ["gate"], "text": "what is happening now?"})
            assert during.started["coverage"]["last_frame_age_s"] > 0
            before = service.camera("other")["state"]["frames_total"]
            await asyncio.sleep(AWAY_S)  # the length of the outage is what this test is about
            assert service.camera("other")["state"]["frames_total"] - before > AWAY_S * 10 * 0.8
            await cameras.start()
            await service.until_state("gate", "online", within_s=15)
            await service.until(
                "frames come again", lambda: (service.camera("gate")["state"]["last_frame_age_s"] or 99) < 2
            )
            heard = await ask(
                service.url, {"cameras": ["gate"], "text": "what happened in the last 30 seconds?"}
            )
            timeline = service.get("/api/v1/cameras/gate/timeline?last_s=60")
            times = [sample["t_us"] for sample in timeline["samples"]]
            assert service.camera("gate")["state"]["reconnects"] >= 1
    assert times == sorted(set(times))
    gaps = heard.started["coverage"]["gaps"]
    assert [gap["reason"] for gap in gaps] == ["unreachable"]
    length_s = (to_us(gaps[0]["to"]) - to_us(gaps[0]["from"])) / 1e6
    assert AWAY_S <= length_s < AWAY_S + 8
    assert "No signal" in heard.text
    assert all(not to_us(gaps[0]["from"]) < t < to_us(gaps[0]["to"]) for t in times)


async def test_a_restarted_service_brings_cameras_back_and_its_own_absence_is_a_gap(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "moving.mp4", [Shot(constant_rate(100))])
    state = tmp_path / "state"
    async with RtspServer({"cam": Mount([clip])}) as cameras:
        async with LivelensProcess(
            ["serve", "--camera", f"gate={cameras.url('cam')}"], data_dir=state
        ) as service:
            await service.until_state("gate", "online")
            await service.until("frames", lambda: service.camera("gate")["window"]["frames"] > 3)
            assert service.call("PATCH", "/api/v1/cameras/gate", {"name": "The gate"}).status_code == 200
            first = await ask(service.url, {"cameras": ["gate"], "text": "what happened?"})
            last_us = to_us(service.camera("gate")["state"]["last_frame_at"])
            assert await service.stop() == 0
        async with LivelensProcess(["serve"], data_dir=state) as service:
            await service.until_state("gate", "online")
            await service.until("frames", lambda: service.camera("gate")["window"]["frames"] > 3)
            assert service.camera("gate")["name"] == "The gate"
            timeline = service.get("/api/v1/cameras/gate/timeline?last_s=120")
            follow_up = await ask(
                service.url, {"text": "and now?", "conversation": first.started["conversation"]}
            )
    assert timeline["samples"][0]["t_us"] > last_us
    [gap] = [gap for gap in timeline["gaps"] if gap["reason"] == "service_stopped"]
    assert to_us(gap["from"]) >= last_us - 1_000_000
    assert to_us(gap["to"]) <= timeline["samples"][0]["t_us"]
    assert follow_up.done, follow_up.error


async def test_a_killed_service_loses_no_camera(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "moving.mp4", [Shot(constant_rate(50))])
    state = tmp_path / "state"
    service = LivelensProcess(["serve", "--camera", f"gate={clip}"], data_dir=state)
    await service.start()
    await service.until("frames", lambda: service.camera("gate")["window"]["frames"] > 1)
    await service.kill()
    async with LivelensProcess(["serve"], data_dir=state) as service:
        await service.until_state("gate", "online")
