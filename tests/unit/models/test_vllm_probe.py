import time

from models.openai_settings import OpenAISettings
from models.vllm_probe import Probe, Pulse, Watch
from models.vllm_settings import VllmLimits, VllmSettings
from tests.support.scripted_openai import ScriptedOpenAI, SeenRequest


class Server(ScriptedOpenAI):
    """Says of its health what a test wants."""

    status = 200

    async def other(self, request: SeenRequest) -> tuple[int, dict[str, object]]:
        assert request.path == "/health"
        return self.status, {}


def probe_of(server: ScriptedOpenAI, *, api_key: str | None = None) -> Probe:
    limits = VllmLimits(probe_timeout_us=200_000)
    return Probe(VllmSettings(OpenAISettings(server.url, api_key=api_key), limits))


async def test_a_living_engine_is_well_over_one_connection() -> None:
    with Server(api_key="sk") as server:
        probe = probe_of(server, api_key="sk")
        assert [await probe.look() for _ in range(3)] == [Pulse.WELL] * 3
        assert server.connections == 1
        await probe.aclose()


async def test_an_address_without_such_a_path_is_well_all_the_same() -> None:
    with Server() as server:
        server.status = 404
        probe = probe_of(server)
        assert await probe.look() is Pulse.WELL
        await probe.aclose()


async def test_an_engine_that_says_it_is_dead_is_gone_and_may_come_back() -> None:
    with Server() as server:
        probe = probe_of(server)
        server.status = 503
        assert await probe.look() is Pulse.GONE
        server.status = 200
        assert await probe.look() is Pulse.WELL
        server.stop()
        assert await probe.look() is Pulse.GONE
        server.start()
        assert await probe.look() is Pulse.WELL
        await probe.aclose()


async def test_silence_takes_no_longer_than_its_limit() -> None:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = OpenAISettings(f"http://127.0.0.1:{listener.getsockname()[1]}")
        probe = Probe(VllmSettings(address, VllmLimits(probe_timeout_us=100_000)))
        begun = time.monotonic()
        assert await probe.look() is Pulse.SLOW
        assert time.monotonic() - begun < 2
        await probe.aclose()


def test_one_slow_look_decides_nothing_and_two_in_a_row_do() -> None:
    watch = Watch()
    assert [watch.saw(pulse) for pulse in (Pulse.SLOW, Pulse.WELL, Pulse.SLOW, Pulse.SLOW, Pulse.SLOW)] == [
        Pulse.SLOW,
        Pulse.WELL,
        Pulse.SLOW,
        Pulse.GONE,
        Pulse.GONE,
    ]
    assert watch.saw(Pulse.GONE) is Pulse.GONE
    assert watch.saw(Pulse.WELL) is Pulse.WELL
