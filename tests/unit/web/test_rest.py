import json

import pytest
from pydantic import BaseModel, ValidationError

from web import rest, wire


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (rest.NewCameraForm, {"id": "a"}),
        (rest.NewCameraForm, {"id": "a", "source": {"url": "rtsp://h"}, "color": "red"}),
        (rest.NewCameraForm, {"id": "a", "source": "rtsp://h"}),
        (rest.NewCameraForm, {"id": "a", "name": "", "source": {"url": "rtsp://h"}}),
        (rest.CameraPatchForm, {"name": "a\0b"}),
        (rest.CameraPatchForm, {"name": "a\ud800"}),
        (rest.CameraPatchForm, {"id": "b"}),
        (rest.CameraPatchForm, {"enabled": 1}),
        (rest.ProbeForm, {"source": {"url": "   "}}),
        (rest.ProbeForm, {"source": {"url": "x" * 2049}}),
        (rest.ProbeForm, {"source": {"url": "rtsp://h", "transport": "TCP"}}),
    ],
)
def test_a_form_with_a_wrong_field_is_refused(form: type[BaseModel], body: object) -> None:
    with pytest.raises(ValidationError):
        form.model_validate(body)


def test_a_patch_says_only_what_changes() -> None:
    patch = rest.CameraPatchForm.model_validate({"name": " Gate "})
    assert (patch.name, patch.zone, patch.enabled, patch.source) == ("Gate", None, None, None)


def test_an_open_gap_travels_without_an_end() -> None:
    gap = rest.GapView.model_validate({"from": 1, "to": None, "reason": "stalled"})
    assert json.loads(wire.to_json(gap)) == {
        "from": "1970-01-01T00:00:00.000001Z",
        "to": None,
        "reason": "stalled",
    }


def test_a_password_does_not_show_where_a_form_is_printed() -> None:
    form = rest.SourceForm(url="rtsp://a/b", username="admin", password="s3cret")
    assert "s3cret" not in repr(form)
