"""A decoder that says what a test told it to: streams, fails, stalls, answers late, and remembers what it was asked.

It passes ``tests/contract/test_decoder.py`` like the real ones. One delta counts as one token.

    decoder = ScriptedDecoder(Script.of("A car ", "at [14:03:05]."))
    decoder = ScriptedDecoder(Script.of("A car"), Script(error=DecoderUnavailable("away")))   # second question fails
    decoder = ScriptedDecoder(lambda asked: Script.of(f"{len(asked.prompt.frames)} frames"))
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from core.ids import RequestId
from models.decoder import Delta, Finish, ModelProfile, Reads, SamplingParams, Usage
from models.prompt import Dialogue, Prompt
from models.stop import StopTexts

SCRIPTED_PROFILE = ModelProfile(name="scripted", reads=Reads.JPEG, frame_tokens=32, window_tokens=2_048)


@dataclass(frozen=True, slots=True)
class Script:
    """One answer.

    Attributes:
        deltas: What is streamed, piece by piece.
        error: Raised instead of the delta numbered ``error_at`` (0: before the first one).
        stall_at: Wait before this delta until ``ScriptedDecoder.release`` is called or the stream is closed.
        delay_s: Wait this long before every delta (for tests whose clock jumps, or a few milliseconds).
        usage: Sent with the last delta; None counts: a token a frame, a token a word, a token a delta.
        without_usage: The last delta carries no usage, as some servers do.
    """

    deltas: tuple[str, ...] = ("Nothing ", "moved.")
    error: Exception | None = None
    error_at: int = 0
    stall_at: int | None = None
    delay_s: float = 0.0
    usage: Usage | None = None
    without_usage: bool = False

    @classmethod
    def of(cls, *deltas: str) -> "Script":
        """Return a script that streams these pieces and stops."""
        return cls(deltas=deltas)


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of ``generate``, as it came in."""

    prompt: Prompt | Dialogue
    request_id: RequestId
    sampling: SamplingParams
    priority: int


@dataclass(slots=True)
class _Ends:
    """How streams ended, by request."""

    finished: list[RequestId] = field(default_factory=list)
    closed_early: list[RequestId] = field(default_factory=list)
    failed: list[RequestId] = field(default_factory=list)


class ScriptedDecoder:
    """Give it one script for all questions, several in order (the last one repeats), or a function of ``Asked``.

    Attributes:
        asked: Every call so far, in order.
        finished, closed_early, failed: Requests by how their stream ended.
        running: Streams begun and not ended.
    """

    def __init__(
        self, *scripts: Script | Callable[[Asked], Script], profile: ModelProfile = SCRIPTED_PROFILE
    ) -> None:
        self._scripts = list(scripts) or [Script()]
        self._profile = profile
        self._healthy = True
        self._released = asyncio.Event()
        self._ends = _Ends()
        self.asked: list[Asked] = []
        self.running = 0

    @property
    def profile(self) -> ModelProfile:
        return self._profile

    @property
    def prompts(self) -> list[Prompt]:
        """Return the prompts asked so far, in order; dialogues are in ``dialogues``."""
        return [asked.prompt for asked in self.asked if isinstance(asked.prompt, Prompt)]

    @property
    def dialogues(self) -> list[Dialogue]:
        """Return the dialogues asked so far, in order."""
        return [asked.prompt for asked in self.asked if isinstance(asked.prompt, Dialogue)]

    @property
    def finished(self) -> list[RequestId]:
        return self._ends.finished

    @property
    def closed_early(self) -> list[RequestId]:
        return self._ends.closed_early

    @property
    def failed(self) -> list[RequestId]:
        return self._ends.failed

    def healthy(self) -> bool:
        return self._healthy

    def set_healthy(self, healthy: bool) -> None:
        """Say what ``healthy`` answers from now on; scripts run all the same."""
        self._healthy = healthy

    def release(self) -> None:
        """Let every stalled stream go on, now and later."""
        self._released.set()

    async def generate(
        self,
        prompt: Prompt | Dialogue,
        *,
        request_id: RequestId,
        sampling: SamplingParams,
        priority: int = 0,
    ) -> AsyncIterator[Delta]:
        asked = Asked(prompt, request_id, sampling, priority)
        self.asked.append(asked)
        script = self._next_script(asked)
        self.running += 1
        try:
            async for delta in self._play(script, asked):
                yield delta
        except (GeneratorExit, asyncio.CancelledError):
            self._ends.closed_early.append(request_id)
            raise
        except Exception:
            self._ends.failed.append(request_id)
            raise
        else:
            self._ends.finished.append(request_id)
        finally:
            self.running -= 1

    def _next_script(self, asked: Asked) -> Script:
        script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        return script if isinstance(script, Script) else script(asked)

    async def _play(self, script: Script, asked: Asked) -> AsyncIterator[Delta]:
        spoken = script.deltas[: asked.sampling.max_tokens]
        stops = StopTexts(asked.sampling.stop)
        for number, text in enumerate((*spoken, None)):
            if script.error is not None and script.error_at == number:
                raise script.error
            if script.stall_at == number:
                await self._released.wait()
            if text is None:
                break
            await asyncio.sleep(script.delay_s)
            yield Delta(stops.push(text))
            if stops.hit:
                break
        whole = stops.hit or len(spoken) == len(script.deltas)
        finish = Finish.STOP if whole else Finish.LENGTH
        usage = script.usage or Usage(_prompt_tokens(asked.prompt), len(spoken))
        yield Delta(stops.rest(), finish, None if script.without_usage else usage)


def _prompt_tokens(prompt: Prompt | Dialogue) -> int:
    if isinstance(prompt, Dialogue):
        return len(prompt.frames) + sum(len(message.text.split()) for message in prompt.messages)
    return len(prompt.frames) + len(f"{prompt.system} {prompt.question}".split())
