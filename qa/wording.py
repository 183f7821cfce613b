"""What livelens itself says: why a span has no answer, and what to know about an answer. English and Chinese. Pure."""

from collections.abc import Sequence
from typing import assert_never
from zoneinfo import ZoneInfo

from core.records import GapReason
from core.spans import Span
from featcache.window import Head
from qa.answers import Coverage, CoverageGap, Language, Outcome
from qa.when_clock import Note, NoteKind
from qa.window_text import clock_text, offset_text, window_text

_EN, _ZH = Language.EN, Language.ZH

MOST_GAPS = 3
"""How many gaps are named at most; coverage has them all."""

_REASONS = {
    GapReason.UNREACHABLE: ("camera did not answer", "摄像头无响应"),
    GapReason.STALLED: ("camera was connected but sent nothing", "摄像头已连接但没有画面"),
    GapReason.AUTH_FAILED: ("camera refused the password", "摄像头拒绝了密码"),
    GapReason.NO_VIDEO: ("camera offered no video", "摄像头没有视频流"),
    GapReason.DAMAGED: ("pictures were damaged", "画面数据损坏"),
    GapReason.ENDED: ("the source had ended", "视频源已结束"),
    GapReason.DISABLED: ("camera was switched off", "摄像头已停用"),
    GapReason.SERVICE_STOPPED: ("livelens was not running", "livelens 未运行"),
}


def gap_reason(reason: GapReason, language: Language) -> str:
    """Return why nothing was seen, in words."""
    return _REASONS[reason][language is _ZH]


def gap_text(span: Span, reason: GapReason, zone: ZoneInfo, *, now_us: int, language: Language) -> str:
    """Return one gap: ``No signal 14:02:10-14:02:51 (camera did not answer)``."""
    start, end = (clock_text(t_us, zone, now_us=now_us) for t_us in (span.start_us, span.end_us))
    why = gap_reason(reason, language)
    return f"No signal {start}-{end} ({why})" if language is _EN else f"{start}-{end} 无信号（{why}）"


def outcome_sentences(
    outcome: Outcome, coverage: Coverage, *, head: Head, zone: ZoneInfo, now_us: int, language: Language
) -> tuple[str, ...]:
    """Return what to say of a span that cannot be answered from: what was missing, and what to try.

    ``outcome`` is EMPTY, FUTURE, TOO_OLD or GAP_ONLY; others have no such sentences.
    """
    asked = window_text(coverage.asked, zone, now_us=now_us)
    match outcome:
        case Outcome.FUTURE:
            now = clock_text(now_us, zone, now_us=now_us)
            if language is _EN:
                return (
                    f"{asked} has not begun; it is {now} now.",
                    "Ask about a time before now, or ask again then.",
                )
            return (f"{asked} 还没有到，现在是 {now}。", "请问此前的时间，或到时再问。")
        case Outcome.TOO_OLD:
            return _too_old(asked, head, zone, now_us, language)
        case Outcome.GAP_ONLY:
            return _gap_only(asked, coverage.gaps, head, zone, now_us, language)
        case Outcome.EMPTY:
            return _empty(asked, coverage, head, zone, now_us, language)
        case Outcome.OK | Outcome.SHORTENED | Outcome.CANCELLED:
            return ()
    assert_never(outcome)


def unseen_texts(
    coverage: Coverage, *, head: Head, zone: ZoneInfo, now_us: int, language: Language
) -> tuple[str, ...]:
    """Return what of an answered span was not seen: what has aged out, and its longest gaps."""
    told: list[str] = []
    evicted_us = coverage.evicted_before_us
    if evicted_us is not None and coverage.asked.start_us < evicted_us:
        since = clock_text(head.oldest_us or evicted_us, zone, now_us=now_us)
        told.append(
            f"Nothing before {since} is held." if language is _EN else f"{since} 之前的画面已不再保留。"
        )
    longest = sorted(coverage.gaps, key=lambda gap: -gap.span.duration_us)[:MOST_GAPS]
    for gap in sorted(longest, key=lambda gap: gap.span):
        text = gap_text(gap.span, gap.reason, zone, now_us=now_us, language=language)
        told.append(f"{text}." if language is _EN else f"{text}。")
    return tuple(told)


def note_text(note: Note, zone: ZoneInfo, language: Language) -> str:
    """Return what to tell the asker about a time that did not exist, came twice, or was completed."""
    times = [f"{clock_text(t_us, zone, now_us=0)} ({offset_text(t_us, zone)})" for t_us in note.instants_us]
    match note.kind:
        case NoteKind.NONEXISTENT:
            if language is _EN:
                return f"{note.said} does not exist in {zone.key}: clocks went forward over it. This is about {times[0]}."
            return f"{zone.key} 当天没有 {note.said}：时钟拨快时跳过了它。以下按 {times[0]} 回答。"
        case NoteKind.AMBIGUOUS:
            if language is _EN:
                return f"{note.said} came twice in {zone.key}, as clocks went back: {times[0]} and {times[-1]}. Both are covered."
            return (
                f"{zone.key} 当天有两个 {note.said}（时钟拨慢）：{times[0]} 和 {times[-1]}。两者都包括在内。"
            )
        case NoteKind.ASSUMED:
            if language is _EN:
                return f"{note.said} was taken as {times[0]}."
            return f"{note.said} 按 {times[0]} 理解。"
    assert_never(note.kind)


