import json
import logging
from collections.abc import Iterator

import pytest

from livelens.logs import LogFormat, set_up_logging

log = logging.getLogger("livelens.test")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_line_for_people_carries_message_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("info", LogFormat.TEXT)
    log.info("camera is back", extra={"camera_id": "gate"})
    log.debug("not shown")
    written = capsys.readouterr().err
    assert "info" in written
    assert written.rstrip().endswith("camera is back camera_id=gate")


def test_a_record_for_machines_is_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("debug", LogFormat.JSON)
    try:
        raise ValueError("broken")
    except ValueError:
        log.warning("oh", exc_info=True, extra={"camera_id": "gate"})
    entry = json.loads(capsys.readouterr().err)
    assert (entry["level"], entry["message"], entry["camera_id"]) == ("warning", "oh", "gate")
    assert "ValueError: broken" in entry["exception"]
    assert entry["timestamp"].endswith("+00:00")
