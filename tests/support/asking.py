"""Asking a running service over its WebSocket, as a program would."""

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

Json = dict[str, Any]


@dataclass(slots=True)
class Heard:
    """One whole answer. ``first_word_s`` counts from sending the question."""

    started: Json = field(default_factory=dict)
    text: str = ""
    deltas: int = 0
    done: Json = field(default_factory=dict)
    error: Json = field(default_factory=dict)
    first_word_s: float = 0.0

    def times(self) -> list[str]:
        """Return the labels in the text, without brackets, in order."""
        return re.findall(r"\[((?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(?:\.\d)?)\]", self.text)


def socket(url: str) -> connect:
    """Open ``livelens.v1`` at a service's http address; use with ``async with``."""
    return connect(
        url.replace("http", "ws", 1) + "/api/v1/live",
        subprotocols=["livelens.v1"],
        max_size=8 << 20,
        proxy=None,
    )


async def ask_on(connection: ClientConnection, question: Json, *, within_s: float = 30.0) -> Heard:
    """Ask on an open connection and return the whole answer, or the error in its place."""
    question = {"type": "ask", "id": "q1", **question}
    await connection.send(json.dumps(question))
    heard, began = Heard(), time.perf_counter()
    async with asyncio.timeout(within_s):
        async for raw in connection:
            message = json.loads(raw)
            if message.get("id") != question["id"]:
                continue
            match message["type"]:
                case "answer.started":
                    heard.started = message
                case "answer.delta":
                    if message["text"] and not heard.text:
                        heard.first_word_s = time.perf_counter() - began
                    heard.text += message["text"]
                    heard.deltas += 1
                case "answer.done":
                    heard.done = message
                    return heard
                case "error":
                    heard.error = message
                    return heard
    raise AssertionError("the connection ended before the answer did")


async def ask(url: str, question: Json, *, within_s: float = 30.0) -> Heard:
    """Ask one question on a connection of its own."""
    async with socket(url) as connection:
        return await ask_on(connection, question, within_s=within_s)


def to_us(text: str) -> int:
    """Return an RFC 3339 time of the wire in µs."""
    at = datetime.fromisoformat(text)
    return int(at.replace(microsecond=0).timestamp()) * 1_000_000 + at.microsecond


def rfc3339(t_us: int) -> str:
    """Return µs as the wire writes them."""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=t_us)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
