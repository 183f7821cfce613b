"""What a newcomer sees: ``livelens demo``, the page in a real browser, true answers with evidence in two languages.

The README's picture is taken here: ``README_PICTURE=1 pytest tests/e2e/test_demo.py`` waits until the demo's clip
has been shown once and saves it anew.
"""

import asyncio
import os
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.support.asking import ask as ask_by_socket
from tests.support.asking import to_us
from tests.support.browser import README_PICTURE, ask, browsing, opened, picture_for_readme
from tests.support.service import LivelensProcess

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(180)]

CLIP_S = 42


async def test_the_demo_answers_within_twelve_seconds_and_the_page_shows_true_answers_with_evidence(
    tmp_path: Path,
) -> None:
    async with LivelensProcess(["demo"]) as service:
        async with asyncio.timeout(12):
            while (await ask_by_socket(service.url, {"text": "what is happening now?"})).done[
                "outcome"
            ] != "ok":
                await asyncio.sleep(0.1)
        await service.until("something has come and gone", lambda: one_is_gone(service), within_s=30)
        async with browsing() as browser, opened(browser, service.url) as visit:
            page = visit.page
            await expect(page.locator("ll-picture img.live")).to_be_visible()
            await expect(page.locator("body")).to_contain_text("measured")
            await ask(page, "what happened in the last 30 seconds?")
            english = await answer(page, 1)
            await ask(page, "刚刚发生了什么？")
            chinese = await answer(page, 2)
            assert re.search(r"white.*moved (up|down)", english, re.DOTALL), english
            assert re.search(r"白色物体.*向[上下]移动", chinese, re.DOTALL), chinese
            await expect(page.locator("ll-turn .unverified")).to_have_count(0)
            await page.locator("ll-turn a.moment").first.click()
            still = page.locator("ll-picture.pinned img.still")
            await expect(still).to_be_visible()
            await expect(still).not_to_have_js_property("naturalWidth", 0)
            assert visit.complaints == []
            assert visit.hosts == {service.url.removeprefix("http://")}
        picture = tmp_path / "page.png"
        if os.environ.get("README_PICTURE"):
            picture = README_PICTURE
            await service.until(
                "the whole clip has been shown", lambda: held_s(service) > CLIP_S, within_s=60
            )
        await picture_for_readme(service.url, "What happened in the last 30 seconds?", to=picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert README_PICTURE.read_bytes().startswith(b"\x89PNG")


def held_s(service: LivelensProcess) -> float:
    """Return how many seconds the demo camera's window reaches back."""
    window = service.camera("demo")["window"]
    return (to_us(window["to"]) - to_us(window["from"])) / 1e6


def one_is_gone(service: LivelensProcess) -> bool:
    """Return whether a thing that moved has left the picture."""
    tracks = service.get("/api/v1/cameras/demo/timeline?last_s=60")["tracks"]
    return any(not track["open"] and track["left"] for track in tracks)


async def answer(page: Page, number: int) -> str:
    """Wait for the n-th answer and return its words."""
    turn = page.locator("ll-turn").nth(number - 1)
    await expect(turn).to_have_attribute("data-phase", "done", timeout=20_000)
    await expect(turn.locator("a.moment").first).to_be_visible()
    await expect(turn.locator("a.evidence img").first).to_be_visible()
    return await turn.inner_text()
