"""The page's pure modules, run in a real browser, where they live."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page

from tests.support.browser import browsing, opened
from tests.support.page_stage import served
from tests.support.web_fakes import World
from web.settings import WebSettings

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
STATIC = Path(__file__).parents[2] / "web" / "static"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page() -> AsyncIterator[Page]:
    world = World(settings=WebSettings(shutdown_s=0.5))
    async with (
        served(world) as address,
        browsing() as browser,
        opened(browser, f"http://{address}/") as visit,
    ):
        yield visit.page


async def run(page: Page, module: str, body: str, argument: Any = None) -> Any:
    """Evaluate ``body`` with the module's exports as ``m`` and ``argument`` as ``a``."""
    script = f"async (a) => {{ const m = await import('/js/{module}'); {body} }}"
    return await page.evaluate(script, argument)


async def test_both_languages_have_the_same_words(page: Page) -> None:
    tables = await run(
        page,
        "i18n.js",
        """return Object.fromEntries(Object.entries(m.TABLES).map(([name, table]) => [name,
          Object.entries(table).map(([key, value]) => [key, typeof value === "string" ? value : value({n: 2, samples: 1, gaps: 2, tracks: 3})])]));""",
    )
    english, chinese = dict(tables["en"]), dict(tables["zh"])
    assert english.keys() == chinese.keys()
    assert all(english.values())
    blank = {"list.space"}
    assert all(value for key, value in chinese.items() if key not in blank)


async def test_every_key_that_is_used_exists_and_every_key_is_used(page: Page) -> None:
    keys = set(await run(page, "i18n.js", "return Object.keys(m.TABLES.en)"))
    sources = [
        file.read_text()
        for file in STATIC.rglob("*.js")
        if file.parent.name != "words" or file.stem not in ("en", "zh")
    ]
    text = "\n".join([*sources, (STATIC / "index.html").read_text()])
    families = ("state.", "gap.", "reason.", "colour.", "side.", "scene.", "outcome.", "error.", "timeline.")
    unused = {key for key in keys if f'"{key}"' not in text and not key.startswith(families)}
    used = set(
        re.findall(
            r"""say\("([a-z.]+)"|"data-t(?:-[a-z-]+)?"[:=] ?"([a-z.]+)"|data-t(?:-[a-z-]+)?="([a-z.]+)\"""",
            text,
        )
    )
    missing = {key for found in used for key in found if key and key not in keys}
    assert (unused, missing) == (set(), set())


async def test_an_open_label_is_held_back_until_it_is_whole(page: Page) -> None:
    found = await run(
        page,
        "answer.js",
        """const frames = [{ref: "gate/1/jpeg/0", t_us: 1, label: "[14:03:05]"}];
        return ["It came at [14:0", "It came at [14:03:05]", "It is [odd] so"].map((text) => m.pieces(text, frames, null));""",
    )
    assert found[0] == [{"kind": "text", "text": "It came at "}]
    assert found[1][1] == {"kind": "moment", "text": "14:03:05", "t_us": 1, "ref": "gate/1/jpeg/0"}
    assert found[2] == [{"kind": "text", "text": "It is [odd] so"}]


async def test_citations_are_found_by_characters_also_behind_astral_ones(page: Page) -> None:
    text = "🚐 [14:03:05] and [14:03:09]"
    citations = [
        {
            "text": "[14:03:05]",
            "offset": text.index("[14:03:05]"),
            "t_us": 5,
            "frame": "gate/5/jpeg/0",
            "verified": True,
        },
        {
            "text": "[14:03:09]",
            "offset": text.index("[14:03:09]"),
            "t_us": None,
            "frame": None,
            "verified": False,
        },
    ]
    found = await run(page, "answer.js", "return m.pieces(a[0], [], a[1]);", [text, citations])
    assert [piece["kind"] for piece in found] == ["text", "moment", "text", "unverified"]
    assert found[1]["t_us"] == 5


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("some-vl", [["r3", True], ["r1", False], ["r2", False]]),
        ("measured", [["r1", False], ["r2", False], ["r3", True]]),
    ],
)
async def test_evidence_shows_the_best_proof_first_and_nothing_twice(
    page: Page, model: str, shown: list[list[object]]
) -> None:
    found = await run(
        page,
        "answer.js",
        """const frames = [1, 2, 3].map((n) => ({ref: `r${n}`, t_us: n, label: ""}));
        const cited = ["r3", "r3", null].map((frame) => ({frame, verified: frame !== null}));
        return m.evidence(frames, cited, a).map((each) => [each.frame.ref, each.cited]);""",
        model,
    )
    assert found == shown


@pytest.mark.parametrize(
    ("text", "words"),
    [("A white van, 5 % of it.", 6), ("有两个物体移动过。", 8), ("在 [14:03:05] 离开", 3), ("", 0)],
)
async def test_words_are_counted_as_people_count_them(page: Page, text: str, words: int) -> None:
    assert await run(page, "answer.js", "return m.countWords(a);", text) == words


