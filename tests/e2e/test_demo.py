"""What a newcomer sees: ``livelens demo``, the page in a real browser, true answers with evidence in two languages."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.support.asking import ask as ask_by_socket
from tests.support.browser import README_PICTURE, ask, browsing, opened, picture_for_readme
from tests.support.service import LivelensProcess

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(180)]


async def test_the_demo_answers_within_twelve_seconds_and_the_page_shows_true_answers_with_evidence(
    tmp_path: Path,
) -> None:
    async with LivelensProcess(["demo"]) as service:
        early = await ask_by_socket(service.url, {"text": "what is happening now?"}, within_s=12)
        assert early.done["outcome"] in ("ok", "empty"), early
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
        await picture_for_readme(service.url, "What happened in the last 30 seconds?", to=picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert README_PICTURE.exists(), "take it with: python -m tests.support.readme_picture"


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
