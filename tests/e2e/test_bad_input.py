"""What bad input gets: the named error, no leak, and a service that goes on."""

import asyncio
import contextlib
import json
from pathlib import Path

import psutil
import pytest
from websockets.exceptions import ConnectionClosed

from tests.support.asking import Heard, ask, ask_on, socket
from tests.support.clips import Shot, constant_rate, write_clip
from tests.support.rtsp_server import Mount, RtspServer
from tests.support.service import LivelensProcess, ServiceFailed

pytestmark = [pytest.mark.slow]

CANCELLED = 1_000
DATABASE_THREADS = 5  # its pool grows with use


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_clip(tmp_path / "moving.mp4", [Shot(constant_rate(50))])


@pytest.mark.rtsp
async def test_addresses_that_lead_nowhere_are_named_states_and_delete_works_at_once(clip: Path) -> None:
    # A file: the test's RTSP server is not fit to open a mount of audio alone more than once.
    voice = write_clip(clip.with_name("voice.ts"), [Shot(constant_rate(10))], audio="only")
    async with RtspServer({"cam": Mount([clip])}, login=("me", "right")) as cameras:
        async with LivelensProcess(["serve"]) as service:
            sources = {
                "nobody": {"url": "rtsp://127.0.0.1:9/cam"},
                "voice": {"url": voice.as_uri()},
                "locked": {"url": cameras.url("cam"), "username": "me", "password": "wr@ng"},
                "missing": {"url": cameras.url("gone"), "username": "me", "password": "right"},
            }
            probed = {
                name: service.call("POST", "/api/v1/camera-probes", {"source": source}).json()
                for name, source in sources.items()
            }
            for name, source in sources.items():
                reply = service.call("POST", "/api/v1/cameras", {"id": name, "source": source})
                assert reply.status_code == 201, reply.text
                await service.until(
                    f"{name} says what is wrong",
                    lambda name=name: service.camera(name)["state"]["code"] is not None,
                )
                state = service.camera(name)["state"]
                assert (probed[name]["ok"], probed[name]["code"]) == (False, state["code"])
                assert state["state"] != "online"
                assert state["message"]
            assert probed["voice"]["code"] == "no_video_track"
            assert probed["locked"]["code"] == "auth_failed"
            assert probed["missing"]["code"] == "source_not_found"
            assert service.camera("locked")["state"]["state"] == "auth_failed"
            for name in sources:
                assert service.call("DELETE", f"/api/v1/cameras/{name}").status_code == 200
            assert service.get("/api/v1/cameras")["cameras"] == []
            for secret in ("wr@ng", "wr%40ng", "right"):
                assert secret not in service.log


async def test_wrong_settings_stop_the_start_with_one_line() -> None:
    for settings, line in (
        (
            {"LIVELENS_PORT_": "1"},
            "livelens: LIVELENS_PORT_: there is no such setting; did you mean LIVELENS_PORT?",
        ),
        ({"LIVELENS_INGEST__READ_TIMEOUT_S": "0"}, "read_timeout_s must be above 0"),
        ({"LIVELENS_ZONE": "Moon/Base"}, "livelens: zone = 'Moon/Base'"),
    ):
        with pytest.raises(ServiceFailed) as caught:
            async with LivelensProcess(["serve"], settings=settings):
                raise AssertionError("started")
        assert line in str(caught.value)
        assert "Traceback" not in str(caught.value)


async def test_a_taken_port_is_one_line() -> None:
    async with LivelensProcess(["serve"]) as service:
        port = int(service.url.rpartition(":")[2])
        with pytest.raises(ServiceFailed, match=r"cannot listen on 127\.0\.0\.1"):
            async with LivelensProcess(["serve"], port=port):
                raise AssertionError("started twice")


async def test_garbage_on_the_socket_gets_errors_and_the_connection_goes_on(clip: Path) -> None:
    async with LivelensProcess(["serve", "--camera", f"gate={clip}", "--camera", f"yard={clip}"]) as service:
        await service.until("frames", lambda: service.camera("gate")["window"]["frames"] > 1)
        async with socket(service.url) as connection:
            for garbage in (
                "",
                "{",
                "[]",
                "null",
                '{"type": "sing"}',
                '{"type": "ask"}',
                '{"type":"ask","id":"q","text":7}',
            ):
                await connection.send(garbage)
            errors = []
            async with asyncio.timeout(10):
                while len(errors) < 7:
                    message = json.loads(await connection.recv())
                    if message["type"] == "error":
                        errors.append(message["code"])
            assert all(errors)
            nobody = await ask_on(connection, {"cameras": ["nobody"], "text": "who?"})
            assert nobody.error["code"] == "unknown_camera"
            silent = await ask_on(connection, {"cameras": ["gate"], "text": "   "})
            assert silent.error["code"] == "invalid_message"
            several = await ask_on(connection, {"cameras": ["gate", "yard"], "text": "what?"})
            assert several.done["outcome"] == "ok"
            assert {frame["ref"].split("/")[0] for frame in several.started["frames"]} <= {"gate", "yard"}
            heard = await ask_on(connection, {"cameras": ["gate"], "text": "what happened?"})
            assert heard.done["outcome"] == "ok"


async def test_a_ten_megabyte_message_ends_its_own_connection_only(clip: Path) -> None:
    async with LivelensProcess(["serve", "--camera", f"gate={clip}"]) as service:
        await service.until("frames", lambda: service.camera("gate")["window"]["frames"] > 1)
        async with socket(service.url) as other, socket(service.url) as connection:
            with contextlib.suppress(ConnectionClosed):
                await connection.send(json.dumps({"type": "ask", "id": "q", "text": "x" * 10_000_000}))
            async with asyncio.timeout(20):
                await connection.wait_closed()
            assert connection.close_code == 1009
            heard = await ask_on(other, {"cameras": ["gate"], "text": "what happened?"})
            assert heard.done["outcome"] == "ok"


async def test_a_thousand_cancelled_questions_leave_nothing_behind(clip: Path) -> None:
    async with LivelensProcess(["serve", "--camera", f"gate={clip}"]) as service:
        await service.until("frames", lambda: service.camera("gate")["window"]["frames"] > 3)
        process = psutil.Process(service.pid)
        await asyncio.gather(
            *(ask(service.url, {"cameras": ["gate"], "text": "what happened?"}) for _ in range(5))
        )
        threads, files = process.num_threads(), service.open_files()
        async with socket(service.url) as connection:
            for number in range(CANCELLED):
                await connection.send(
                    json.dumps(
                        {"type": "ask", "id": f"q{number}", "cameras": ["gate"], "text": "what happened?"}
                    )
                )
                await connection.send(json.dumps({"type": "cancel", "id": f"q{number}"}))
            async with asyncio.timeout(20):
                heard = Heard()
                while not heard.done:  # places are free again once the last cancelled ones have ended
                    heard = await ask_on(
                        connection, {"id": "last", "cameras": ["gate"], "text": "what happened?"}
                    )
                    assert heard.error.get("code", "too_many_questions") == "too_many_questions"
            assert heard.done["outcome"] == "ok"
        await service.until("files are back", lambda: service.open_files() <= files + 1)
        assert process.num_threads() <= threads + DATABASE_THREADS