SEEN = {"asked": {"from": "2026-11-30T14:00:00Z", "to": "2026-11-30T14:01:00Z"}, "static": [], "gaps": []}


async def test_of_several_cameras_each_says_what_was_seen_and_frames_are_their_own(page: Page) -> None:
    whole = SEEN | {"covered": [SEEN["asked"]], "evicted_before": None}
    started = {
        "type": "answer.started",
        "id": "q1",
        "camera": "gate",
        "conversation": "c",
        "window": {**SEEN["asked"], "text": "", "zone": "UTC"},
        "frames": [
            {"ref": "gate/1796047201000000/jpeg/0", "t_us": 1796047201000000, "label": "[gate 14:00:01]"},
            {"ref": "yard/1796047202000000/jpeg/0", "t_us": 1796047202000000, "label": "[yard 15:00:02]"},
        ],
        "frames_in_span": 2,
        "coverage": whole,
        "others": [
            {
                "camera": "yard",
                "window": SEEN["asked"],
                "zone": "Europe/Berlin",
                "frames_in_span": 1,
                "coverage": whole | {"covered": []},
            }
        ],
    }
    turn = await run(
        page,
        "state.js",
        """const asked = {id: "q1", phase: "asked", words: "", others: []};
        return m.reduce({turns: [asked]}, {type: "message", message: a}).turns[0];""",
        started,
    )
    assert [(other["camera"], other["zone"]) for other in turn["others"]] == [("yard", "Europe/Berlin")]
    said = await run(
        page,
        "elements/turn.js",
        """const {speaker} = await import("/js/i18n.js");
        return m.sawLines(speaker("en"), a, "UTC", (id) => id.toUpperCase());""",
        turn,
    )
    assert said.startswith("GATE: saw 14:00:00")
    assert said.endswith("no gap. YARD: saw nothing")
    cameras = await run(page, "answer.js", "return a.map((frame) => m.cameraOf(frame.ref));", turn["frames"])
    assert cameras == ["gate", "yard"]


async def test_times_keep_their_microseconds(page: Page) -> None:
    text = "2026-11-30T14:03:05.250001Z"
    t_us = await run(page, "time.js", "return m.parseTime(a);", text)
    assert t_us % 1_000_000 == 250_001
    assert await run(page, "time.js", "return m.wireTime(a);", t_us) == text
    assert await run(page, "time.js", "return m.parseTime('yesterday');") is None


async def test_a_tail_joins_what_reaches_across_its_start(page: Page) -> None:
    found = await run(
        page,
        "timeline/data.js",
        """const base = {camera: "gate", now_us: 0, zone: "UTC", evicted_us: null, gaps: [], tracks: [], scenes: [], tiers: []};
        const sample = (t_us) => ({t_us, reason: "motion", motion: 0.1});
        const known = {...base, from_us: 0, to_us: 100, samples: [10, 50, 95].map(sample),
          statics: [{from_us: 5, to_us: 20}, {from_us: 60, to_us: 100}], gaps: [{from_us: 90, to_us: null, reason: "stalled"}]};
        const tail = {...base, from_us: 90, to_us: 120, samples: [95, 110].map(sample),
          statics: [{from_us: 90, to_us: 115}], gaps: [{from_us: 90, to_us: 93, reason: "stalled"}]};
        const whole = m.extend(known, tail, 100);
        return [whole.samples.map((each) => each.t_us), whole.statics, whole.gaps, whole.from_us];""",
    )
    assert found[0] == [50, 95, 110]
    assert found[1] == [{"from_us": 60, "to_us": 115}]
    assert found[2] == [{"from_us": 90, "to_us": 93, "reason": "stalled"}]
    assert found[3] == 20


async def test_steps_go_from_sample_to_sample_and_past_the_newest_to_live(page: Page) -> None:
    found = await run(
        page,
        "timeline/data.js",
        """const samples = [10, 20, 30].map((t_us) => ({t_us}));
        const to = (at, steps) => m.step(samples, at, steps)?.t_us ?? null;
        return [to(null, -1), to(30, -1), to(20, 1), to(30, 1), to(15, 1), to(15, -1), to(10, -1), to(null, 1)];""",
    )
    assert found == [30, 20, 30, None, 20, 10, 10, None]


async def test_a_young_camera_is_shown_by_the_minute_until_it_is_older(page: Page) -> None:
    found = await run(
        page,
        "state.js",
        """const seen = (first_s, now_s, range_s) => {
          const timeline = {camera: "gate", from_us: (now_s - range_s) * 1e6, to_us: now_s * 1e6, now_us: now_s * 1e6, zone: "UTC",
            evicted_us: null, gaps: [], statics: [], tracks: [], scenes: [], tiers: [],
            samples: [{t_us: first_s * 1e6, reason: "first", motion: 0}]};
          const state = {...m.INITIAL, focus: "gate", range_s};
          return (chosen) => m.reduce({...state, rangeChosen: chosen}, {type: "timeline.read", timeline, range_s, tail: false}).range_s;
        };
        return [seen(980, 1000, 600)(false), seen(980, 1000, 600)(true), seen(939, 1000, 60)(false), seen(700, 1000, 600)(false)];""",
    )
    assert found == [60, 600, 600, 600]


