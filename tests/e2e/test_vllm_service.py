"""The service over a real vLLM: many askers at once, what its prefix cache finds again, and values that somebody forged."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from core.ids import CameraId
from core.spans import Span
from featcache.window import FrameInfo
from models.prompt import Prompt
from tests.support.asking import Heard, ask
from tests.support.clip_questions import generated_clip
from tests.support.vllm_beside import Asking, Beside, beside
from tests.support.vllm_questions import damaged, overwrite
from tests.support.vllm_road import Road, own_camera, road
from tests.support.vllm_server import counter
from tests.support.vllm_shared import shared_vllm

pytestmark = [pytest.mark.slow, pytest.mark.rtsp, pytest.mark.torch, pytest.mark.timeout(900)]

EVER = Span(0, 1 << 60)
BLOCK = 128
"""Tokens of a block of vLLM's prefix cache on a CPU."""

QUESTIONS = (
    "How many objects are there?",
    "What do you see?",
    "What happened?",
    "发生了什么？",
)
AT_ONCE = 50
TENTH = 10
CHANGES = ("short", "dtype", "nan", "width", "pickle")
FOUND = 'livelens_prefix_tokens_total{hit="yes"}'
REFUSED = "livelens_features_refused_total"
PATIENT = {"LIVELENS_ASK__FIRST_WORD_LIMIT_S": "60"}


async def test_fifty_questions_at_once_about_two_cameras_of_different_size_get_the_answers_they_get_alone(
    tmp_path: Path,
) -> None:
    served = await asyncio.to_thread(shared_vllm)
    clips = {}
    for number, size in enumerate(((640, 360), (360, 640)), start=1):
        camera_id = own_camera("many")
        clips[camera_id] = tmp_path / f"{camera_id}.mp4"
        await asyncio.to_thread(generated_clip, clips[camera_id], number=number, size=size, seconds=30)
    async with (
        beside(served.redis_url, *clips) as own,
        road(served, clips, seconds=16, settings=PATIENT) as opened,
    ):
        grids = set()
        spans: dict[CameraId, list[Span]] = {}
        for camera_id in clips:
            infos = await own.index(camera_id, EVER)
            grids |= {info.grid for info in infos}
            spans[camera_id] = [span_of(infos[at : at + 8]) for at in (0, 4, 8)]
        assert len(grids) == 2
        asked = [
            Asking(text, span.end_us, camera_id, span)
            for camera_id in clips
            for span in spans[camera_id]
            for text in QUESTIONS
        ]
        alone = [await answer(opened, each) for each in asked]
        many = await asyncio.gather(*(answer(opened, asked[n % len(asked)]) for n in range(AT_ONCE)))
        assert [heard.text for heard in many] == [alone[n % len(asked)].text for n in range(AT_ONCE)]
        assert len({heard.text for heard in alone}) > 2

        await second_questions_find_their_frames_computed(opened, own, next(iter(clips)))


async def second_questions_find_their_frames_computed(opened: Road, own: Beside, camera_id: CameraId) -> None:
    """Ask twice about a span, and twice about "now" with one frame more the second time; vLLM tells what it found."""
    infos = await own.index(camera_id, EVER)
    span = span_of(infos[-12:])
    again = [
        Asking(text, span.end_us, camera_id, span) for text in ("What is there?", "What colours are there?")
    ]
    newest = await one_frame_more(own, infos, camera_id)
    for first, second in (again, newest):
        before, after = await own.prompt_of(first), await own.prompt_of(second)
        in_front = same_tokens(own, before, after)
        assert in_front >= own.rendered(before).stem > BLOCK
        await answer(opened, first)
        found = opened.service.counted(FOUND)
        by_engine = counter(opened.served.url, "vllm:prefix_cache_hits_total")
        heard = await answer(opened, second)
        hits = opened.service.counted(FOUND) - found
        print(f"{hits} of {heard.done['usage']['prompt_tokens']} tokens found, {in_front} in front")
        assert hits >= in_front // BLOCK * BLOCK
        assert counter(opened.served.url, "vllm:prefix_cache_hits_total") >= by_engine + hits


