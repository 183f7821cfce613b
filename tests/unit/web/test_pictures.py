import asyncio

import httpx2
import pytest

from core.records import Gap, GapReason, StaticSpan
from tests.support.web_fakes import GATE, World, serving
from tests.support.windows import stored
from web.pictures import BOUNDARY, multipart_part
from web.settings import WebSettings
from web.times import to_rfc3339


async def fill(world: World, count: int = 5) -> list[int]:
    """Store one frame a second up to now; return their times."""
    life = world.registry.get(GATE).incarnation
    newest_us = world.clock.now_us()
    times = [newest_us - age * 1_000_000 for age in range(count - 1, -1, -1)]
    for seq, t_us in enumerate(times):
        await world.window.put(stored(t_us, seq=seq, jpeg=b"jpeg%d" % seq), incarnation=life)
    await world.window.put_record(GATE, StaticSpan(times[0], times[1]), incarnation=life)
    await world.window.put_record(GATE, Gap(times[-1], None, GapReason.STALLED), incarnation=life)
    return times


async def until(condition: object) -> None:
    """Wait until ``condition()`` is true, at most 5 s."""
    assert callable(condition)
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.01)


async def test_samples_of_a_span_are_listed_oldest_first(http: httpx2.AsyncClient, world: World) -> None:
    times = await fill(world)
    frames = (await http.get("/api/v1/cameras/gate/frames?last_s=60")).json()["frames"]
    assert [frame["t_us"] for frame in frames] == times
    assert frames[0]["t"] == to_rfc3339(times[0])
    assert frames[0]["ref"] == f"gate/{times[0]}/jpeg/0"
    newest = (await http.get("/api/v1/cameras/gate/frames?last_s=60&limit=2")).json()["frames"]
    assert [frame["t_us"] for frame in newest] == times[-2:]
    query = {"from": to_rfc3339(times[1]), "to": to_rfc3339(times[3])}
    part = (await http.get("/api/v1/cameras/gate/frames", params=query)).json()["frames"]
    assert [frame["t_us"] for frame in part] == times[1:3]
    assert (await http.get("/api/v1/cameras/gate/frames")).json()["code"] == "invalid_window"


async def test_a_samples_picture_is_kept_for_ever_under_its_tag(
    http: httpx2.AsyncClient, world: World
) -> None:
    times = await fill(world)
    path = f"/api/v1/cameras/gate/frames/{times[2]}.jpg"
    got = await http.get(path)
    assert (got.status_code, got.content, got.headers["content-type"]) == (200, b"jpeg2", "image/jpeg")
    assert "immutable" in got.headers["cache-control"]
    again = await http.get(path, headers={"if-none-match": got.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = await http.head(path)
    assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", got.headers["etag"])
    assert head.headers["content-length"] == "5"


@pytest.mark.parametrize("name", ["1", "x", "-1", "99999999999999999999999", "1.5", "%D9%A1"])
async def test_a_moment_without_a_sample_has_no_picture(http: httpx2.AsyncClient, name: str) -> None:
    reply = await http.get(f"/api/v1/cameras/gate/frames/{name}.jpg")
    assert (reply.status_code, reply.json()["code"]) == (404, "unknown_frame")


async def test_the_timeline_shows_what_is_remembered(http: httpx2.AsyncClient, world: World) -> None:
    times = await fill(world)
    view = (await http.get("/api/v1/cameras/gate/timeline")).json()
    assert [sample["t_us"] for sample in view["samples"]] == times
    assert view["gaps"] == [{"from": to_rfc3339(times[-1]), "to": None, "reason": "stalled"}]
    assert view["static"] == [{"from": to_rfc3339(times[0]), "to": to_rfc3339(times[1])}]
    assert view["tiers"][0]["tier"] == "memory"
    assert (view["camera"], view["zone"]) == ("gate", "Europe/Berlin")


async def test_the_newest_picture_is_shown_once_there_is_one(http: httpx2.AsyncClient, world: World) -> None:
    got = await http.get("/api/v1/cameras/gate/latest.jpg")
    assert got.content == world.preview.picture
    again = await http.get("/api/v1/cameras/gate/latest.jpg", headers={"if-none-match": got.headers["etag"]})
    assert again.status_code == 304
    world.preview.picture = None
    missing = await http.get("/api/v1/cameras/gate/latest.jpg")
    assert (missing.status_code, missing.json()["code"]) == (404, "no_picture_yet")
    assert missing.headers["retry-after"]


def test_a_part_of_the_preview_says_how_long_it_is() -> None:
    assert multipart_part(b"abc") == (
        f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: 3\r\n\r\nabc\r\n".encode()
    )


async def test_the_preview_runs_while_somebody_watches(http: httpx2.AsyncClient, world: World) -> None:
    async with http.stream("GET", "/api/v1/cameras/gate/preview.mjpeg") as reply:
        assert reply.headers["content-type"] == f"multipart/x-mixed-replace; boundary={BOUNDARY}"
        assert reply.headers["cache-control"] == "no-store"
        seen = b""
        async for chunk in reply.aiter_raw():
            seen += chunk
            if seen.count(BOUNDARY.encode()) >= 3:
                break
        assert world.preview.watching == 1
    await until(lambda: world.preview.watching == 0)


async def test_a_preview_of_no_camera_is_a_problem(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/api/v1/cameras/none/preview.mjpeg")).json()["code"] == "unknown_camera"


async def test_viewers_are_counted_and_those_too_many_refused(world: World) -> None:
    settings = WebSettings(max_viewers=1)
    world.settings = settings
    path = "/api/v1/cameras/gate/preview.mjpeg"
    async with (
        serving(world.app(), settings) as address,
        httpx2.AsyncClient(base_url=f"http://{address}") as http,
    ):
        async with http.stream("GET", path):
            await until(lambda: world.preview.watching == 1)
            refused = await http.get(path)
            assert (refused.status_code, refused.json()["code"]) == (503, "too_many_viewers")
            assert refused.headers["retry-after"]
        await until(lambda: world.preview.watching == 0)
        async with http.stream("GET", path) as reply:
            assert reply.status_code == 200


async def test_previews_end_when_the_server_stops(world: World) -> None:
    seen = asyncio.Event()

    async def watch(address: str) -> None:
        async with httpx2.AsyncClient(base_url=f"http://{address}") as http:
            async with http.stream("GET", "/api/v1/cameras/gate/preview.mjpeg") as reply:
                async for _ in reply.aiter_raw():
                    seen.set()

    async with asyncio.timeout(4), asyncio.TaskGroup() as group:
        async with serving(world.app(), world.settings) as address:
            watcher = group.create_task(watch(address))
            await seen.wait()
        assert world.preview.watching == 0
    assert watcher.done()
