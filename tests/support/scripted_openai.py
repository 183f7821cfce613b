"""A real HTTP server that speaks ``/v1/chat/completions`` and ``/v1/models`` as a test tells it to.

It runs in a thread of its own on a free loopback port, so that code on the test's loop, in a subprocess or in a
browser can all reach it. It remembers every request; pictures come back out of their data URLs as JPEG bytes.

    with ScriptedOpenAI(Reply.of("A car ", "at [14:03:05].")) as server:
        ...  # base address: server.url  (http://127.0.0.1:PORT/v1)
        assert [f.label for f in server.requests[0].frames] == ["[14:03:05]"]

By hand: ``python -m tests.support.scripted_openai --port 9000 "A car passed."``
"""

import argparse
import asyncio
import base64
import contextlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

MODEL = "scripted-vl"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the server.

    Attributes:
        deltas: Pieces of text, one server-sent event each; one counts as one token.
        raw_deltas: JSON string literals to send instead of ``deltas``, for odd escapes such as ``"\\ud83d"``.
        status, error: An HTTP error with an OpenAI-style body instead of an answer.
        retry_after_s: Sent as ``Retry-After`` with an error.
        drop_connection: Close without a byte of an answer.
        first_byte_s, delta_s: Wait before the head of the answer, and before each delta.
        cut_at: Close the connection before this delta, in mid-stream, without an end.
        error_at: Send an error object as an event before this delta, then close.
        done_after_error: End the stream properly after that, as vLLM does.
        stall_at: Before this delta, wait until ``release`` is called or the client leaves.
        never_streams: Answer in one piece of JSON though a stream was asked for.
        stall_after_end: Say why the answer ended, then neither close nor say anything more.
        usage: Send usage at the end where the request asked for it.
        usage_always: Send usage also where it was not asked for, beside the last choice.
        done: End with ``[DONE]``; some servers only close.
        finish: The reason sent at the end; None sends none.
        comments: Put keep-alive comments and blank lines between events.
        byte_by_byte: Send every byte as a chunk of its own.
        line_end: Between lines, ``\\n`` or ``\\r\\n``.
        space: Put a space after ``data:``, as most servers do.
        opening: Begin the stream with an event that names the role and has no words, as vLLM does.
        opening_fields: More fields of that event.
        error_code: The status that an error, in mid-stream or instead of an answer, says it has.
        figures: The usage sent, instead of one that counts.
    """

    deltas: tuple[str, ...] = ("Nothing ", "moved.")
    raw_deltas: tuple[str, ...] | None = None
    status: int = 200
    error: str = "scripted failure"
    retry_after_s: int | None = None
    drop_connection: bool = False
    first_byte_s: float = 0.0
    delta_s: float = 0.0
    cut_at: int | None = None
    error_at: int | None = None
    done_after_error: bool = False
    stall_at: int | None = None
    never_streams: bool = False
    stall_after_end: bool = False
    usage: bool = True
    usage_always: bool = False
    done: bool = True
    finish: str | None = "stop"
    comments: bool = False
    byte_by_byte: bool = False
    line_end: str = "\n"
    space: bool = True
    opening: bool = False
    opening_fields: dict[str, Any] = field(default_factory=dict)
    error_code: int | None = None
    figures: dict[str, Any] | None = None

    @classmethod
    def of(cls, *deltas: str) -> "Reply":
        """Return a reply that streams these pieces and stops."""
        return cls(deltas=deltas)


@dataclass(frozen=True, slots=True)
class SeenFrame:
    """A picture of a request, and the text part right before it.

    ``ref`` and ``grid`` are those of a frame by id, ``embeds`` its features where they came with it.
    """

    label: str
    jpeg: bytes = field(default=b"", repr=False)
    ref: str | None = None
    grid: tuple[int, ...] | None = None
    embeds: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """One request as it came in. ``body`` is the JSON, ``headers`` have names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at_mono_s: float

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages", []))

    @property
    def parts(self) -> list[dict[str, Any]]:
        """Return the parts of the last user message, in order; plain text is one part."""
        content = [m["content"] for m in self.messages if m["role"] == "user"][-1]
        return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)

    @property
    def system(self) -> str | None:
        return next((m["content"] for m in self.messages if m["role"] == "system"), None)

    @property
    def question(self) -> str:
        """Return the text of the last part."""
        return str(self.parts[-1]["text"])

    @property
    def frames(self) -> list[SeenFrame]:
        """Return all pictures of all messages, in order."""
        found: list[SeenFrame] = []
        for message in self.messages:
            content = message["content"] if isinstance(message["content"], list) else []
            before = ""
            for part in content:
                if part["type"] == "text":
                    before = part["text"]
                elif part["type"] == "image_embeds":
                    carried = part["image_embeds"]
                    embeds = carried.get("image_embeds")
                    grid = tuple(carried["image_grid_thw"])
                    found.append(
                        SeenFrame(
                            before.strip(),
                            ref=part["uuid"],
                            grid=grid,
                            embeds=base64.b64decode(embeds) if embeds else None,
                        )
                    )
                    before = ""
                else:
                    head, _, data = part["image_url"]["url"].partition(",")
                    assert head == "data:image/jpeg;base64", head
                    found.append(SeenFrame(before.strip(), base64.b64decode(data, validate=True)))
                    before = ""
        return found


