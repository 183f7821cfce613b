"""An answer while it is told."""

from core.clock import ManualClock
from core.ids import CameraId, RequestId, make_frame_ref
from core.meter import Metric, TallyMeter
from qa.answers import UsedFrame
from qa.telling import Stopwatch, Telling
from tests.support.qa_stage import BERLIN, local_us

T_US = local_us("2026-11-30 14:03:05")


def test_stages_are_timed_each_on_its_own_and_words_from_the_start() -> None:
    clock = ManualClock()
    received_us = clock.now_us()
    clock.advance(5_000)
    watch = Stopwatch(clock, received_us)
    clock.advance(1_000)
    watch.heard()
    clock.advance(20_000)
    assert watch.fetched() == 0.02
    clock.advance(100_000)
    watch.first_word()
    clock.advance(7_000)
    assert watch.next_word() == 0.007
    clock.advance(3_000)
    done = watch.done()
    assert (done.wait_ms, done.fetch_ms, done.prefill_ms) == (6.0, 20.0, 100.0)
    assert (done.first_word_ms, done.total_ms) == (126.0, 136.0)


def test_a_question_received_ahead_of_the_clock_has_not_waited() -> None:
    clock = ManualClock()
    assert Stopwatch(clock, clock.now_us() + 5).done().total_ms == 0.0


def test_text_and_citations_are_kept_and_counted() -> None:
    meter = TallyMeter()
    used = UsedFrame(make_frame_ref(CameraId("gate"), T_US), T_US, "[14:03:05]")
    telling = Telling(RequestId("req_1"), (used,), BERLIN, meter)
    assert telling.say("At [14:03").text == "At [14:03"
    telling.say(":05] and [14:09:00].")
    told = telling.told()
    assert told.text == "At [14:03:05] and [14:09:00]."
    assert [citation.verified for citation in told.citations] == [True, False]
    assert meter.counts == {
        (Metric.CITATIONS, (("verified", "true"),)): 1,
        (Metric.CITATIONS, (("verified", "false"),)): 1,
    }


def test_what_is_said_from_now_on_is_checked_against_other_frames() -> None:
    used = UsedFrame(make_frame_ref(CameraId("gate"), T_US), T_US, "[14:03:05]")
    telling = Telling(RequestId("req_1"), (used,), BERLIN, TallyMeter())
    telling.say("[14:03:05]")
    telling.look_at(())
    telling.say(" [14:03:05]")
    assert [(c.verified, c.offset) for c in telling.told().citations] == [(True, 0), (False, 11)]
