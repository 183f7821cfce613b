"""What a newcomer sees: ``livelens demo``, the page in a real browser, answers with evidence in two languages.

The README's picture is taken here: ``README_PICTURE=1 pytest tests/e2e/test_demo.py`` waits until a minute of the
demo's scene has been shown and saves it anew.
"""

import asyncio
import os
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from livelens.first_cameras import CAR_PARK_CAMERA, DEMO_CAMERA
from tests.support.asking import ask as ask_by_socket
from tests.support.asking import to_us
from tests.support.browser import README_PICTURE, ask, browsing, opened, picture_for_readme
from tests.support.service import LivelensProcess
from tests.support.shown_scenes import shown_scene, used_frames

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.torch, pytest.mark.timeout(240)]

PICTURE_AFTER_S = 60


async def test_the_demo_answers_within_twelve_seconds_and_the_page_shows_true_answers_with_evidence(
    tmp_path: Path,
) -> None:
    async with LivelensProcess(["demo"], model=None) as service:
        async with asyncio.timeout(12):
            now = {"cameras": [DEMO_CAMERA], "text": "what is happening now?"}
            while (heard := await ask_by_socket(service.url, now)).done.get("outcome") != "ok":
                await asyncio.sleep(0.1)
        assert heard.done["frames_encoded_now"] == 0
        await service.until("the scene has changed", lambda: changed(service), within_s=60)
        await service.until("a car has come and gone", lambda: one_is_gone(service), within_s=60)
        async with browsing() as browser, opened(browser, f"{service.url}/#{DEMO_CAMERA}") as visit:
            await expect(visit.page.locator("ll-picture img.live")).to_be_visible()
            await two_languages(visit.page)
            assert visit.complaints == []
            assert visit.hosts == {service.url.removeprefix("http://")}
        async with browsing() as browser, opened(browser, f"{service.url}/#{CAR_PARK_CAMERA}") as visit:
            await expect(visit.page.locator("body")).to_contain_text("measured")
            english, chinese = await two_languages(visit.page)
            assert re.search(r"white.*moved (up|down)", english, re.DOTALL), english
            assert re.search(r"白色物体.*向[上下]移动", chinese, re.DOTALL), chinese
            assert visit.complaints == []
        picture = tmp_path / "page.png"
        if os.environ.get("README_PICTURE"):
            picture = README_PICTURE
            await service.until(
                "a minute has been shown", lambda: held_s(service) > PICTURE_AFTER_S, within_s=90
            )
        await picture_for_readme(
            f"{service.url}/#{DEMO_CAMERA}", "What happened in the last 30 seconds?", to=picture
        )
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert README_PICTURE.read_bytes().startswith(b"\x89PNG")


async def test_used_frames_lie_on_the_frames_of_the_scene_that_the_log_tells_of() -> None:
    async with LivelensProcess(["demo"]) as service:
        await service.until("frames are held", lambda: held_s(service) > 4)
        heard = await ask_by_socket(service.url, {"cameras": [DEMO_CAMERA], "text": "what happened?"})
        shown = shown_scene(service.log, DEMO_CAMERA)
    used = used_frames(heard)
    assert used
    away_us = [t_us - shown.began_us - shown.scene_us(t_us) for t_us, _ in used]
    assert max(map(abs, away_us)) < 40_000
    watched = shown.watched(used)
    assert [moment.label for moment in watched.moments] == [label for _, label in used]
    assert watched.truth.objects


async def two_languages(page: Page) -> tuple[str, str]:
    """Ask what happened in English and in Chinese, look at the evidence, and return both answers."""
    await ask(page, "what happened in the last 30 seconds?")
    english = await answer(page, 1)
    await ask(page, "刚刚发生了什么？")
    chinese = await answer(page, 2)
    await expect(page.locator("ll-turn .unverified")).to_have_count(0)
    await page.locator("ll-turn a.moment").first.click()
    still = page.locator("ll-picture.pinned img.still")
    await expect(still).to_be_visible()
    await expect(still).not_to_have_js_property("naturalWidth", 0)
    return english, chinese


def held_s(service: LivelensProcess) -> float:
    """Return how many seconds the demo camera's window reaches back; 0 while there is none."""
    window = service.camera(DEMO_CAMERA)["window"]
    return (to_us(window["to"]) - to_us(window["from"])) / 1e6 if window["from"] else 0.0


def changed(service: LivelensProcess) -> bool:
    """Return whether something appeared or left in the demo's scene a while ago."""
    shown, window = shown_scene(service.log, DEMO_CAMERA), service.camera(DEMO_CAMERA)["window"]
    if not window["to"]:
        return False
    until_us = to_us(window["to"])
    times = {
        at
        for thing in shown.truth(until_us).objects
        for at in (thing.appears_us, thing.leaves_us)
        if at is not None
    }
    return any(1_000_000 < at < shown.scene_us(until_us) - 1_000_000 for at in times)


def one_is_gone(service: LivelensProcess) -> bool:
    """Return whether a thing that moved in the car park has left the picture."""
    tracks = service.get(f"/api/v1/cameras/{CAR_PARK_CAMERA}/timeline?last_s=60")["tracks"]
    return any(not track["open"] and track["left"] for track in tracks)


async def answer(page: Page, number: int) -> str:
    """Wait for the n-th answer and return its words."""
    turn = page.locator("ll-turn").nth(number - 1)
    await expect(turn).to_have_attribute("data-phase", "done", timeout=20_000)
    await expect(turn.locator("a.moment").first).to_be_visible()
    await expect(turn.locator("a.evidence img").first).to_be_visible()
    return await turn.inner_text()
