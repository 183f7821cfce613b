"""Twenty questions about a clip over real RTSP, Redis and vLLM: the words of the engine in our process, and no picture encoded."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from core.ids import CameraId
from tests.support.asking import Heard, ask
from tests.support.clip_questions import CLIP_FPS, SLOTS, PlayedClip, Put, generated_clip, is_true
from tests.support.service import LivelensProcess
from tests.support.vllm_beside import Asking, Beside, Said, beside
from tests.support.vllm_road import encoded_by, own_camera, reading, road
from tests.support.vllm_server import counter
from tests.support.vllm_shared import shared_split, shared_vllm, undisturbed

pytestmark = [pytest.mark.slow, pytest.mark.rtsp, pytest.mark.torch, pytest.mark.timeout(900)]

BEGIN_S, END_S = 14, 34
SECOND_US = 1_000_000
TOGETHER = 4
LOADED = "vllm:livelens_frames_loaded_total"


async def test_over_vllm_whole_and_apart_they_get_the_words_of_our_own_engine_and_nothing_is_encoded(
    tmp_path: Path,
) -> None:
    whole, split = await asyncio.to_thread(shared_vllm), await asyncio.to_thread(shared_split)
    path, state, camera_id = tmp_path / "scene.mp4", tmp_path / "state", own_camera("truth")
    truth = await asyncio.to_thread(generated_clip, path)
    async with beside(whole.redis_url, camera_id) as own:
        async with road(whole, {camera_id: path}, seconds=END_S, data_dir=state) as opened:
            clip = PlayedClip(truth, CLIP_FPS, opened.row_us)
            puts = await planned(own, clip, camera_id)
            said = [await own.ask(asking_of(put, camera_id)) for put in puts]
            async with undisturbed():
                before, loaded = await encoded_by(whole), counter(whole.url, LOADED)
                heard = await asked(opened.service, camera_id, puts)
                assert await encoded_by(whole) == before
            assert counter(whole.url, LOADED) > loaded
            held = frames_held(opened.service, camera_id)
        judge("whole", clip, puts, said, heard)

        async with reading(split, data_dir=state) as service:  # the same window, after a restart
            await service.until("the window is back", lambda: frames_held(service, camera_id) == held)
            before, loaded = await encoded_by(split), counter(split.engine_urls[0], LOADED)
            heard = await asked(service, camera_id, puts)
            assert await encoded_by(split) == before
            assert counter(split.engine_urls[0], LOADED) > loaded
        judge("apart", clip, puts, said, heard)


def frames_held(service: LivelensProcess, camera_id: CameraId) -> int:
    frames: int = service.camera(camera_id)["window"]["frames"]
    return frames


async def planned(own: Beside, clip: PlayedClip, camera_id: CameraId) -> list[Put]:
    """Return the twenty questions, each put at a second at which what it will be shown gives it one true answer."""
    random, puts = Random("twenty questions"), []
    for number, slot in enumerate(SLOTS):
        for second in (*range(BEGIN_S + number, END_S), *range(BEGIN_S, BEGIN_S + number)):
            put = clip.put(random, slot, now_us=clip.row_us + second * SECOND_US)
            if put is None:
                continue
            frames = await own.frames(asking_of(put, camera_id))
            if clip.truths(put, [(frame.t_us, frame.label) for frame in frames]):
                puts.append(put)
                break
    assert len(puts) == 20
    return puts


def asking_of(put: Put, camera_id: CameraId) -> Asking:
    return Asking(put.text, put.now_us, camera_id)


async def asked(service: LivelensProcess, camera_id: CameraId, puts: list[Put]) -> list[Heard]:
    """Return the service's answers, some of them asked at a time."""
    room = asyncio.Semaphore(TOGETHER)

    async def one(put: Put) -> Heard:
        async with room:
            return await ask(service.url, asking_of(put, camera_id).wire(), within_s=60)

    return list(await asyncio.gather(*map(one, puts)))


def judge(name: str, clip: PlayedClip, puts: list[Put], said: list[Said], heard: list[Heard]) -> None:
    """Hold every answer to that of the engine in this process: the same words, or no less true ones."""
    same, true, own_true = 0, 0, 0
    worse: list[str] = []
    for put, ours, theirs in zip(puts, said, heard, strict=True):
        assert not theirs.error, theirs.error
        assert theirs.done["model"] == ours.done.model == "builtin", theirs.done
        assert theirs.done["frames_encoded_now"] == 0
        assert [frame["ref"] for frame in theirs.started["frames"]] == ours.refs
        assert theirs.done["frames_used"] == len(ours.refs) > 0
        assert clip.away_us(theirs) < 45_000
        known = clip.truths(put, [(frame.t_us, frame.label) for frame in ours.started.frames])
        verdict, own_verdict = is_true(theirs.text, known), is_true(ours.text, known)
        same, true, own_true = same + (theirs.text == ours.text), true + verdict, own_true + own_verdict
        print(f"{'true ' if verdict else 'FALSE'} {put.text}  {known[-1][0].answer}  {theirs.text}")
        if theirs.text != ours.text and not verdict:
            worse.append(f"{put.text}: {theirs.text!r}, our own engine: {ours.text!r}")
    print(f"{name}: {same} of 20 word for word, {true} true, our own engine {own_true}")
    assert not worse
    assert true >= own_true
