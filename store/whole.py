"""A call to the database that has begun is finished, also when its caller is cancelled.

A driver that is cancelled between BEGIN and the end leaves a connection behind that may hold SQLite's write lock
until the garbage collector finds it (seen on a busy machine: every later write failed). So a cancelled caller waits
for its short transaction, which either happens whole or not at all.
"""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def whole(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Make ``method`` run to its end whatever happens to its caller, who is then cancelled after it."""

    @functools.wraps(method)
    async def finished(*args: P.args, **kwargs: P.kwargs) -> T:
        work = asyncio.create_task(method(*args, **kwargs), name=f"store:{method.__name__}")
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            if not work.cancelled():
                work.exception()  # nobody is left to hear of it
            raise

    return finished
