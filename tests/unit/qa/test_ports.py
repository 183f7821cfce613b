"""What asking is handed."""

from core.ids import RequestId
from qa.ports import nothing_encoded
from tests.support.qa_stage import Stage


async def test_parts_say_nothing_was_encoded_unless_told_otherwise() -> None:
    assert nothing_encoded(RequestId("req_1")) == 0
    assert (await Stage.open()).parts().encoded_for(RequestId("req_1")) == 0