def thinned_text(used: int, held: int, language: Language) -> str:
    """Return how many of how many frames were looked at."""
    return (
        f"{used} of {held} frames were looked at." if language is _EN else f"查看了 {held} 帧中的 {used} 帧。"
    )


def halved_text(model: str, language: Language) -> str:
    """Return that a model holds less than was chosen for it, so that it was shown less."""
    if language is _EN:
        return f"More pictures than these do not fit {model}."
    return f"更多画面超出了 {model} 的容量。"


def degraded_text(model: str, language: Language) -> str:
    """Return that a model is away and motion was measured instead."""
    if language is _EN:
        return f"{model} did not answer; this is measured from motion alone."
    return f"{model} 没有回答；以下仅由运动测量得出。"


def own_world_text(model: str, language: Language) -> str:
    """Return what a model that knows one world only knows."""
    if language is _EN:
        return f"{model} knows only the scenes that livelens generates."
    return f"{model} 只认识 livelens 自己生成的画面。"


def foreign_text(model: str, language: Language) -> str:
    """Return that a span holds pictures that are not of the model's world, and what to do about it."""
    if language is _EN:
        return (
            f"{model} knows only the scenes that livelens generates, and there are other pictures here; this is "
            "measured from motion alone. Name a model with --model or --model-url to have them described."
        )
    return (
        f"{model} 只认识 livelens 自己生成的画面，而这里有其他画面；以下仅由运动测量得出。"
        "如需描述画面，请用 --model 或 --model-url 指定模型。"
    )


def alone_text(model: str, language: Language) -> str:
    """Return that a model looks at one camera at a time."""
    if language is _EN:
        return f"{model} looks at one camera at a time; this is measured from motion alone."
    return f"{model} 一次只能看一个摄像头；以下仅由运动测量得出。"


def no_frames_text(model: str, language: Language) -> str:
    """Return that no picture of the span can be shown to the model."""
    if language is _EN:
        return f"No picture of this span is ready for {model}; this is measured from motion alone."
    return f"这段时间没有可供 {model} 查看的画面；以下仅由运动测量得出。"


def cut_text(model: str, language: Language) -> str:
    """Return that a model failed in the middle of its answer."""
    return (
        f"{model} stopped before the end of its answer." if language is _EN else f"{model} 在回答中途停止。"
    )


def limit_text(max_tokens: int, language: Language) -> str:
    """Return that an answer reached its limit."""
    return (
        f"Cut at the limit of {max_tokens} tokens."
        if language is _EN
        else f"已达到 {max_tokens} 个词元的上限。"
    )


def _too_old(asked: str, head: Head, zone: ZoneInfo, now_us: int, language: Language) -> tuple[str, ...]:
    if head.oldest_us is None:
        first = (
            f"Pictures of {asked} are no longer held." if language is _EN else f"{asked} 的画面已不再保留。"
        )
        return (first, _try(head, zone, now_us, language))
    since = clock_text(head.oldest_us, zone, now_us=now_us)
    if language is _EN:
        return (
            f"Pictures of {asked} are no longer held.",
            f"The window reaches back to {since}; ask about a time after that.",
        )
    return (f"{asked} 的画面已不再保留。", f"目前最早可查到 {since}，请问此后的时间。")


def _gap_only(
    asked: str, gaps: Sequence[CoverageGap], head: Head, zone: ZoneInfo, now_us: int, language: Language
) -> tuple[str, ...]:
    shown = [
        gap_text(gap.span, gap.reason, zone, now_us=now_us, language=language) for gap in gaps[:MOST_GAPS]
    ]
    if language is _EN:
        first = f"Nothing could be seen in {asked}."
        return (first, "; ".join(shown) + ".", _try(head, zone, now_us, language))
    return (f"{asked} 期间看不到画面。", "；".join(shown) + "。", _try(head, zone, now_us, language))


def _empty(
    asked: str, coverage: Coverage, head: Head, zone: ZoneInfo, now_us: int, language: Language
) -> tuple[str, ...]:
    first = f"No picture is held of {asked}." if language is _EN else f"没有 {asked} 的画面。"
    if head.oldest_us is not None and coverage.asked.end_us <= head.oldest_us:
        oldest = clock_text(head.oldest_us, zone, now_us=now_us)
        if language is _EN:
            return (first, f"The first picture is of {oldest}; ask about a time after that.")
        return (first, f"最早的画面是 {oldest}，请问此后的时间。")
    return (first, _try(head, zone, now_us, language))


def _try(head: Head, zone: ZoneInfo, now_us: int, language: Language) -> str:
    if head.newest_us is None:
        if language is _EN:
            return "The camera has not delivered a picture yet; look at its state, or ask again in a moment."
        return "摄像头还没有送来画面，请查看其状态，或稍后再问。"
    newest = clock_text(head.newest_us, zone, now_us=now_us)
    age = _age(now_us - head.newest_us, language)
    if language is _EN:
        return f"The newest picture is of {newest}, {age} ago; ask about another time that was seen."
    return f"最新的画面是 {newest}（{age}前），请问能看到画面的其他时间。"


def _age(us: int, language: Language) -> str:
    seconds = max(0, us) // 1_000_000
    for length, en, zh in ((86_400, "d", "天"), (3_600, "h", "小时"), (60, "min", "分钟")):
        if seconds >= length:
            return f"{seconds // length} {en if language is _EN else zh}"
    return f"{seconds} {'s' if language is _EN else '秒'}"
