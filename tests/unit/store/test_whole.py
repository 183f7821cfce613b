import asyncio

import pytest

from store.whole import whole


class Ledger:
    """Writes slowly."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.written: list[str] = []

    @whole
    async def write(self, line: str) -> int:
        await self.may_end.wait()
        if not line:
            raise ValueError("an empty line")
        self.written.append(line)
        return len(self.written)


async def test_a_call_gives_its_result_or_its_error() -> None:
    ledger = Ledger()
    ledger.may_end.set()
    assert await ledger.write("one") == 1
    with pytest.raises(ValueError, match="an empty line"):
        await ledger.write("")


async def test_a_cancelled_caller_is_cancelled_only_after_its_work_is_done() -> None:
    ledger = Ledger()
    before = asyncio.all_tasks()
    caller = asyncio.create_task(ledger.write("one"))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.sleep(0)
    assert not caller.done()
    ledger.may_end.set()
    await asyncio.wait([caller])
    assert caller.cancelled()
    assert ledger.written == ["one"]
    assert asyncio.all_tasks() == before


async def test_an_error_that_nobody_waits_for_any_more_is_not_left_behind() -> None:
    ledger = Ledger()
    caller = asyncio.create_task(ledger.write(""))
    await asyncio.sleep(0)
    caller.cancel()
    ledger.may_end.set()
    await asyncio.wait([caller])
    assert caller.cancelled()
