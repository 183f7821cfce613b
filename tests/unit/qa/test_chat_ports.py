from concurrent.futures import ThreadPoolExecutor

from core.clock import ManualClock
from core.meter import Metric
from qa.chat_ports import ChatParts


def test_only_who_answers_and_where_pictures_are_decoded_must_be_named() -> None:
    with ThreadPoolExecutor(1) as executor:
        parts = ChatParts(lambda: None, lambda: None, executor, ManualClock())
    assert parts.knows is None
    parts.meter.count(Metric.CHATS, outcome="ok")
