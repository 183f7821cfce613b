"""The page in a real browser, against the real edges with a made-up world behind them."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from core.ids import CameraId
from core.spans import Span
from qa.labels import time_label
from tests.support.browser import PHONE, Visit, ask, browsing, opened
from tests.support.page_stage import PAST_S, SECOND_US, Stage, colour_at, served, staged
from tests.support.web_fakes import BERLIN, World
from web.settings import WebSettings

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with browsing() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    async with staged() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def visit(browser: Browser, stage: Stage) -> AsyncIterator[Visit]:
    async with opened(browser, stage.url) as visit:
        await visit.page.evaluate("(us) => { window.filled_us = us; }", stage.filled_us)
        yield visit
        assert visit.complaints == []
        assert visit.hosts == {stage.address}


async def until(what: Callable[[], Awaitable[bool]], *, timeout_s: float = 8.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not await what():  # a browser tells nobody
            await asyncio.sleep(0.03)


async def colour_of(page: Page, image: str) -> list[int]:
    """Return the middle pixel (red, green, blue) of a picture on the page."""
    return await page.evaluate(
        """(css) => {
          const image = document.querySelector(css);
          const canvas = new OffscreenCanvas(1, 1);
          const ctx = canvas.getContext("2d");
          ctx.drawImage(image, image.naturalWidth / 2, image.naturalHeight / 2, 1, 1, 0, 0, 1, 1);
          return [...ctx.getImageData(0, 0, 1, 1).data.slice(0, 3)];
        }""",
        image,
    )


def near(seen: list[int], wanted: tuple[int, int, int]) -> bool:
    return all(abs(a - b) <= 6 for a, b in zip(seen, wanted, strict=True))


async def drawn(page: Page) -> None:
    await expect(page.locator(".timeline-surface")).to_have_attribute("data-samples", re.compile(r"\d{2,}"))


async def answered(page: Page, number: int = 1) -> None:
    await expect(page.locator("ll-turn[data-phase=done]")).to_have_count(number)


async def test_a_camera_is_picked_and_seen_to_move(visit: Visit) -> None:
    page = visit.page
    await expect(page.get_by_role("heading", name="Gate", level=2)).to_be_visible()
    await expect(page.locator(".delay")).to_contain_text("live 0.2 s")
    await expect(page.locator("ll-picture img.live")).to_be_visible()
    first = await colour_of(page, "ll-picture img.live")
    await until(lambda: differs(page, first))
    await expect(page.get_by_text("25.0 frames/s in")).to_be_visible()


async def differs(page: Page, colour: list[int]) -> bool:
    return await colour_of(page, "ll-picture img.live") != colour


async def test_holding_a_moment_gives_the_stream_up(visit: Visit, stage: Stage) -> None:
    page = visit.page
    await drawn(page)
    await until(lambda: watchers(stage, 1))
    await page.get_by_role("button", name="Hold this moment").click()
    newest_us = await held(page)
    await until(lambda: shows(page, newest_us))
    await until(lambda: watchers(stage, 0))
    await page.get_by_role("button", name="Back to live").click()
    await until(lambda: watchers(stage, 1))
    await expect(page.locator("ll-picture img.still")).to_be_hidden()


async def held(page: Page) -> int:
    """Return the moment in the big picture, as the address names it."""
    await expect(page).to_have_url(re.compile(r"#gate/\d+$"))
    return int(page.url.rpartition("/")[2])


async def watchers(stage: Stage, number: int) -> bool:
    return stage.world.preview.watching == number


async def test_states_are_told_in_words_and_shapes(visit: Visit) -> None:
    page = visit.page
    shed = page.get_by_role("button", name=re.compile("Shed"))
    await expect(shed).to_contain_text("wrong name or password")
    await expect(shed.locator(".icon-refused")).to_be_visible()
    await expect(
        page.get_by_role("button", name=re.compile("Gate.*online")).locator(".icon-online")
    ).to_be_visible()
    await shed.click()
    await expect(page.locator("ll-picture")).to_contain_text(
        "No picture yet. The camera refused the name or password."
    )
    await page.locator("ll-picture").get_by_role("button", name="Enter the password").click()
    await expect(page.get_by_role("dialog", name="Name and password for Shed")).to_be_visible()


async def test_the_timeline_draws_samples_gaps_and_rest(visit: Visit) -> None:
    page = visit.page
    await drawn(page)
    await expect(page.locator(".timeline-surface")).to_have_attribute("data-gaps", "1")
    await expect(page.locator("ll-timeline .summary")).to_contain_text("1 thing moved, 1 gap")
    await until(lambda: painted(page))
    await hover_at(page, ago_s=130)
    await expect(page.locator(".peek")).to_contain_text("(camera did not answer)")
    await hover_at(page, ago_s=90)
    await expect(page.locator(".peek")).to_contain_text("Unchanged since")
    await hover_at(page, ago_s=45)
    await expect(page.locator(".peek")).to_contain_text("something white, 30.0 s")


async def painted(page: Page) -> bool:
    return await page.evaluate(
        """() => {
          const canvas = document.querySelector("ll-timeline canvas");
          if (!canvas.width) return false;
          const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          let inked = 0;
          for (let i = 3; i < data.length; i += 4) inked += data[i] > 0 ? 1 : 0;
          return inked > 2000;
        }"""
    )


async def place(page: Page, *, ago_s: float, range_s: int = 600) -> tuple[float, float]:
    """Return where on the screen the timeline shows a moment; the filled part ended when the stage was made."""
    box = await page.locator(".timeline-surface").bounding_box()
    assert box is not None
    filled_us, now_us = await page.evaluate("() => [window.filled_us, Date.now() * 1000]")
    age_s = (now_us - filled_us) / 1e6 + ago_s
    x = box["x"] + (1 - age_s / range_s) * (box["width"] - 6)
    return x, box["y"] + box["height"] / 2


async def hover_at(page: Page, *, ago_s: float) -> None:
    x, y = await place(page, ago_s=ago_s)
    await page.mouse.move(x, y)


async def test_words_arrive_and_a_citation_shows_its_moment(visit: Visit, stage: Stage) -> None:
    page = visit.page
    await drawn(page)
    stage.world.asker.gate.clear()
    await ask(page, "What happened in the last minute?")
    turn = page.locator("ll-turn")
    await expect(turn).to_have_attribute("data-phase", "answering")
    await expect(page.get_by_role("button", name="Stop", exact=True).last).to_be_visible()
    stage.world.asker.gate.set()
    await answered(page)
    await expect(turn.locator(".words")).to_contain_text("A white thing came in from the left")
    await expect(turn).to_contain_text("0 encoded now")
    await expect(turn).to_contain_text("16 words measured")
    cited = turn.locator("a.moment").first
    t_us = int((await cited.get_attribute("data-moment") or "").split("/")[1])
    assert await cited.inner_text() == time_label(t_us, BERLIN)[1:-1]
    await cited.hover()
    await expect(turn.locator(".evidence.lit")).to_have_attribute("data-moment", f"gate/{t_us}")
    await cited.click()
    await expect(page.locator("ll-picture.pinned")).to_be_visible()
    await until(lambda: shows(page, t_us))
    assert page.url.endswith(f"#gate/{t_us}")
    await page.get_by_role("button", name="Back to live").click()
    await expect(page.locator("ll-picture.pinned")).to_have_count(0)


async def test_a_moment_that_is_followed_is_shown_whatever_changes_in_the_same_instant(visit: Visit) -> None:
    page = visit.page
    await drawn(page)
    await page.get_by_role("button", name="Hold this moment").click()
    t_us = await held(page)
    await page.get_by_role("button", name="Back to live").click()
    await expect(page.locator("ll-picture.pinned")).to_have_count(0)
    # The address changes at once, its event comes later; in between the page writes its state into the address.
    await page.evaluate(
        """moment => {
          location.hash = moment;
          document.querySelector("ll-header .tools button:last-child").click();
        }""",
        f"#gate/{t_us}",
    )
    await until(lambda: shows(page, t_us))
    assert page.url.endswith(f"#gate/{t_us}")


async def shows(page: Page, t_us: int) -> bool:
    visible = await page.locator("ll-picture img.still").is_visible()
    return visible and near(await colour_of(page, "ll-picture img.still"), colour_at(t_us))


async def test_a_chinese_question_gets_a_chinese_answer_and_the_language_can_be_switched(
    visit: Visit,
) -> None:
    page = visit.page
    await page.get_by_role("button", name="语言：中文").click()
    await expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    await expect(page.get_by_role("button", name="添加摄像头")).to_be_visible()
    await ask(page, "刚刚发生了什么？")
    await answered(page)
    await expect(page.locator("ll-turn .words")).to_contain_text("从左侧进入")
    await expect(page.locator("ll-turn")).to_contain_text("新编码 0 帧")
    await page.reload()
    await expect(page.get_by_role("heading", name="提问")).to_be_visible()
    await page.get_by_role("button", name="Language: English").click()
    await expect(page.get_by_role("heading", name="Ask")).to_be_visible()


async def test_dragging_chooses_a_span_and_the_next_question_carries_it(visit: Visit, stage: Stage) -> None:
    page = visit.page
    await drawn(page)
    x, y = await place(page, ago_s=60)
    await page.mouse.move(x, y)
    await page.mouse.down()
    x, y = await place(page, ago_s=30)
    await page.mouse.move(x, y, steps=4)
    await page.mouse.up()
    await expect(page.locator(".chip", has_text="–")).to_be_visible()
    await page.get_by_role("button", name="What happened in this span?").click()
    await answered(page)
    window = stage.world.asker.asked[-1].window
    assert isinstance(window, Span)
    assert abs(window.start_us - (stage.filled_us - 60 * SECOND_US)) < 3 * SECOND_US
    assert abs(window.end_us - (stage.filled_us - 30 * SECOND_US)) < 3 * SECOND_US
    await expect(page.locator(".chip", has_text="–")).to_have_count(0)


async def test_arrow_keys_step_through_samples(visit: Visit, stage: Stage) -> None:
    page = visit.page
    await drawn(page)
    timeline = page.get_by_role("slider", name="Timeline of Gate")
    await timeline.focus()
    await expect(timeline).to_have_attribute("aria-valuetext", "live")
    await page.keyboard.press("ArrowLeft")
    newest_us = await held(page)
    assert newest_us >= stage.filled_us - SECOND_US
    await until(lambda: shows(page, newest_us))
    await page.keyboard.press("ArrowLeft")
    await until(lambda: shows(page, newest_us - SECOND_US))
    await page.keyboard.press("Shift+ArrowLeft")
    await expect(page.locator(".chip", has_text="–")).to_be_visible()
    await page.keyboard.press("Home")
    await until(lambda: shows(page, stage.filled_us - PAST_S * SECOND_US))
    await page.keyboard.press("End")
    await expect(timeline).to_have_attribute("aria-valuetext", re.compile("^live"))


async def test_several_questions_run_at_a_time_and_each_can_be_stopped(visit: Visit, stage: Stage) -> None:
    page = visit.page
    aborted = stage.world.asker.aborted
    stage.world.asker.gate.clear()
    await ask(page, "first?")
    await ask(page, "second?")
    await expect(page.locator("ll-turn[data-phase=answering]")).to_have_count(2)
    await page.locator("ll-turn", has_text="first?").get_by_role("button", name="Stop").click()
    await expect(page.locator("ll-turn[data-phase=answering]")).to_have_count(1)
    stage.world.asker.gate.set()
    await answered(page, 2)
    assert stage.world.asker.aborted == aborted + 1


async def test_a_follow_up_stays_in_its_conversation_until_a_new_one_begins(
    visit: Visit, stage: Stage
) -> None:
    page = visit.page
    await ask(page, "What happened?")
    await answered(page)
    await ask(page, "And before?")
    await answered(page, 2)
    assert stage.world.asker.asked[-1].conversation == "conv_fake"
    await page.get_by_role("button", name="New conversation").click()
    await ask(page, "What happened?")
    await answered(page)
    assert stage.world.asker.asked[-1].conversation is None


async def test_the_newest_words_stay_in_view_and_evidence_does_not_push_them_out(
    browser: Browser, stage: Stage
) -> None:
    stage.world.asker.words = [f"word{number} " for number in range(120)]
    stage.world.asker.pause_s = 0.002
    try:
        async with opened(browser, stage.url, size=(390, 700)) as visit:
            page = visit.page
            await ask(page, "What happened?")
            await answered(page)
            words = await page.locator("ll-turn .words").bounding_box()
            scroller = await page.locator(".chat-scroll").bounding_box()
            assert words is not None
            assert scroller is not None
            last = words["y"] + words["height"]
            assert scroller["y"] < last <= scroller["y"] + scroller["height"]
            await page.get_by_role("button", name="Newest").click()
            await expect(page.locator("ll-turn .evidence").last).to_be_in_viewport()
    finally:
        stage.world.asker.words, stage.world.asker.pause_s = None, 0.02


async def test_hostile_words_stay_words(visit: Visit, stage: Stage) -> None:
    page = visit.page
    hostile = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script> [00:00:01] **no**'
    stage.world.asker.words = [hostile[:9], hostile[9:20], hostile[20:]]
    try:
        await ask(page, "<b>What</b> happened?")
        await answered(page)
    finally:
        stage.world.asker.words = None
    await expect(page.locator("ll-turn .words")).to_contain_text('<img src=x onerror="window.hurt=1">')
    await expect(page.locator("ll-turn .words img")).to_have_count(0)
    await expect(page.locator("ll-turn .question")).to_have_text("<b>What</b> happened?")
    await expect(page.locator("ll-turn .unverified")).to_have_text("00:00:01")
    assert await page.evaluate("() => window.hurt") is None


async def test_a_refused_question_is_told_in_a_sentence(visit: Visit, stage: Stage) -> None:
    page = visit.page
    from featcache.errors import UnknownCamera
    from tests.support.web_fakes import GATE

    stage.world.asker.refuse = UnknownCamera(GATE)
    try:
        await ask(page, "What happened?")
        await expect(page.locator("ll-turn .problem")).to_have_text("This camera is not registered any more.")
    finally:
        stage.world.asker.refuse = None


async def test_a_camera_is_looked_at_first_then_added_then_removed(visit: Visit, stage: Stage) -> None:
    page = visit.page
    await page.get_by_role("button", name="Add camera").click()
    dialog = page.get_by_role("dialog", name="Add a camera")
    await dialog.get_by_role("button", name="Add camera").click()
    await expect(dialog.get_by_role("alert")).to_have_text("Enter the camera's address first.")
    await dialog.get_by_label("Address").fill("rtsp://10.0.0.7/stream")
    await dialog.get_by_label("Name", exact=True).fill("Side gate")
    await dialog.get_by_label("User", exact=True).fill("admin")
    await dialog.get_by_label("Password").fill("s3cret")
    await dialog.get_by_role("button", name="Look first").click()
    await expect(dialog.get_by_role("status")).to_contain_text("H264, 1280 × 720, 25 frames a second")
    await dialog.get_by_role("button", name="Add camera").click()
    await expect(page.get_by_role("heading", name="Side gate")).to_be_visible()
    source = stage.world.registry.get(CameraId("side-gate")).source
    assert source.credentials is not None
    assert (source.credentials.username, source.credentials.password) == ("admin", "s3cret")
    await page.get_by_role("button", name="More about Side gate").click()
    await page.get_by_role("button", name="Remove this camera").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    await expect(page.get_by_role("heading", name="Side gate")).to_have_count(0)
    assert "side-gate" not in {camera.id for camera in stage.world.registry.list()}
    asked_as_it_went = [told for told in visit.complaints if "404" in told and "/cameras/side-gate" in told]
    visit.complaints[:] = [told for told in visit.complaints if told not in asked_as_it_went]


async def test_light_and_dark_have_enough_contrast(visit: Visit) -> None:
    page = visit.page
    for theme in ("dark", "light"):
        await expect(page.locator("html")).to_have_attribute("data-theme", theme)
        assert await page.evaluate(CONTRASTS) == []
        await page.get_by_role("button", name="Light or dark").click()


CONTRASTS = """() => {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const light = (hex) => {
    const parts = hex.slice(1).match(/../g).map((two) => parseInt(two, 16) / 255);
    const [r, g, b] = parts.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [dark, bright] = [light(read(a)), light(read(b))].sort((x, y) => x - y);
    return (bright + 0.05) / (dark + 0.05);
  };
  const inks = ["--text", "--soft", "--faint", "--accent", "--warning"];
  const grounds = ["--ground", "--surface", "--raised", "--sunk"];
  const pairs = inks.flatMap((ink) => grounds.map((ground) => [ink, ground]));
  pairs.push(["--on-accent", "--accent"]);
  return pairs.map(([a, b]) => [a, b, ratio(a, b)]).filter((pair) => pair[2] < 4.5);
}"""


async def test_everything_has_a_name_and_a_place_in_the_order(visit: Visit) -> None:
    page = visit.page
    await drawn(page)
    places = []
    for _ in range(30):
        await page.keyboard.press("Tab")
        places.append(
            await page.evaluate("() => document.activeElement.closest('body > *, main > *')?.localName")
        )
    order = [place for i, place in enumerate(places) if place and (i == 0 or places[i - 1] != place)]
    assert order[:5] == ["a", "ll-header", "ll-cameras", "ll-stage", "ll-chat"]
    await ask(page, "What happened?")
    await answered(page)
    assert await page.evaluate(NAMELESS) == []


NAMELESS = """() => {
  const shown = (node) => node.checkVisibility();
  const named = (node) =>
    node.textContent.trim() || node.getAttribute("aria-label") || node.labels?.length || node.title;
  const controls = [...document.querySelectorAll("button, a[href], input, textarea, select, [role=slider]")];
  const nameless = controls.filter((node) => shown(node) && !named(node)).map((node) => node.outerHTML);
  const pictures = [...document.images].filter((node) => !node.hasAttribute("alt")).map((node) => node.outerHTML);
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
  return [...nameless, ...pictures, ...twice];
}"""


async def test_a_phone_has_no_sideways_scroll_and_the_box_within_reach(
    browser: Browser, stage: Stage
) -> None:
    async with opened(browser, stage.url, size=PHONE, touch=True, reduced_motion=True) as visit:
        page = visit.page
        await drawn(page)
        await ask(page, "What happened?")
        await answered(page)
        assert await page.evaluate("() => document.scrollingElement.scrollWidth") == PHONE[0]
        box = await page.locator("#Question").bounding_box()
        assert box is not None
        assert PHONE[1] - 100 < box["y"] + box["height"] <= PHONE[1]
        strip = await page.locator("ll-cameras").bounding_box()
        assert strip is not None
        assert strip["height"] < 70
        band = await page.locator(".timeline-surface").bounding_box()
        width = band["width"] if band else 0
        await page.locator(".timeline-surface").tap(position={"x": width * 0.9, "y": 30})
        await until(lambda: taller(page, band["height"] if band else 0))
        await expect(page.locator("ll-picture.pinned")).to_be_visible()
        assert visit.complaints == []


async def test_picture_timeline_and_box_are_in_view_at_every_size(visit: Visit) -> None:
    page = visit.page
    await drawn(page)
    for width, height in [(844, 390), (1024, 768), (820, 1180), (1280, 720), (1920, 1080)]:
        await page.set_viewport_size({"width": width, "height": height})
        for part in ("ll-picture", ".timeline-surface", "#Question"):
            box = await page.locator(part).bounding_box()
            assert box is not None
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= height, (part, width)
            assert box["x"] + box["width"] <= width, (part, width)
        picture = await page.locator("ll-picture").bounding_box()
        assert picture is not None
        assert picture["height"] > height * 0.3
        assert await page.evaluate("() => document.scrollingElement.scrollHeight") == height


async def taller(page: Page, than: float) -> bool:
    box = await page.locator(".timeline-surface").bounding_box()
    return box is not None and box["height"] > than + 40


async def test_without_a_camera_the_page_teaches_the_first_step(browser: Browser) -> None:
    world = World(settings=WebSettings(shutdown_s=0.5))
    async with served(world) as address, opened(browser, f"http://{address}/") as visit:
        page = visit.page
        await expect(page.get_by_role("heading", name="No camera yet")).to_be_visible()
        await page.get_by_label("Address").fill("10.0.0.7")
        await page.get_by_role("button", name="Add camera").click()
        await expect(page.get_by_role("alert")).to_have_text(
            "An address begins with rtsp://, rtsps://, file: or scene:"
        )
        await page.get_by_label("Address").fill("rtsp://10.0.0.7/stream")
        await page.get_by_role("button", name="Add camera").click()
        await expect(page.get_by_role("heading", name="10.0.0.7")).to_be_visible()
        assert [camera.id for camera in world.registry.list()] == ["10-0-0-7"]
        assert visit.complaints == []


async def test_an_answer_goes_on_after_the_connection_broke(visit: Visit, stage: Stage) -> None:
    page = visit.page
    await page.add_init_script(
        """window.sockets = [];
        window.WebSocket = class extends WebSocket { constructor(...how) { super(...how); window.sockets.push(this); } };"""
    )
    await page.reload()
    stage.world.asker.gate.clear()
    await ask(page, "What happened?")
    await expect(page.locator("ll-turn")).to_have_attribute("data-phase", "answering")
    await page.evaluate("() => window.sockets.at(-1).close(3000)")
    stage.world.asker.gate.set()
    await answered(page)
    assert await page.evaluate("() => window.sockets.length") == 2
    await expect(page.locator("ll-turn .words")).to_contain_text("A white thing came in from the left at")
    await expect(page.locator("ll-turn")).to_contain_text("16 words")


async def test_a_restarted_server_is_found_again_and_what_was_lost_is_told(browser: Browser) -> None:
    world = World(settings=WebSettings(shutdown_s=0.5))
    await world.add_camera()
    async with served(world) as address:
        visiting = opened(browser, f"http://{address}/")
        visit = await visiting.__aenter__()
        page = visit.page
        await expect(page.get_by_role("heading", name="Gate", level=2)).to_be_visible()
        world.asker.gate.clear()
        await ask(page, "What happened?")
        await expect(page.locator("ll-turn")).to_have_attribute("data-phase", "answering")
    try:
        await expect(page.get_by_role("status").filter(has_text="Connection lost")).to_be_visible()
        await expect(page.locator(".delay")).to_have_text("not connected")
        world.asker.gate.set()
        async with served(world, int(address.rpartition(":")[2])):
            await page.get_by_role("button", name="Try now").click()
            await expect(page.locator("ll-banner")).to_be_hidden()
            await expect(page.locator("ll-turn .problem")).to_contain_text("connection broke")
            await page.get_by_role("button", name="Ask again").click()
            await answered(page)
    finally:
        await visiting.__aexit__(None, None, None)


async def test_a_state_this_page_does_not_know_is_shown_as_such(visit: Visit) -> None:
    page = visit.page
    await expect(page.get_by_role("heading", name="Gate", level=2)).to_be_visible()
    shown = await page.evaluate(
        """async () => {
          const { stateWord } = await import("/js/words/facts.js");
          const { speaker } = await import("/js/i18n.js");
          const { shapeOf } = await import("/js/icons.js");
          return [stateWord(speaker("en"), "dreaming"), shapeOf("dreaming")];
        }"""
    )
    assert shown == ["state not known", "offline"]


async def test_times_are_shown_in_the_cameras_zone(visit: Visit) -> None:
    page = visit.page
    await drawn(page)
    await expect(page.locator("ll-timeline .zone")).to_contain_text("Europe/Berlin UTC+")
    stated = await page.evaluate(
        """async () => {
          const { clockTime, parseTime } = await import("/js/time.js");
          return clockTime(parseTime("2026-07-01T12:00:00.250000Z"), "Europe/Berlin", { tenths: true });
        }"""
    )
    assert stated == "14:00:00.2"
