"""Asks about one recorded scene through the product: its window, its encoder, its choice of frames, its prompt, its decoder.

RecordedScene ──fill──▶ MemoryPool ──Asker──▶ answers ──▶ judged against the truth of the frames used
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from random import Random
from zoneinfo import ZoneInfo

from bench.accuracy_questions import (
    Asking,
    Mention,
    answer_again,
    draw_asking,
    put_follow_up,
    put_question,
    thing_of,
    views_of,
)
from bench.accuracy_scenes import CAMERA, RecordedScene
from bench.accuracy_tally import Answered
from core.cameras import Camera, Source
from core.channel import Channel, Overflow
from core.clock import ManualClock
from core.frames import Sample
from core.ids import CameraId, ConversationId, Incarnation, RequestId
from core.meter import NullMeter
from featcache import fill
from featcache.fill import Encoder
from featcache.pool import MemoryPool
from featcache.settings import Settings
from models.builtin.judging import right
from models.builtin.questions import AskedQuestion
from models.builtin.watched import UsedMoment, Watched
from models.builtin.wording import SINGLE_FRAME, Asked, Tongue
from models.decoder import Decoder
from qa import Asker, AskParts, AskSettings, word_answer
from qa.answers import AnswerDone, AnswerStarted, Question, UsedFrame
from qa.hear import hear
from qa.look import look
from qa.prompt import label_of
from store.conversations import StoredTurn

ZONE = ZoneInfo("UTC")
LIFE = Incarnation("bench")
MOST_TOKENS = 128
"""The longest true answer takes about 100; a model that goes on is wrong anyway."""

_TRIES = 5
_FOLLOWS = 0.35
_MARKS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16)


class OneCamera:
    """The registry, as far as asking needs it."""

    def __init__(self) -> None:
        self._camera = Camera(CAMERA, CAMERA, Source("file:///bench"), ZONE, LIFE, 0)

    def list(self) -> tuple[Camera, ...]:
        return (self._camera,)

    def get(self, _camera_id: CameraId) -> Camera:
        return self._camera


class Remembered:
    """Conversations in memory."""

    def __init__(self) -> None:
        self._turns: dict[ConversationId, list[StoredTurn]] = {}

    async def append(self, turn: StoredTurn) -> None:
        self._turns.setdefault(turn.conversation, []).append(turn)

    async def last(self, conversation: ConversationId, *, count: int = 8) -> tuple[StoredTurn, ...]:
        return tuple(self._turns.get(conversation, [])[-count:])


@dataclass(frozen=True, slots=True)
class _Planned:
    """A question with the frames it will use, and what they show: ``views`` are several where a second is named.

    ``truths`` are the question as each view answers it, the last one first among equals.
    """

    mention: Mention
    asked: Question
    frames: tuple[UsedFrame, ...]
    views: tuple[Watched, ...]
    truths: tuple[AskedQuestion, ...]

    @property
    def question(self) -> AskedQuestion:
        return self.truths[-1]

    def exact(self, given: str) -> bool:
        """Return whether an answer is, letter by letter, what some view says."""
        return any(given == truth.answer for truth in self.truths)

    def true(self, given: str) -> bool:
        """Return whether an answer says what some view says."""
        return any(right(truth, given, view) for truth, view in zip(self.truths, self.views, strict=True))


@dataclass(slots=True)
class SceneAsker:
    """One scene in a window, and everything that asking about it takes. Made by ``open``."""

    scene: RecordedScene
    decoder: Decoder
    parts: AskParts
    settings: AskSettings = field(default_factory=AskSettings)
    _asked: int = 0

    @classmethod
    async def open(cls, scene: RecordedScene, *, decoder: Decoder, encoder: Encoder) -> "SceneAsker":
        """Return a scene whose frames are encoded and stored, as ``featcache.fill`` does it."""
        meter, clock = NullMeter(), ManualClock(scene.end_us)
        window = MemoryPool(Settings(), meter=meter)
        await window.open_camera(CAMERA, LIFE)
        samples: Channel[Sample] = Channel(max(1, len(scene.shots)), Overflow.WAIT)
        for shot in scene.shots:
            samples.send_nowait(Sample(CAMERA, shot.t_us, 0, shot.reason, shot.motion, shot, b""))
        samples.close()
        await fill(
            samples, window, camera_id=CAMERA, incarnation=LIFE, encoder=encoder, clock=clock, meter=meter
        )
        for record in scene.records:
            await window.put_record(CAMERA, record, incarnation=LIFE)
        parts = AskParts(
            window=window,
            cameras=OneCamera(),
            conversations=Remembered(),
            decoder=lambda: decoder,
            word_measured=word_answer,
            clock=clock,
            meter=meter,
        )
        return cls(scene, decoder, parts)

    async def converse(self, random: Random, kinds: Sequence[Asked], name: str) -> list[Answered]:
        """Ask questions of these kinds, one after the other in one conversation; those without an answer are left out."""
        conversation = ConversationId(f"conv_{name}")
        found: list[Answered] = []
        before: _Planned | None = None
        for number, kind in enumerate(kinds):
            planned = await self._plan(random, kind, conversation, before, f"{name}.{number}")
            if planned is not None:
                found.append(await self._ask(planned, turns=len(found)))
                before = planned
        return found

    async def _plan(
        self, random: Random, kind: Asked, conversation: ConversationId, before: _Planned | None, name: str
    ) -> _Planned | None:
        """Return a question that has one true answer, after a few tries."""
        if before is not None and random.random() < _FOLLOWS:
            follow_up = await self._plan_follow_up(random, kind, conversation, before, name)
            if follow_up is not None:
                return follow_up
        for _ in range(_TRIES):
            asking = draw_asking(
                random,
                kind,
                random.choice(list(Tongue)),
                times_us=[shot.t_us for shot in self.scene.shots],
                now_us=self.scene.end_us,
                mark=random.choice(_MARKS if kind in SINGLE_FRAME else _MARKS[1:]),
            )
            frames = await self._frames(self._question(asking.form, asking, conversation, name))
            views = self._views(frames, asking.at_us)
            question = put_question(random, asking, views[-1]) if views else None
            if question is not None:
                asked = self._question(question.text, asking, conversation, name)
                kept = [
                    (view, truth) for view in views if (truth := answer_again(question, view)) is not None
                ]
                return _Planned(asking.mention, asked, frames, *zip(*kept, strict=True))
        return None

    async def _plan_follow_up(
        self, random: Random, kind: Asked, conversation: ConversationId, before: _Planned, name: str
    ) -> _Planned | None:
        thing = thing_of(before.question, before.views[-1])
        follows = kind in (Asked.COLOUR, Asked.SHAPE, Asked.WHERE, Asked.WAY, Asked.APPEARED, Asked.LEFT)
        if thing is None or not follows or before.mention is Mention.AT:
            return None
        question = put_follow_up(random, kind, before.question, thing, before.views[-1])
        if question is None or kind is before.question.kind:
            return None
        asking = Asking(kind, question.tongue, Mention.NOTHING, question.text)
        asked = self._question(question.text, asking, conversation, name)
        frames = await self._frames(asked)
        views = self._views(frames, None)
        again = put_follow_up(random, kind, before.question, thing, views[-1]) if views else None
        if again is None:
            return None
        asked = self._question(again.text, asking, conversation, name)
        if await self._frames(asked) != frames:
            return None  # "And where is it now?" names a span of its own
        return _Planned(Mention.NOTHING, asked, frames, views, (again,))

    def _question(self, text: str, asking: Asking, conversation: ConversationId, name: str) -> Question:
        return Question(
            RequestId(f"req_{name}"),
            text,
            self.scene.end_us,
            (CAMERA,),
            asking.span,
            conversation=conversation,
            max_tokens=MOST_TOKENS,
        )

    async def _frames(self, question: Question) -> tuple[UsedFrame, ...]:
        """Return the frames that the product will use for a question."""
        heard = await hear(question, self.parts, self.settings)
        seen = await look(heard, self.parts.window, profile=self.decoder.profile)
        return tuple(
            UsedFrame(frame.ref, frame.t_us, label_of(frame.t_us, seen.span, ZONE, tenths=frame.tenths))
            for frame in seen.chosen
        )

    def _views(self, frames: Sequence[UsedFrame], at_us: int | None) -> tuple[Watched, ...]:
        moments = [UsedMoment(frame.t_us - self.scene.start_us, frame.label) for frame in frames]
        return views_of(self.scene.truth, moments, [frame.t_us for frame in frames], at_us)

    async def _ask(self, planned: _Planned, *, turns: int) -> Answered:
        started: AnswerStarted | None = None
        done: AnswerDone | None = None
        async with aclosing(Asker(self.parts, self.settings).ask(planned.asked)) as answer:
            async for value in answer:
                match value:
                    case AnswerStarted():
                        started = value
                    case AnswerDone():
                        done = value
        assert started is not None, "an answer begins"
        assert done is not None, "an answer ends"
        by_model = done.model == self.decoder.profile.name
        if by_model and started.frames != planned.frames:
            raise AssertionError(f"other frames were used than foreseen: {started.frames}, {planned.frames}")
        question, given = planned.question, done.text.strip()
        return Answered(
            kind=question.kind,
            tongue=question.tongue,
            mention=planned.mention,
            frames=len(planned.frames),
            turns=turns,
            text=question.text,
            answer=question.answer,
            given=given,
            exact=by_model and planned.exact(given),
            true=by_model and planned.true(given),
        )


async def ask_about(
    scene: RecordedScene,
    conversations: Sequence[Sequence[Asked]],
    *,
    name: str,
    decoder: Decoder,
    encoder: Encoder,
    together: int = 16,
) -> list[Answered]:
    """Return the judged answers of several conversations about one scene, ``together`` of them at a time."""
    if not scene.shots:
        return []
    asker = await SceneAsker.open(scene, decoder=decoder, encoder=encoder)
    room = asyncio.Semaphore(together)

    async def one(number: int, kinds: Sequence[Asked]) -> list[Answered]:
        async with room:
            return await asker.converse(Random(f"ask {name} {number}"), kinds, f"{name}.{number}")

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(one(number, kinds), name=f"ask:{name}.{number}")
            for number, kinds in enumerate(conversations)
        ]
    return [answer for task in tasks for answer in task.result()]
