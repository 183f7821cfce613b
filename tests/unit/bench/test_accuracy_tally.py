import math
from random import Random

import pytest

from bench.accuracy_tally import Answered, Shown, baseline, difference, figures, tables, wilson
from models.builtin.things import PICTURE_SIZES, Ground, ThingColour, ThingShape
from models.builtin.wording import Asked, Tongue


def answered(
    kind: Asked = Asked.COLOUR,
    *,
    frames: int = 8,
    answer: str = "Red.",
    exact: bool = True,
    true: bool | None = None,
    tongue: Tongue = Tongue.EN,
) -> Answered:
    return Answered(
        kind, tongue, "nothing", frames, 0, "What?", answer, answer, exact, exact if true is None else true
    )


def test_the_interval_of_a_share_is_wilsons() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(100, 100)[1] == pytest.approx(1.0)


def test_the_interval_of_a_difference_is_newcombes() -> None:
    low, high = difference((56, 70), (48, 80))  # the paper's first example
    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)


def test_the_interval_covers_the_true_share_as_often_as_it_says() -> None:
    random = Random(1)
    hits = 0
    for _ in range(500):
        low, high = wilson(sum(random.random() < 0.9 for _ in range(80)), 80)
        hits += low <= 0.9 <= high
    assert 0.92 <= hits / 500 <= 0.98


def test_the_baseline_always_gives_the_most_frequent_answer_of_the_language() -> None:
    answers = [answered(answer="Red."), answered(answer="Red."), answered(answer="Blue.")]
    answers.append(answered(answer="红色。", tongue=Tongue.ZH))
    assert baseline(answers) == pytest.approx(3 / 4)
    assert baseline([]) == 0


@pytest.mark.parametrize(
    ("kind", "frames", "judged"),
    [
        (Asked.COLOUR, 1, True),
        (Asked.COLOUR, 17, False),
        (Asked.HAPPENED, 3, False),
        (Asked.HAPPENED, 4, True),
        (Asked.HAPPENED, 16, True),
        (Asked.HAPPENED, 17, False),
    ],
)
def test_targets_hold_for_the_windows_that_they_name(kind: Asked, frames: int, judged: bool) -> None:
    assert answered(kind, frames=frames).judged is judged


def test_every_kind_has_its_rows_and_what_is_not_judged_stays_out_of_them() -> None:
    answers = [answered(), answered(exact=False, true=True), answered(frames=40, exact=False)]
    rows = {figure.name: figure for figure in figures(answers)}
    assert len(rows) == 2 * len(Asked)
    assert (rows["accuracy.colour.exact"].value, rows["accuracy.colour.exact"].n) == (0.5, 2)
    assert rows["accuracy.colour.true"].value == 1
    assert rows["accuracy.where.exact"].n == 0
    assert not math.isnan(rows["accuracy.where.exact"].value)


def test_the_tables_tell_of_windows_languages_and_words() -> None:
    text = tables([answered(), answered(Asked.HAPPENED, frames=40, exact=False, tongue=Tongue.ZH)])
    for piece in ("17 to 64", "majority %", "en", "zh", "nothing", "100.0 of 1", "0.0 of 1"):
        assert piece in text


def test_what_was_shown_least_is_told_as_a_share_of_an_even_share() -> None:
    shown = Shown()
    for counts, values in (
        (shown.objects, range(5)),
        (shown.colours, ThingColour),
        (shown.shapes, ThingShape),
        (shown.grounds, Ground),
        (shown.sizes, PICTURE_SIZES),
    ):
        counts.update({value: 10 for value in values})  # type: ignore[misc,attr-defined]  # of several key types
    assert shown.least_share()[0] == pytest.approx(1)
    del shown.shapes[ThingShape.CROSS]
    assert shown.least_share() == (0, "cross")
    assert "640x360 10" in shown.told()
