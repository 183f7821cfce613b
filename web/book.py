"""The bookkeeping of one WebSocket session: what waits, what was sent under which number, what is being answered.

Pure: ``web.live`` waits, sends and reads clocks. Numbers are given when a message leaves, so that a camera's
newest state can replace one that still waits.
"""

from collections import deque
from dataclasses import dataclass

from web import wire
from web.errors import DuplicateQuestion, SessionGone, TooManyQuestions, UnknownQuestion


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How much one session may hold: questions at a time, messages that wait, messages and bytes to replay."""

    questions: int
    waiting: int
    replay_messages: int
    replay_bytes: int


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that left, as it travelled."""

    seq: int
    text: str


class SessionBook:
    """One session's book.

    Words are never dropped: whoever produces them asks ``has_room`` first, and waits. Camera states are:
    of each camera the newest waits, behind the words.
    """

    def __init__(self, limits: SessionLimits) -> None:
        self._limits = limits
        self._seq = 0
        self._waiting: deque[wire.ServerMessage] = deque()
        self._states: dict[str, wire.CameraStateMessage] = {}
        self._sent: deque[Sent] = deque()
        self._sent_bytes = 0
        self._questions: set[str] = set()

    @property
    def seq(self) -> int:
        """The number of the last message that left; 0 before the first."""
        return self._seq

    @property
    def questions(self) -> frozenset[str]:
        """The ids of the questions being answered."""
        return frozenset(self._questions)

    @property
    def has_room(self) -> bool:
        """Whether another message may wait."""
        return len(self._waiting) < self._limits.waiting

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting or self._states)

    def open_question(self, question_id: str) -> None:
        """Note that a question is being answered. Raises DuplicateQuestion, TooManyQuestions."""
        if question_id in self._questions:
            raise DuplicateQuestion
        if len(self._questions) >= self._limits.questions:
            raise TooManyQuestions(self._limits.questions)
        self._questions.add(question_id)

    def close_question(self, question_id: str) -> None:
        """Note that a question has been answered, or given up. Raises UnknownQuestion."""
        if question_id not in self._questions:
            raise UnknownQuestion
        self._questions.remove(question_id)

    def put(self, message: wire.ServerMessage) -> None:
        """Let a message wait. Words look at ``has_room`` first; a few others are let in without."""
        self._waiting.append(message)

    def put_state(self, message: wire.CameraStateMessage) -> None:
        """Let a camera's newest state wait, instead of an older one."""
        self._states[message.camera] = message

    def take(self) -> Sent | None:
        """Return the next message under its number, or None where nothing waits."""
        if self._waiting:
            message: wire.ServerMessage = self._waiting.popleft()
        elif self._states:
            message = self._states.pop(next(iter(self._states)))
        else:
            return None
        self._seq += 1
        sent = Sent(self._seq, wire.to_json(message.model_copy(update={"seq": self._seq})))
        self._remember(sent)
        return sent

    def replay(self, after_seq: int) -> tuple[Sent, ...]:
        """Return what left after number ``after_seq``.

        Raises:
            SessionGone: some of it is no longer held, or no such number was ever given.
        """
        first_held = self._sent[0].seq if self._sent else self._seq + 1
        if after_seq > self._seq or after_seq + 1 < first_held:
            raise SessionGone
        return tuple(sent for sent in self._sent if sent.seq > after_seq)

    def _remember(self, sent: Sent) -> None:
        self._sent.append(sent)
        self._sent_bytes += len(sent.text)
        while len(self._sent) > self._limits.replay_messages or (
            self._sent_bytes > self._limits.replay_bytes and len(self._sent) > 1
        ):
            self._sent_bytes -= len(self._sent.popleft().text)
