"""The page on the real demo: the command, its clip as a camera, measured answers, a real browser."""

import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.support.browser import ask, browsing, opened, picture_for_readme
from tests.support.service import LivelensProcess

pytestmark = [pytest.mark.slow, pytest.mark.browser]


async def test_the_demo_answers_on_the_page_in_both_languages_with_evidence_to_click(tmp_path: Path) -> None:
    async with LivelensProcess(["demo"]) as service:
        async with browsing() as browser, opened(browser, f"{service.url}/") as visit:
            page = visit.page
            await expect(page.locator("ll-picture img.live")).to_be_visible(timeout=20_000)
            await expect(page.locator("ll-timeline .summary")).to_contain_text(
                re.compile("[1-9][0-9]* things? moved"), timeout=30_000
            )
            for number, question in enumerate(
                ("What happened in the last 30 seconds?", "刚刚发生了什么？"), 1
            ):
                await ask(page, question)
                await expect(page.locator("ll-turn[data-phase=done]")).to_have_count(number)
                turn = page.locator("ll-turn").last
                await expect(turn.locator("a.moment").first).to_be_visible()
                await expect(turn.locator(".unverified")).to_have_count(0)
                await turn.locator("a.moment").first.click()
                held = page.locator("ll-picture.pinned img.still")
                await expect(held).to_be_visible()
                await expect(held).not_to_have_js_property("naturalWidth", 0)
            assert re.search("[\u4e00-\u9fff]", await page.locator("ll-turn .words").last.inner_text())
            assert visit.complaints == []
        saved = await picture_for_readme(
            f"{service.url}/", "What happened in the last 30 seconds?", to=tmp_path / "page.png"
        )
        assert saved.stat().st_size > 50_000