async def one_frame_more(
    own: Beside, infos: tuple[FrameInfo, ...], camera_id: CameraId
) -> tuple[Asking, Asking]:
    """Return a question about "now" twice, the second time one frame later, where both begin with the same frame."""
    text = "What do you see?"
    for older, newer in reversed(list(pairwise(infos))):
        asked = tuple(Asking(text, info.t_us + 1, camera_id) for info in (older, newer))
        before, after = [[frame.ref for frame in await own.frames(each)] for each in asked]
        if len(before) >= 8 and after[:-1] == before:
            return asked[0], asked[1]
    raise AssertionError("no two neighbours begin with the same frame")


async def test_one_frame_in_ten_forged_in_redis_is_left_out_and_counted_and_the_engine_lives(
    tmp_path: Path,
) -> None:
    served = await asyncio.to_thread(shared_vllm)
    camera_id, clip = own_camera("forged"), tmp_path / "clip.mp4"
    await asyncio.to_thread(generated_clip, clip, number=3, seconds=40)
    async with (
        beside(served.redis_url, camera_id) as own,
        road(served, {camera_id: clip}, seconds=34, settings=PATIENT) as opened,
    ):
        infos = await own.index(camera_id, EVER)
        assert len(infos) >= TENTH * len(CHANGES)
        life = (await own.reader.head(camera_id)).incarnation
        for number, change in enumerate(CHANGES):
            span = span_of(infos[number * TENTH : (number + 1) * TENTH])
            bad = infos[number * TENTH + 4]
            (frame,) = await own.reader.fetch([bad.ref])
            await asyncio.to_thread(overwrite, served.redis_url, life, frame, damaged(frame, change))
            await forged_frame_is_left_out(
                opened, own, Asking(QUESTIONS[2], span.end_us, camera_id, span), bad
            )
        whole = await answer(opened, Asking(QUESTIONS[1], infos[-1].t_us + 1, camera_id))
        assert whole.done["frames_used"] >= 8


async def forged_frame_is_left_out(opened: Road, own: Beside, asking: Asking, bad: FrameInfo) -> None:
    """Ask about ten frames of which one is forged: the words are those about the other nine, and somebody is told."""
    refused = opened.service.counted(REFUSED)
    by_engine = counter(opened.served.url, "vllm:livelens_frames_refused_total")
    said, heard = await own.ask(asking), await answer(opened, asking)
    assert heard.text == said.text
    assert said.done.frames_used == heard.done["frames_used"] == TENTH - 1
    assert bad.ref not in {citation["frame"] for citation in heard.done["citations"]}
    assert heard.done["notice"]
    assert opened.service.counted(REFUSED) == refused + 1
    assert counter(opened.served.url, "vllm:livelens_frames_refused_total") > by_engine
    again = await answer(opened, Asking("What is there?", asking.now_us, asking.camera_id, asking.span))
    assert again.done["frames_used"] == TENTH - 1
    assert opened.service.counted(REFUSED) == refused + 1, "it is remembered, and not tried again at once"


async def answer(opened: Road, asking: Asking) -> Heard:
    """Return the model's answer from the window."""
    heard = await ask(opened.service.url, asking.wire(), within_s=120)
    assert not heard.error, heard.error
    assert heard.done["model"] == "builtin", heard.done
    assert heard.done["outcome"] == "ok", heard.done
    assert heard.done["frames_encoded_now"] == 0
    return heard


def span_of(infos: tuple[FrameInfo, ...]) -> Span:
    return Span(infos[0].t_us, infos[-1].t_us + 1)


def same_tokens(own: Beside, one: Prompt, other: Prompt) -> int:
    """Return how many tokens two prompts begin with alike."""
    rows = [own.rendered(prompt).ids for prompt in (one, other)]
    alike = [a == b for a, b in zip(*rows, strict=False)]
    return alike.index(False) if False in alike else len(alike)
