"""B33 over WebSocket: a client whose connection is cut in mid-answer; streamed and plain chat are in test_chat_completions."""

import json
import time
from pathlib import Path

import pytest

from tests.support.asking import socket
from tests.support.clips import Shot, constant_rate, write_clip
from tests.support.service import LivelensProcess
from tests.support.tiny_model import tiny_model_folder

__all__ = ["tiny_model_folder"]

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(240)]

WITHIN_S = 2.0


async def test_a_connection_cut_after_the_first_word_leaves_no_answer_running(
    tmp_path: Path, tiny_model_folder: Path
) -> None:
    """The engine's own count of running answers is 0 within two seconds, and the next question is answered."""
    clip = write_clip(tmp_path / "moving.mp4", [Shot(constant_rate(30))])
    settings = {"LIVELENS_FRAME_TOKENS": "24", "LIVELENS_ENGINE__DTYPE": "float32"}
    words = ["serve", "--camera", f"gate={clip}", "--model", str(tiny_model_folder)]
    async with LivelensProcess(words, settings=settings) as service:
        await service.until("frames are held", lambda: service.camera("gate")["window"]["frames"] > 5)

        def running() -> int:
            return service.counted("livelens_engine_running")

        question = {
            "type": "ask",
            "id": "q1",
            "cameras": ["gate"],
            "text": "What happened?",
            "max_tokens": 2_000,
        }
        async with socket(service.url) as connection:
            await connection.send(json.dumps(question))
            async for raw in connection:
                if json.loads(raw)["type"] == "answer.delta":
                    break
            await service.until("the answer is being decoded", lambda: running() == 1)
            cut = time.monotonic()
            connection.transport.abort()
        await service.until("the engine has let it go", lambda: running() == 0, within_s=WITHIN_S + 1)
        assert time.monotonic() - cut < WITHIN_S
        async with socket(service.url) as connection:
            await connection.send(json.dumps({**question, "max_tokens": 3}))
            async for raw in connection:
                if (message := json.loads(raw))["type"] == "answer.done":
                    break
        assert message["outcome"] in ("ok", "shortened")
        assert "Traceback" not in service.log
