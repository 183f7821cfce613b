"""A window of ten minutes, room for two of them in Redis, and a question about minute 7 from another process through vLLM."""

import asyncio
import time

import pytest

from core.ids import CameraId
from core.spans import Span
from models.builtin.answering import Target
from models.builtin.questions import AskedQuestion
from models.builtin.wording import Asked, Tongue
from tests.support.asking import Json, ask, rfc3339
from tests.support.clip_questions import PlayedClip, Put, is_true
from tests.support.vllm_beside import Asking, Said, beside
from tests.support.vllm_owner import FPS, encoded, long_scene, owning
from tests.support.vllm_road import encoded_by, own_camera, reading
from tests.support.vllm_shared import shared_vllm, undisturbed

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(900)]

MINUTE_US = 60_000_000
WINDOW_S, REDIS_MINUTES = 600, 2
SEVENTH_US = 6 * MINUTE_US
QUESTIONS = (
    (Asked.HOW_MANY, Tongue.EN, "How many objects are there?"),
    (Asked.TIME, Tongue.EN, "When was the last picture taken?"),
    (Asked.SEE, Tongue.ZH, "你看到什么？"),
    (Asked.HAPPENED, Tongue.EN, "What happened?"),
)


async def test_minute_7_of_10_is_asked_about_from_another_process_where_redis_holds_2_minutes() -> None:
    served = await asyncio.to_thread(shared_vllm)
    camera_id, now_us = own_camera("spilled"), time.time_ns() // 1000
    scene = await asyncio.to_thread(long_scene, seconds=WINDOW_S, end_us=now_us)
    clip = PlayedClip(scene.truth, FPS, scene.start_us)
    span = Span(scene.start_us + SEVENTH_US + 20_500_000, scene.start_us + SEVENTH_US + 32_500_000)
    asked = [(question, Asking(question[2], now_us, camera_id, span)) for question in QUESTIONS]
    async with beside(served.redis_url, camera_id) as own:
        held = await encoded(scene, camera_id, own.encoder)
        budget_bytes = held.bytes_since(now_us - REDIS_MINUTES * MINUTE_US)
        async with (
            owning(served.redis_url, held, budget_bytes=budget_bytes),
            reading(served, "--no-ingest") as other,
        ):
            await other.until(
                "the camera is seen",
                lambda: camera_id in {each["id"] for each in other.get("/api/v1/cameras")["cameras"]},
            )
            tiers = other.get(f"/api/v1/cameras/{camera_id}/timeline?last_s=3600")["tiers"]
            assert [tier["tier"] for tier in tiers] == ["memory", "redis"]
            assert lying_in(other.get(frames_path(camera_id, span))) == {"memory"}
            async with undisturbed():
                before = await encoded_by(served)
                heard = [await ask(other.url, asking.wire(), within_s=60) for _, asking in asked]
                assert await encoded_by(served) == before
            assert other.counted("livelens_frames_encoded_total") == 0
            said: list[Said] = [await own.ask(asking) for _, asking in asked]
    true = 0
    for (question, asking), ours, theirs in zip(asked, said, heard, strict=True):
        assert not theirs.error, theirs.error
        assert theirs.done["model"] == ours.done.model == "builtin", theirs.done
        assert theirs.done["frames_encoded_now"] == 0
        assert [frame["ref"] for frame in theirs.started["frames"]] == ours.refs
        assert theirs.done["frames_used"] == len(ours.refs) >= 8
        kind, tongue, text = question
        put = Put(AskedQuestion(kind, tongue, Target(), text, ""), asking.now_us)
        known = clip.truths(put, [(frame.t_us, frame.label) for frame in ours.started.frames])
        verdict = is_true(theirs.text, known)
        print(f"{'true ' if verdict else 'FALSE'} {text}  {theirs.text}")
        assert theirs.text == ours.text or verdict
        true += verdict
    assert true >= 2, "what is asked of one frame, at least"


def frames_path(camera_id: CameraId, span: Span) -> str:
    return f"/api/v1/cameras/{camera_id}/frames?from={rfc3339(span.start_us)}&to={rfc3339(span.end_us)}"


def lying_in(frames: Json) -> set[str]:
    """Return the tiers of some frames, as the API shows them."""
    return {frame["tier"] for frame in frames["frames"]}
