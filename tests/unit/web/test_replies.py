import json

import pytest

from web import rest
from web.replies import FOR_EVER, json_reply, matches, picture_reply


def test_json_is_never_kept() -> None:
    reply = json_reply(rest.DeletedView(deleted_frames=3), 201, headers={"Location": "/x"})
    assert (reply.status_code, json.loads(bytes(reply.body))) == (201, {"deleted_frames": 3})
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["location"] == "/x"


def test_a_picture_has_a_tag_of_its_bytes_and_is_not_sent_twice() -> None:
    first = picture_reply(b"jpeg", known=None, cache=FOR_EVER)
    assert (first.status_code, bytes(first.body), first.media_type) == (200, b"jpeg", "image/jpeg")
    again = picture_reply(b"jpeg", known=first.headers["etag"], cache=FOR_EVER)
    assert (again.status_code, bytes(again.body)) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert picture_reply(b"other", known=first.headers["etag"], cache=FOR_EVER).status_code == 200


@pytest.mark.parametrize(
    ("known", "same"),
    [
        (None, False),
        ("", False),
        ('"b"', False),
        ('"a"', True),
        ('W/"a"', True),
        ('"b", "a"', True),
        ("*", True),
    ],
)
def test_tags_are_compared_as_http_says(known: str | None, same: bool) -> None:
    assert matches(known, '"a"') is same
