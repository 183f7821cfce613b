"""Measured answers about real clips over real RTSP, held against what the clips really show."""

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import Heard, ask, rfc3339, to_us
from tests.support.rtsp_server import Mount, RtspServer
from tests.support.service import LivelensProcess

pytestmark = [pytest.mark.slow, pytest.mark.rtsp, pytest.mark.timeout(240)]

MEDIA = Path(__file__).resolve().parents[1] / "media"
TRUTH: dict[str, Any] = json.loads((MEDIA / "truth.json").read_text())["clips"]
CARS = ("car-detection-1.mp4", "car-detection-2.mp4", "car-detection-3.mp4")
VISITS = ("two-visits.mp4",)
ARRIVAL_S, DEPARTURE_S = 0.5, 1.5
QUIET_S = 1.0

KINDS = re.compile(
    r"\b(person|people|man|men|woman|child|human|pedestrian|visitor|car|cars|vehicle|truck|van|bike|bicycle|"
    r"animal|dog|cat|hand|bottle|paper)\b|[人车狗猫手瓶纸]|汽车|行人",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Activity:
    """Something that happened, in seconds from the start of the row of clips."""

    start_s: float
    end_s: float
    directions: tuple[str, ...]

    def later(self, by_s: float) -> "Activity":
        """Return the same, so much later."""
        return Activity(self.start_s + by_s, self.end_s + by_s, self.directions)


def truth_of(clips: tuple[str, ...]) -> tuple[list[Activity], float]:
    """Return the activities of clips played in a row, and the row's length."""
    activities, begins_s = [], 0.0
    for name in clips:
        for moving in TRUTH[name]["moving"]:
            directions = tuple(track["direction"] for track in moving["tracks"] if "direction" in track)
            activities.append(Activity(begins_s + moving["from"], begins_s + moving["to"], directions))
        begins_s += TRUTH[name]["length_s"]
    return activities, begins_s


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence that tells of something, and the frames' times that it names."""

    text: str
    times_us: tuple[int, ...]


def statements(heard: Heard) -> list[Statement]:
    """Return the sentences with at least two checked times: an arrival and a departure."""
    found, offset = [], 0
    for sentence in re.split(r"(?<=[.。])\s*(?=[^\s\d])", heard.text):
        start = heard.text.index(sentence, offset)
        offset = start + len(sentence)
        inside = [c for c in heard.done["citations"] if start <= c["offset"] < offset]
        assert all(c["verified"] for c in inside), heard.text
        if len(inside) >= 2:
            found.append(Statement(sentence, tuple(to_us(c["t"]) for c in inside)))
    return found


def quiet_start(activities: list[Activity], from_s: float) -> float:
    """Return the first moment at or after ``from_s`` at which nothing is going on, nor about to."""
    start_s = from_s
    for activity in activities:
        if activity.start_s - QUIET_S < start_s < activity.end_s + QUIET_S:
            start_s = activity.end_s + QUIET_S
    return start_s


async def watch(
    cameras: RtspServer, service: LivelensProcess, activities: list[Activity], length_s: float
) -> tuple[int, float]:
    """Wait until a whole row of clips has been seen from a quiet moment on.

    Returns the time at which the row's first picture was sent, and the quiet moment within the row.
    """
    sent = []
    while not sent:
        sent = cameras.sent()
        await asyncio.sleep(0.05)
    row_us = sent[0].wall_us - sent[0].offset_us
    seen_from_s = (to_us(service.camera("cam")["window"]["from"]) - row_us) / 1e6
    start_s = quiet_start(activities, seen_from_s + 0.5)
    end_us = row_us + round((start_s + length_s) * 1e6)
    await service.until(
        "the whole row has been seen",
        lambda: to_us(service.camera("cam")["window"]["to"]) > end_us,
        within_s=start_s + length_s + 20,
    )
    return row_us, start_s


@pytest.mark.parametrize("clips", [CARS, VISITS], ids=["cars", "visits"])
async def test_each_real_activity_is_one_statement_with_true_times_and_directions(
    clips: tuple[str, ...],
) -> None:
    activities, length_s = truth_of(clips)
    async with RtspServer({"cam": Mount([MEDIA / name for name in clips], report=range(12))}) as cameras:
        async with LivelensProcess(["serve", "--camera", f"cam={cameras.url('cam')}"]) as service:
            await service.until("frames", lambda: service.camera("cam")["window"]["frames"] > 0)
            row_us, start_s = await watch(cameras, service, activities, length_s)
            start_us = row_us + round(start_s * 1e6)
            window = {"from": rfc3339(start_us), "to": rfc3339(start_us + round(length_s * 1e6))}
            english = await ask(service.url, {"cameras": ["cam"], "text": "what happened?", "window": window})
            chinese = await ask(service.url, {"cameras": ["cam"], "text": "发生了什么？", "window": window})
    # The clips play round and round: what the window begins after comes again at its end.
    again = [a.later(length_s) for a in activities if a.start_s < start_s]
    activities = [a for a in activities if a.start_s >= start_s] + again
    told = statements(english)
    assert len(told) == len(activities), english.text
    for statement, activity in zip(told, activities, strict=True):
        arrival_s = (statement.times_us[0] - row_us) / 1e6
        departure_s = (max(statement.times_us) - row_us) / 1e6
        assert abs(arrival_s - activity.start_s) <= ARRIVAL_S, statement.text
        assert abs(departure_s - activity.end_s) <= DEPARTURE_S, statement.text
        for direction in activity.directions:
            assert f"moved {direction}" in statement.text
    assert {c["t"] for c in chinese.done["citations"]} == {c["t"] for c in english.done["citations"]}
    for heard in (english, chinese):
        assert KINDS.search(heard.text) is None, heard.text
        assert (heard.done["model"], heard.done["frames_encoded_now"]) == ("measured", 0)
