"""Whether an answer is true, told by its words: order does not count where people would not mind, times may be near.

right(question, "The blue square left at [14:03:09]. A red circle appeared at [14:03:05].", watched)
"""

import re
from collections.abc import Sequence

from models.builtin.questions import AskedQuestion
from models.builtin.watched import LABEL, Watched
from models.builtin.wording import Asked

_SECOND_US = 1_000_000
_DAY_US = 86_400 * _SECOND_US
PIECE_ENDS = {Asked.SEE: r"[,，.。]", Asked.MOVED: r"[.。]", Asked.HAPPENED: r"(?<=\])[.。]"}
"""What ends each piece of an answer that lists things, as a pattern; other answers are one piece."""


def right(question: AskedQuestion, given: str, watched: Watched) -> bool:
    """Return whether ``given`` says what the question's answer says.

    Things that are listed may come in any order. A time is right within a second of the true one, or within the gap
    between the used frames around it where that is longer; it has to be a label of a used frame.
    """
    if given.strip() == question.answer:
        return True
    wanted, said = _pieces(question.kind, question.answer), _pieces(question.kind, given)
    if len(wanted) != len(said):
        return False
    left = list(said)
    for piece in wanted:
        match = next((other for other in left if _same(piece, other, watched)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _pieces(kind: Asked, text: str) -> list[str]:
    pattern = PIECE_ENDS.get(kind)
    pieces = re.split(pattern, text) if pattern else [text]
    return [piece.strip().casefold() for piece in pieces if piece.strip()]


def _same(wanted: str, said: str, watched: Watched) -> bool:
    if LABEL.sub("[]", wanted) != LABEL.sub("[]", said):
        return False
    labels = [moment.label for moment in watched.moments]
    pairs = zip(LABEL.finditer(wanted), LABEL.finditer(said), strict=True)
    return all(_near(true.group(), told.group(), labels, watched) for true, told in pairs)


def _near(true: str, told: str, labels: Sequence[str], watched: Watched) -> bool:
    if told not in labels or true not in labels:
        return False
    at = labels.index(true)
    times = [moment.t_us for moment in watched.moments]
    before = times[at] - times[max(0, at - 1)]
    after = times[min(len(times) - 1, at + 1)] - times[at]
    away = abs(_clock_us(true) - _clock_us(told))
    return min(away, _DAY_US - away) <= max(_SECOND_US, before, after)


def _clock_us(label: str) -> int:
    found = LABEL.fullmatch(label)
    assert found is not None, "labels are written by the service"
    hours, minutes, seconds, tenths = (int(group or 0) for group in found.groups())
    return (hours * 3600 + minutes * 60 + seconds) * _SECOND_US + tenths * _SECOND_US // 10
