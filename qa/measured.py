"""The measured answer: sentences from tracks, changes, static spans and gaps alone. Pure.

It says when something moved, where it came in and went out, which way, how long, how large and of what rough
colour, and never what it was.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from core.records import ObjectTrack, SceneChange, StaticSpan
from featcache.window import FrameInfo
from qa.answers import CoverageGap, Language
from qa.labels import time_label
from qa.measured_account import Activity, activities_of, most_at_once
from qa.measured_asked import Asked, asked_for
from qa.measured_en import EnglishWords
from qa.measured_words import Ending, Rest, Story, Words
from qa.measured_zh import ChineseWords
from qa.ports import Evidence
from qa.window_text import clock_text, window_text
from qa.wording import gap_text

MOST_SENTENCES = 8
MOST_LISTED = 3
LIVE_US = 3_000_000
QUIET_US = 5_000_000
SOON_US = 300_000

_WORDS: dict[Language, Words] = {Language.EN: EnglishWords(), Language.ZH: ChineseWords()}


@dataclass(frozen=True, slots=True)
class MeasuredAnswer:
    """Sentences, and the frames that prove them, oldest first: those whose times they name, and of each thing
    told of the one with the most motion, because it comes and goes at the picture's edge."""

    sentences: tuple[str, ...]
    frames: tuple[FrameInfo, ...]


def word_answer(evidence: Evidence, language: Language) -> MeasuredAnswer:
    """Return what the evidence says of its span. Every answer with frames names the time of one."""
    return _Account(evidence, language).answer()


_Item = Activity | SceneChange | CoverageGap


