"""The command line's side of a running service: a few REST calls and the stream of one answer."""

import json
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import httpx2

from livelens.errors import NoService, ServiceRefused

Json = dict[str, Any]  # replies of our own API; docs/api.md gives their shapes

DEFAULT_URL = "http://127.0.0.1:8080"


class Client:
    """Talks to one service. Every failure is a ServiceError with a sentence."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._http = httpx2.Client(
            base_url=f"{self._url}/api/v1", timeout=httpx2.Timeout(30.0, read=None), trust_env=False
        )

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def call(self, method: str, path: str, body: Json | None = None) -> Json:
        """Send one request and return its JSON reply."""
        try:
            reply = self._http.request(method, path, json=body)
        except httpx2.HTTPError as error:
            raise NoService(self._url, str(error) or type(error).__name__) from error
        if reply.is_error:
            raise self._refusal(reply)
        found: Json = reply.json() if reply.content else {}
        return found

    def ask(self, body: Json) -> Iterator[tuple[str, Json]]:
        """Ask one question and yield ``(type, message)`` as they arrive."""
        try:
            with self._http.stream("POST", "/ask", json=body) as reply:
                if reply.is_error:
                    reply.read()
                    raise self._refusal(reply)
                name = ""
                for line in reply.iter_lines():
                    field, _, value = line.partition(":")
                    if field == "event":
                        name = value.strip()
                    elif field == "data":
                        yield name, json.loads(value)
        except httpx2.HTTPError as error:
            raise NoService(self._url, str(error) or type(error).__name__) from error

    @staticmethod
    def _refusal(reply: httpx2.Response) -> ServiceRefused:
        try:
            problem = reply.json()
            return ServiceRefused(problem["code"], problem.get("detail") or problem["title"])
        except (ValueError, KeyError, TypeError):
            return ServiceRefused(f"http_{reply.status_code}", reply.text[:200])
