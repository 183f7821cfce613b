"""A real Chromium for tests of the page, and the picture of the page for the README.

async with browsing() as browser, opened(browser, url) as visit:
    await visit.page.get_by_role("button", name="Send").click()
"""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page, async_playwright, expect

WIDE = (1440, 900)
PHONE = (390, 844)
README_PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "page.png"
LARGEST_PICTURE_BYTES = 600_000
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_ANSWER_MS = 20_000


def chromium() -> str:
    """Return the path of Debian's Chromium; a machine without one fails its tests."""
    found = shutil.which("chromium")
    assert found is not None, "chromium is missing: apt-get install chromium"
    return found


# The picture with the most in it takes the most bytes.
_LIVELIEST = """async () => {
  const pictures = [...document.querySelectorAll("ll-turn a.evidence img")];
  const sizes = await Promise.all(pictures.map(async (img) => (await (await fetch(img.src)).blob()).size));
  return sizes.indexOf(Math.max(...sizes));
}"""


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    """Run one headless Chromium."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=list(_FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


@dataclass
class Visit:
    """A page that is open, and what it did wrong.

    Attributes:
        complaints: Errors and warnings of its console, and exceptions nobody caught.
        hosts: Every ``host:port`` it asked anything of, sockets included.
    """

    page: Page
    complaints: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        self.page.on("request", lambda request: self._asked(request.url))
        self.page.on("websocket", lambda socket: self._asked(socket.url))

    def _console(self, message: Any) -> None:  # playwright is untyped here
        if message.type in ("error", "warning"):
            where = message.location.get("url", "")
            self.complaints.append(f"{message.type}: {message.text} {where}".rstrip())

    def _asked(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "data":
            self.hosts.add(parts.netloc)


@asynccontextmanager
async def opened(
    browser: Browser,
    url: str,
    *,
    size: tuple[int, int] = WIDE,
    language: str = "en-US",
    scheme: str = "dark",
    touch: bool = False,
    scale: float = 1,
    reduced_motion: bool = False,
) -> AsyncIterator[Visit]:
    """Open ``url`` as a new visitor with an empty storage; does not wait for anything but the document."""
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        locale=language,
        color_scheme=scheme,
        has_touch=touch,
        device_scale_factor=scale,
        reduced_motion="reduce" if reduced_motion else "no-preference",
    )
    context.set_default_timeout(10_000)
    try:
        visit = Visit(await context.new_page())
        await visit.page.goto(url, wait_until="domcontentloaded")
        yield visit
    finally:
        await context.close()


async def ask(page: Page, question: str) -> None:
    """Type a question and send it."""
    await page.locator("#Question").fill(question)
    await page.locator("#Question").press("Enter")


async def picture_for_readme(
    url: str, question: str, *, to: Path = README_PICTURE, size: tuple[int, int] = WIDE
) -> Path:
    """Ask ``question`` on the page at ``url``, hold the liveliest picture of the answer's evidence, and save it all.

    Raises:
        AssertionError: no answer with evidence came within 20 s, or the picture is larger than 600 kB.
    """
    async with browsing() as browser, opened(browser, url, size=size) as visit:
        page = visit.page
        await expect(page.locator("ll-picture img.live")).to_be_visible(timeout=_ANSWER_MS)
        await page.get_by_role("button", name="1 min", exact=True).click()
        await expect(page.locator("ll-timeline .summary")).to_contain_text("moved", timeout=_ANSWER_MS)
        await ask(page, question)
        await expect(page.locator("ll-turn[data-phase=done]")).to_be_visible(timeout=_ANSWER_MS)
        await expect(page.locator("ll-turn a.moment").first).to_be_visible()
        await page.locator("ll-turn a.evidence").nth(await page.evaluate(_LIVELIEST)).click()
        await expect(page.locator("ll-picture.pinned")).to_be_visible()
        await page.mouse.move(5, 5)
        await page.evaluate(
            "() => Promise.all([...document.images].filter((i) => i.src && !i.hidden && !i.classList.contains('live'))"
            ".map((i) => i.decode().catch(() => null)))"
        )
        to.parent.mkdir(parents=True, exist_ok=True)
        await page.screenshot(path=str(to))
    assert to.stat().st_size <= LARGEST_PICTURE_BYTES, f"{to} is {to.stat().st_size} bytes"
    return to