async def test_a_message_of_a_newer_server_changes_nothing(page: Page) -> None:
    assert await run(
        page,
        "state.js",
        "return m.reduce(m.INITIAL, {type: 'message', message: {type: 'answer.mood', id: 'q', seq: 9}}) === m.INITIAL;",
    )


async def test_a_forgotten_conversation_is_not_gone_on_with(page: Page) -> None:
    found = await run(
        page,
        "state.js",
        """const turn = (conversation, code) => ({camera: "gate", conversation, error: code ? {code} : null});
        const after = (turns) => m.conversationFor({...m.INITIAL, turns}, "gate");
        return [after([turn("c1")]), after([turn("c1"), turn(null, "unknown_conversation")]), m.conversationFor({...m.INITIAL, turns: [turn("c1")]}, "shed")];""",
    )
    assert found == ["c1", None, None]


async def test_pauses_before_reconnecting_grow_to_ten_seconds(page: Page) -> None:
    found = await run(page, "live.js", "return [0, 1, 4, 9].map((attempt) => m.pauseBefore(attempt, 1));")
    assert found == [500, 1000, 8000, 10_000]


LIVE = """
  const sockets = [], messages = [], states = [];
  let forgotten = 0;
  const live = new m.Live({
    url: "ws://x", random: () => 0, onMessage: (each) => messages.push(each.seq), onStatus: (each) => states.push(each),
    onForgotten: () => forgotten++,
    open: () => { const socket = { sent: [], send(text) { this.sent.push(JSON.parse(text)); }, close() {} }; sockets.push(socket); return socket; },
  });
  const hear = (socket, message) => socket.onmessage({ data: JSON.stringify(message) });
  const ready = (session, seq, resumed) => ({ type: "session.ready", session, seq, resumed });
  live.connect();
  live.send({ type: "ask", id: "q" });
  sockets[0].onopen();
  hear(sockets[0], ready("one", 1, false));
  hear(sockets[0], { type: "answer.delta", seq: 2 });
  sockets[0].onclose();
  live.connect();
  sockets[1].onopen();
  hear(sockets[1], ready("two", 1, false));
"""


async def test_a_session_goes_on_after_a_break_and_nothing_is_heard_twice(page: Page) -> None:
    found = await run(
        page,
        "live.js",
        LIVE
        + """hear(sockets[1], ready("one", 2, true));
        hear(sockets[1], { type: "answer.delta", seq: 2 });
        hear(sockets[1], { type: "answer.delta", seq: 3 });
        return { sent: sockets.map((socket) => socket.sent), messages, states, forgotten };""",
    )
    assert found["sent"] == [[{"type": "ask", "id": "q"}], [{"type": "resume", "session": "one", "seq": 2}]]
    assert found["messages"] == [2, 3]
    assert found["states"] == ["connecting", "open", "lost", "connecting", "open"]
    assert found["forgotten"] == 0


async def test_a_forgotten_session_is_told_once_and_the_new_one_holds(page: Page) -> None:
    found = await run(
        page,
        "live.js",
        LIVE
        + """hear(sockets[1], { type: "camera.state", seq: 2 });
        hear(sockets[1], { type: "error", code: "session_gone", seq: 3 });
        hear(sockets[1], { type: "camera.state", seq: 4 });
        return { messages, states, forgotten };""",
    )
    assert found == {
        "messages": [2, 2, 4],
        "states": ["connecting", "open", "lost", "connecting", "open"],
        "forgotten": 1,
    }


async def test_ids_and_names_are_made_from_what_people_type(page: Page) -> None:
    found = await run(
        page,
        "elements/camera-form.js",
        """return [m.idFrom("Side gate"), m.idFrom("Tür 2"), m.idFrom("大门"), m.nameFrom("rtsp://u:p@10.0.0.5:554/x"),
          m.nameFrom("file:/clips/yard one.mp4"), m.nameFrom("scene:42")];""",
    )
    assert found == ["side-gate", "tur-2", "", "10.0.0.5", "yard one", "scene 42"]


async def test_the_page_asks_nobody_else_and_carries_no_foreign_code() -> None:
    for file in STATIC.rglob("*"):
        if file.is_file():
            text = file.read_text()
            assert "innerHTML" not in text, file
            for line in text.splitlines():
                assert "http://" not in line.replace("http://www.w3.org/", ""), (file, line)
                assert "https://" not in line, (file, line)
            assert len(text.splitlines()) <= 400, file
