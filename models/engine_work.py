"""What travels between the event loop and the engine thread: pictures to look at, questions, and their results."""

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from core.frames import Features
from core.ids import RequestId
from models.decoder import Delta, Finish, SamplingParams, Usage
from models.intake import Intake
from models.pictures import Prepared
from models.stop import StopTexts
from models.text import TextStream

logger = logging.getLogger(__name__)


class DeltaStream:
    """Carries deltas, then an error if need be, from the engine thread to one reader on the loop.

    Holds at most ``max_tokens`` deltas, so it needs no bound of its own.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._deltas: deque[Delta | Exception] = deque()
        self._arrived = asyncio.Event()

    async def next(self) -> Delta:
        """Return the next delta; raise the error that ended the stream."""
        while not self._deltas:
            self._arrived.clear()
            await self._arrived.wait()
        found = self._deltas.popleft()
        if isinstance(found, Exception):
            raise found
        return found

    def push_threadsafe(self, item: Delta | Exception) -> None:
        """Hand over from another thread. After the loop's end there is nobody to tell."""
        try:
            self._loop.call_soon_threadsafe(self._push, item)
        except RuntimeError:
            logger.debug("the event loop ended before its answer")

    def _push(self, item: Delta | Exception) -> None:
        self._deltas.append(item)
        self._arrived.set()


@dataclass(eq=False, slots=True)
class Look:
    """A picture to encode. ``found`` is a future of the event loop that asked."""

    number: int
    picture: Prepared
    found: asyncio.Future[Features]

    def settle_threadsafe(self, result: Features | Exception) -> None:
        """Hand the result over from the engine thread; a future already cancelled is left alone."""
        try:
            self.found.get_loop().call_soon_threadsafe(self._settle, result)
        except RuntimeError:
            logger.debug("the event loop ended before its features")

    def _settle(self, result: Features | Exception) -> None:
        if self.found.done():
            return
        if isinstance(result, Exception):
            self.found.set_exception(result)
        else:
            self.found.set_result(result)


@dataclass(eq=False, slots=True)
class Ask:
    """A question on its way through the engine.

    Attributes:
        answering: What the runner knows of it, once it has a place.
        computed: Prompt tokens computed so far, those from a kept state included.
        said: Tokens of the answer so far.
    """

    number: int
    intake: Intake
    request_id: RequestId
    sampling: SamplingParams
    priority: int
    stream: DeltaStream
    text: TextStream
    answering: Any = None  # each runner has a type of its own
    cached_tokens: int = 0
    computed: int = 0
    said: int = 0
    stops: StopTexts = field(init=False)

    def __post_init__(self) -> None:
        self.stops = StopTexts(self.sampling.stop)

    def push(self, token: int, *, ends: frozenset[int]) -> Finish | None:
        """Hand over the text of one more token; return why the answer is over, or None."""
        if token in ends:
            return self._finish(self.stops.rest(), Finish.STOP)
        self.said += 1
        text = self.stops.push(self.text.push(token))
        if self.stops.hit:
            return self._finish(text, Finish.STOP)
        if self.said >= self.sampling.max_tokens:
            return self._finish(text + self.stops.rest(), Finish.LENGTH)
        if text:
            self.stream.push_threadsafe(Delta(text))
        return None

    def fail(self, error: Exception) -> None:
        """End the stream with an error."""
        self.stream.push_threadsafe(error)

    def _finish(self, text: str, finish: Finish) -> Finish:
        usage = Usage(self.intake.rendered.tokens, self.said, self.cached_tokens, self.intake.refused)
        self.stream.push_threadsafe(Delta(text, finish, usage))
        return finish
