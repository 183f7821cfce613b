"""Measurements in Chinese."""

import pytest

from core.records import Colour, Side
from qa.measured_words import Ending, Rest
from qa.measured_zh import ChineseWords
from tests.unit.qa.test_measured_en import story

WORDS = ChineseWords()


def test_what_was_not_seen_to_come_or_go_appeared_and_was_last_seen() -> None:
    assert WORDS.one(story()) == (
        "[14:00:01] 有物体出现，[14:00:09] 最后一次看到其移动（历时 8 秒，占画面不到 1%）。"
    )


def test_several_things_are_told_one_by_one() -> None:
    told = WORDS.several(
        "[14:00:01]",
        "[14:00:09]",
        [
            story(entered=Side.TOP, left=Side.BOTTOM, ending=Ending.LEFT, colour=Colour.BLUE),
            story(present=True, ending=Ending.STILL_THERE),
        ],
    )
    assert told == (
        "[14:00:01] 至 [14:00:09] 有两个物体移动：[14:00:01] 一个蓝色物体从上方进入画面，[14:00:09] 从下方离开；"
        "[14:00:01] 一个物体已在画面中，[14:00:09] 仍在画面中。"
    )


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (300_000, "不到 1 秒"),
        (9_000_000, " 9 秒"),
        (125_000_000, " 2 分 5 秒"),
        (7_500_000_000, " 2 小时 5 分钟"),
    ],
)
def test_lengths_are_short_and_exact(us: int, text: str) -> None:
    assert f"历时{text}，" in WORDS.one(story(duration_us=us))


def test_the_rest_is_counted_by_sort() -> None:
    assert WORDS.rest(Rest(12, 0, 2), "[a]", "[b]") == "[a] 至 [b] 另有 12 次移动、2 次无信号。"
