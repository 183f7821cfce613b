"""Lives to be deleted later: noted in two places where there are two, and a place that fails is not felt."""

import logging

import pytest

from core.errors import ServiceError
from featcache.ended import EndedLives, Life
from tests.support.windows import FIRST_LIFE, GATE, SECOND_LIFE, YARD


class Kept:
    """A durable list in memory, which can fail."""

    def __init__(self, *lives: Life) -> None:
        self.lives = list(lives)
        self.fails = False

    async def add(self, *life: str) -> None:
        self._check()
        self.lives.append(life)  # type: ignore[arg-type]  # as the protocol gives it

    async def remove(self, *life: str) -> None:
        self._check()
        self.lives.remove(life)  # type: ignore[arg-type]

    async def list(self) -> tuple[Life, ...]:
        self._check()
        return tuple(self.lives)

    def _check(self) -> None:
        if self.fails:
            raise ServiceError


async def test_what_is_left_to_be_done_outlives_the_process() -> None:
    kept = Kept()
    ended = EndedLives(kept)
    await ended.add((GATE, FIRST_LIFE))
    await ended.add((YARD, SECOND_LIFE))
    await ended.done((GATE, FIRST_LIFE))
    assert ended.due == ((YARD, SECOND_LIFE),)
    following = EndedLives(kept)
    await following.load()
    assert following.due == ended.due
    await following.done((YARD, SECOND_LIFE))
    assert kept.lives == []


async def test_a_place_that_fails_costs_only_what_it_would_have_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = Kept((GATE, FIRST_LIFE))
    kept.fails = True
    ended = EndedLives(kept)
    with caplog.at_level(logging.WARNING):
        await ended.load()
        await ended.add((YARD, FIRST_LIFE))
        assert ended.due == ((YARD, FIRST_LIFE),)
        await ended.done((YARD, FIRST_LIFE))
    assert ended.due == ()
    assert len(caplog.records) == 3


async def test_without_a_place_it_is_remembered_as_long_as_the_process_lives() -> None:
    ended = EndedLives(None)
    await ended.load()
    await ended.add((GATE, FIRST_LIFE))
    assert ended.due == ((GATE, FIRST_LIFE),)
    await ended.done((GATE, FIRST_LIFE))
    assert ended.due == ()