class ScriptedOpenAI:
    """The server; use it as a context manager, or ``start`` and ``stop`` it.

    Give it one reply for all requests, several in order (the last one repeats), or a function of ``SeenRequest``.

    Attributes:
        requests: Chat requests so far, in order.
        aborted: Streams that the client left before their end.
        running: Chat requests begun and not ended.
        connections: Connections accepted so far.
    """

    def __init__(
        self,
        *replies: Reply | Callable[[SeenRequest], Reply],
        port: int = 0,
        models: Sequence[str] = (MODEL,),
        api_key: str | None = None,
    ) -> None:
        self._replies = list(replies) or [Reply()]
        self._port = port
        self._models = tuple(models)
        self._api_key = api_key
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.requests: list[SeenRequest] = []
        self.aborted = 0
        self.running = 0
        self.connections = 0

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        """Return the base address that clients are given, with ``/v1``."""
        return f"http://127.0.0.1:{self._port}/v1"

    def set_replies(self, *replies: Reply | Callable[[SeenRequest], Reply]) -> None:
        """Replace the replies for requests to come."""
        self._replies = list(replies)

    def release(self) -> None:
        """Let every stalled stream go on, now and later."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._released.set)

    def __enter__(self) -> "ScriptedOpenAI":
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen; returns when connections are accepted. After ``stop`` it listens on the same port again."""
        ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(ready)), name="scripted-openai"
        )
        self._thread.start()
        assert ready.wait(5), "the scripted server did not start"

    def stop(self) -> None:
        """Close every connection and join the thread."""
        if self._thread is None or self._loop is None:
            return
        with contextlib.suppress(RuntimeError):  # already over
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(5)
        assert not self._thread.is_alive(), "the scripted server did not stop"
        self._thread = None

    # ------------------------------------------------------------ in the server's thread; a kind of server may differ

    def card(self, model: str) -> dict[str, Any]:
        """Return what is listed of a model."""
        return {"id": model}

    async def other(self, request: SeenRequest) -> tuple[int, dict[str, Any]]:
        """Return the status and body for a path that is neither chat nor models."""
        return 404, error_body("no such path")

    def judged(self, request: SeenRequest, reply: Reply) -> Reply:
        """Return the reply that a request gets, such as a refusal instead of the one that was told."""
        return reply

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping, self._released = asyncio.Event(), asyncio.Event()
        server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stopping.wait()
        server.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._connection(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read_request(reader)) is not None:
                if not await self._respond(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, _ClientLeft):
            pass
        finally:
            writer.close()

    async def _respond(
        self, request: SeenRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; return whether the connection may carry another."""
        if self._api_key and request.headers.get("authorization") != f"Bearer {self._api_key}":
            await _send_json(writer, 401, error_body("bad api key"))
            return True
        if request.path.endswith("/models"):
            await _send_json(writer, 200, {"object": "list", "data": [self.card(m) for m in self._models]})
            return True
        if not request.path.endswith("/chat/completions"):
            status, body = await self.other(request)
            await _send_json(writer, status, body)
            return True
        self.requests.append(request)
        chosen = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        reply = self.judged(request, chosen if isinstance(chosen, Reply) else chosen(request))
        self.running += 1
        try:
            return await _Answer(request, reply, reader, writer, self._released).send()
        except (ConnectionError, _ClientLeft):
            self.aborted += 1
            raise
        finally:
            self.running -= 1


class _ClientLeft(Exception):
    """The other side closed while it was being answered."""


class _Answer:
    """Sends one reply to one chat request."""

    def __init__(
        self,
        request: SeenRequest,
        reply: Reply,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        released: asyncio.Event,
    ) -> None:
        self._request, self._reply = request, reply
        self._reader, self._writer, self._released = reader, writer, released
        literals = reply.raw_deltas or tuple(json.dumps(d, ensure_ascii=False) for d in reply.deltas)
        limit = request.body.get("max_tokens") or request.body.get("max_completion_tokens") or len(literals)
        self._literals = literals[:limit]
        self._finish = "length" if limit < len(literals) else reply.finish
        if stops := request.body.get("stop"):
            whole = "".join(json.loads(literal) for literal in self._literals)
            if ends := [at for stop in stops if (at := whole.find(stop)) >= 0]:
                self._literals, self._finish = (json.dumps(whole[: min(ends)]),), "stop"

    async def send(self) -> bool:
        """Return whether the connection may carry another request."""
        reply = self._reply
        await self._wait(reply.first_byte_s)
        if reply.drop_connection:
            return False
        if reply.status != 200:
            headers = {} if reply.retry_after_s is None else {"Retry-After": str(reply.retry_after_s)}
            await _send_json(self._writer, reply.status, error_body(reply.error, reply.error_code), headers)
            return True
        if reply.never_streams or not self._request.body.get("stream"):
            await _send_json(self._writer, 200, self._whole())
            return True
        return await self._stream()

    async def _stream(self) -> bool:
        reply = self._reply
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._writer.write(head.encode())
        await self._writer.drain()
        if reply.opening:
            first = json.loads(self._chunk('{"role":"assistant","content":""}', None))
            await self._event(json.dumps(first | reply.opening_fields))
        for number, literal in enumerate((*self._literals, None)):
            if reply.cut_at == number:
                self._writer.transport.abort()
                return False
            if reply.error_at == number:
                await self._event(json.dumps(error_body(reply.error, reply.error_code)))
                return await self._end() if reply.done_after_error else False
            if reply.stall_at == number:
                await self._or_client_leaves(self._released.wait())
            if literal is not None:
                await self._wait(reply.delta_s)
                await self._event(self._chunk(f'{{"role":"assistant","content":{literal}}}', None))
        usage = json.dumps(self._usage()) if reply.usage_always else None
        if self._finish is not None or usage:
            await self._event(self._chunk("{}", self._finish, usage))
        if reply.usage and (self._request.body.get("stream_options") or {}).get("include_usage"):
            await self._event(
                json.dumps({"object": "chat.completion.chunk", "choices": [], "usage": self._usage()})
            )
        if reply.stall_after_end:
            await self._or_client_leaves(self._released.wait())
        return await self._end()

    async def _end(self) -> bool:
        if self._reply.done:
            await self._event("[DONE]")
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        return True

    async def _event(self, data: str) -> None:
        reply = self._reply
        end = reply.line_end
        text = f"data:{' ' if reply.space else ''}{data}{end}{end}"
        if reply.comments:
            text = f": keep-alive{end}{end}event: message{end}{text}{end}"
        payload = text.encode()
        pieces = [payload[i : i + 1] for i in range(len(payload))] if reply.byte_by_byte else [payload]
        for piece in pieces:
            self._writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await self._writer.drain()
            if reply.byte_by_byte:
                await asyncio.sleep(0)

    @staticmethod
    def _chunk(delta: str, finish: str | None, usage: str | None = None) -> str:
        tail = f',"usage":{usage}' if usage else ""
        return (
            f'{{"id":"c1","object":"chat.completion.chunk","model":"{MODEL}","choices":'
            f'[{{"index":0,"delta":{delta},"finish_reason":{json.dumps(finish)}}}]{tail}}}'
        )

    def _whole(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": "".join(json.loads(text) for text in self._literals)}
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        return {
            "id": "c1",
            "object": "chat.completion",
            "model": MODEL,
            "choices": [choice],
            "usage": self._usage(),
        }

    def _usage(self) -> dict[str, Any]:
        if self._reply.figures is not None:
            return self._reply.figures | {"completion_tokens": len(self._literals)}
        prompt = 10 + 32 * len(self._request.frames)
        said = len(self._literals)
        return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}

    async def _wait(self, seconds: float) -> None:
        await self._or_client_leaves(asyncio.sleep(seconds))

    async def _or_client_leaves(self, waiting: Any) -> None:
        """Await something, but no longer than the client stays."""
        gone = asyncio.ensure_future(self._reader.read(1))
        due = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait({gone, due}, return_when=asyncio.FIRST_COMPLETED)
            if not due.done():
                raise _ClientLeft
        finally:
            for task in (gone, due):
                task.cancel()
            await asyncio.gather(gone, due, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader) -> SeenRequest | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return SeenRequest(method, path, headers, json.loads(body) if body else {}, time.monotonic())


async def _send_json(
    writer: asyncio.StreamWriter, status: int, body: dict[str, Any], headers: dict[str, str] | None = None
) -> None:
    payload = json.dumps(body).encode()
    lines = [
        f"HTTP/1.1 {status} Scripted",
        "Content-Type: application/json",
        f"Content-Length: {len(payload)}",
    ]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + payload)
    await writer.drain()


def error_body(message: str, code: int | None = None) -> dict[str, Any]:
    """Return an error as OpenAI's servers write it."""
    return {"error": {"message": message, "type": "scripted", "code": code}}


def main() -> None:
    """Serve one fixed answer until interrupted; prints the address."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delta-s", type=float, default=0.0)
    parser.add_argument("words", nargs="?", default="Nothing moved.")
    args = parser.parse_args()
    words = tuple(f"{word} " for word in args.words.split())
    with ScriptedOpenAI(Reply(deltas=words, delta_s=args.delta_s), port=args.port) as server:
        print(server.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
