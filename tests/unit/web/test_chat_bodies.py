from contextlib import suppress

import pytest

from web.chat_bodies import HeldBodies
from web.errors import TooManyUploads


def test_bodies_are_held_up_to_the_limit_all_together() -> None:
    bodies = HeldBodies(100)
    with bodies.hold() as one, bodies.hold() as other:
        one.grow(60)
        other.grow(40)
        with pytest.raises(TooManyUploads):
            other.grow(1)
        assert bodies.held_bytes == 100
    assert bodies.held_bytes == 0


def test_what_was_let_go_makes_room() -> None:
    bodies = HeldBodies(100)
    with bodies.hold() as one, bodies.hold() as other:
        one.grow(100)
        one.release()
        other.grow(100)
        assert bodies.held_bytes == 100
    assert bodies.held_bytes == 0


def test_a_body_is_let_go_whatever_happens() -> None:
    bodies = HeldBodies(100)
    with suppress(TooManyUploads), bodies.hold() as one:
        one.grow(100)
        one.grow(1)
    assert bodies.held_bytes == 0
