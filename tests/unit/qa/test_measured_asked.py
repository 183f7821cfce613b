"""What sort of measurement a question is after."""

import pytest

from qa.measured_asked import Asked, asked_for


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("What just happened at the gate?", Asked.ACCOUNT),
        ("刚刚发生了什么？", Asked.ACCOUNT),
        ("When did the van leave?", Asked.ACCOUNT),
        ("How many people came in the last 5 minutes?", Asked.COUNT),
        ("最近五分钟来了多少人？", Asked.COUNT),
        ("有几辆车？", Asked.COUNT),
        ("What color is the car?", Asked.COLOUR),
        ("那辆车是什么颜色的", Asked.COLOUR),
        ("How long did it stay?", Asked.DURATION),
        ("停了多久", Asked.DURATION),
        ("Which direction did it go?", Asked.WAY),
        ("Where did the red one go?", Asked.WAY),
        ("他往哪边走了？", Asked.WAY),
        ("Is there anything in the room?", Asked.PRESENCE),
        ("Is someone at the door?", Asked.PRESENCE),
        ("Is it still there?", Asked.PRESENCE),
        ("现在有没有人？", Asked.PRESENCE),
        ("门口有人吗", Asked.PRESENCE),
    ],
)
def test_questions_are_told_apart_in_both_languages(text: str, asked: Asked) -> None:
    assert asked_for(text) is asked