class _Labels:
    """Hands out time labels of frames, and remembers which frames were named.

    A label is written without tenths; that is settled at the end, when all frames shown are known: where two
    of them share a second, both get tenths, so that each names its own frame.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._named: dict[int, FrameInfo] = {}

    def of(self, frame: FrameInfo) -> str:
        """Return a stand-in for the frame's label, to be replaced by ``settle``."""
        self._named[frame.t_us] = frame
        return f"\x00{frame.t_us}\x00"

    def show(self, frame: FrameInfo) -> None:
        """Take the frame into the evidence without naming its time."""
        self._named.setdefault(frame.t_us, frame)

    def settle(self, sentence: str) -> str:
        """Return the sentence with real labels."""
        seconds = Counter(t_us // 1_000_000 for t_us in self._named)
        for t_us in self._named:
            crowded = seconds[t_us // 1_000_000] > 1
            label = time_label(t_us, self._evidence.zone, tenths=crowded, dated=self._evidence.dated)
            sentence = sentence.replace(f"\x00{t_us}\x00", label)
        return sentence

    def named(self) -> tuple[FrameInfo, ...]:
        return tuple(frame for _, frame in sorted(self._named.items()))


class _Account:
    """One answer being put together."""

    def __init__(self, evidence: Evidence, language: Language) -> None:
        self._evidence = evidence
        self._language = language
        self._words = _WORDS[language]
        self._labels = _Labels(evidence)
        self._frames = evidence.frames
        self._seen_us = self._frames[-1].t_us if self._frames else evidence.span.start_us
        self._activities = activities_of(evidence.records, evidence.span, seen_us=self._seen_us)
        self._live = evidence.span.end_us >= evidence.now_us - LIVE_US

    def answer(self) -> MeasuredAnswer:
        evidence = self._evidence
        if not self._frames:
            gaps = [self._words.gap(self._gap_text(gap)) for gap in evidence.coverage.gaps[:MOST_SENTENCES]]
            asked = window_text(evidence.span, evidence.zone, now_us=evidence.now_us)
            return MeasuredAnswer(tuple(gaps) or (self._words.unseen(asked),), ())
        told = [self._tell(item) for item in self._shown(self._items())]
        first, last = self._fitted(), self._closing(told_any=bool(self._activities or self._changes()))
        sentences = (*first, *self._left_out(), *told, *last)
        if not self._labels.named():
            sentences = (*sentences, self._words.looked(self._labels.of(self._frames[-1])))
        return MeasuredAnswer(tuple(self._labels.settle(s) for s in sentences), self._labels.named())

    # ------------------------------------------------------------ what there is to tell

    def _changes(self) -> tuple[SceneChange, ...]:
        records = self._evidence.records
        return tuple(r for r in records if isinstance(r, SceneChange) and r.start_us in self._evidence.span)

    def _items(self) -> list[_Item]:
        items: list[_Item] = [*self._activities, *self._changes(), *self._evidence.coverage.gaps]
        return sorted(items, key=_start_of)

    def _shown(self, items: Sequence[_Item]) -> Sequence[_Item]:
        return items if len(items) < MOST_SENTENCES else items[-(MOST_SENTENCES - 2) :]

    def _left_out(self) -> tuple[str, ...]:
        items = self._items()
        hidden = items[: len(items) - len(self._shown(items))]
        if not hidden:
            return ()
        rest = Rest(
            movements=sum(len(item.things) for item in hidden if isinstance(item, Activity)),
            changes=sum(isinstance(item, SceneChange) for item in hidden),
            gaps=sum(isinstance(item, CoverageGap) for item in hidden),
        )
        start, end = self._first_from(_start_of(hidden[0])), self._last_until(_end_of(hidden[-1]))
        return (self._words.rest(rest, self._labels.of(start), self._labels.of(max(start, end, key=_time))),)

    # ------------------------------------------------------------ telling it

    def _tell(self, item: _Item) -> str:
        if isinstance(item, SceneChange):
            return self._words.change(item.kind, self._labels.of(self._first_from(item.start_us)))
        if isinstance(item, CoverageGap):
            return self._words.gap(self._gap_text(item))
        if len(item.things) == 1:
            return self._words.one(self._story(item.things[0]))
        start, end = self._ends(item.start_us, item.end_us)
        if len(item.things) <= MOST_LISTED:
            stories = [self._story(thing) for thing in item.things]
            return self._words.several(self._labels.of(start), self._labels.of(end), stories)
        routes = Counter((thing.entered, thing.left) for thing in item.things).most_common()
        return self._words.many(
            self._labels.of(start),
            self._labels.of(end),
            len(item.things),
            [(entered, left, count) for (entered, left), count in routes],
        )

    def _story(self, thing: ObjectTrack) -> Story:
        span = self._evidence.span
        start, end = self._ends(thing.start_us, thing.end_us)
        between = [frame for frame in self._frames if start.t_us <= frame.t_us <= end.t_us]
        self._labels.show(max(between, key=lambda frame: frame.motion))
        cut = thing.end_us >= span.end_us
        if thing.open and self._live:
            ending, end = Ending.STILL_THERE, self._frames[-1]
        elif thing.open or cut:
            ending, end = Ending.STILL_THEN, self._frames[-1] if thing.open else end
        else:
            ending = Ending.LEFT if thing.left is not None else Ending.LAST_SEEN
        until_us = end.t_us if thing.open or cut else thing.end_us
        return Story(
            came=self._labels.of(start),
            went=self._labels.of(end),
            present=thing.start_us < span.start_us,
            entered=thing.entered,
            left=None if cut else thing.left,
            direction=thing.direction,
            ending=ending,
            duration_us=max(0, until_us - thing.start_us),
            size=thing.size,
            colour=thing.colour,
        )

    def _closing(self, *, told_any: bool) -> tuple[str, ...]:
        """Return what to say of the quiet at the end, or of all the span where nothing happened."""
        first, last = self._frames[0], self._frames[-1]
        if not told_any:
            return (self._nothing(first, last),)
        told: list[_Item] = [*self._activities, *self._changes()]
        moved_us = max(_end_of(item) for item in told)
        still_there = any(activity.open for activity in self._activities)
        if self._live and not still_there and last.t_us - moved_us >= QUIET_US:
            since = self._first_from(moved_us)
            return (self._words.quiet_since(self._labels.of(since), self._labels.of(last)),)
        return ()

    def _nothing(self, first: FrameInfo, last: FrameInfo) -> str:
        moving = [frame for frame in self._frames if frame.motion > 0]
        if moving:
            return self._words.slight(self._labels.of(moving[0]), self._labels.of(moving[-1]))
        since = self._labels.of(first)
        statics = [r for r in self._evidence.records if isinstance(r, StaticSpan) and first.t_us <= r.end_us]
        if self._live and statics and statics[0].start_us < first.t_us and not self._evidence.coverage.gaps:
            evidence = self._evidence
            since = clock_text(statics[0].start_us, evidence.zone, now_us=evidence.now_us)
        return self._words.still(since, self._labels.of(last), ongoing=self._live)

    def _fitted(self) -> tuple[str, ...]:
        """Return a first sentence that answers the question itself, where that can be measured."""
        asked = asked_for(self._evidence.text)
        things = [thing for activity in self._activities for thing in activity.things]
        if asked is Asked.COUNT:
            return (self._words.count(len(things), most_at_once(things)),)
        if asked is Asked.PRESENCE and self._live:
            newest = self._labels.of(self._frames[-1])
            return (self._words.presence(newest, there=any(thing.open for thing in things)),)
        if not things:
            return ()
        story = self._story(max(things, key=lambda thing: thing.end_us))
        match asked:
            case Asked.COLOUR:
                return (self._words.colour(story.colour, story.went),)
            case Asked.WAY:
                return (self._words.way(story),)
            case Asked.DURATION:
                return (self._words.lasted(story),)
            case _:
                return ()

    # ------------------------------------------------------------ times and frames

    def _gap_text(self, gap: CoverageGap) -> str:
        evidence = self._evidence
        return gap_text(gap.span, gap.reason, evidence.zone, now_us=evidence.now_us, language=self._language)

    def _ends(self, start_us: int, end_us: int) -> tuple[FrameInfo, FrameInfo]:
        """Return the first frame at or after an arrival, and the one that shows a departure.

        That is the first frame without the thing, where there is one soon after; else the last one before.
        """
        start, end = self._first_from(start_us), self._first_from(end_us)
        if not 0 <= end.t_us - end_us <= SOON_US:
            end = self._last_until(end_us)
        return start, max(start, end, key=_time)

    def _first_from(self, t_us: int) -> FrameInfo:
        return next((frame for frame in self._frames if frame.t_us >= t_us), self._frames[-1])

    def _last_until(self, t_us: int) -> FrameInfo:
        return next((frame for frame in reversed(self._frames) if frame.t_us <= t_us), self._frames[0])


def _time(frame: FrameInfo) -> int:
    return frame.t_us


def _start_of(item: _Item) -> int:
    return item.span.start_us if isinstance(item, CoverageGap) else item.start_us


def _end_of(item: _Item) -> int:
    return item.span.end_us if isinstance(item, CoverageGap) else item.end_us
