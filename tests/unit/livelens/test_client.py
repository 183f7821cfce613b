import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from livelens.client import Client
from livelens.errors import NoService, ServiceRefused

_STREAM = 'event: answer.started\ndata: {"id": "q"}\n\n: still here\n\nevent: answer.delta\ndata: {"text": "嗨"}\n\n'


class _Service(BaseHTTPRequestHandler):
    def _reply(self, status: int, kind: str, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self) -> None:
        if self.path == "/api/v1/cameras":
            self._reply(200, "application/json", '{"cameras": []}')
        elif self.path == "/api/v1/html":
            self._reply(502, "text/html", "<h1>a proxy</h1>")
        else:
            problem = {"code": "unknown_camera", "title": "Not found", "detail": "there is no camera 'x'"}
            self._reply(404, "application/problem+json", json.dumps(problem))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._reply(200, "text/event-stream", _STREAM)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Service) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_call_returns_the_reply(url: str) -> None:
    with Client(url + "/") as client:
        assert client.call("GET", "/cameras") == {"cameras": []}


def test_an_error_of_the_service_keeps_its_sentence_and_code(url: str) -> None:
    with Client(url) as client, pytest.raises(ServiceRefused, match="there is no camera 'x'") as caught:
        client.call("GET", "/cameras/x")
    assert caught.value.service_code == "unknown_camera"


def test_an_error_that_is_not_ours_is_shown_as_it_is(url: str) -> None:
    with Client(url) as client, pytest.raises(ServiceRefused, match="a proxy"):
        client.call("GET", "/html")


def test_an_answer_arrives_message_by_message(url: str) -> None:
    with Client(url) as client:
        heard = list(client.ask({"text": "?"}))
    assert heard == [("answer.started", {"id": "q"}), ("answer.delta", {"text": "嗨"})]


def test_where_nobody_listens_the_error_says_how_to_start_one() -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(NoService, match="livelens demo"):
        client.call("GET", "/cameras")
