import random
import socket

import pytest

from livelens.ports import free_port, taken


def test_a_free_port_can_be_listened_on_and_is_none_of_those_for_outgoing_connections() -> None:
    for host in ("127.0.0.1", "::1"):
        port = free_port(host)
        assert port < 32_768
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            pass


def test_a_port_that_is_taken_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port()))
        port = taken.getsockname()[1]
        other = free_port()
        monkeypatch.setattr(random, "sample", lambda _ports, _count: [port, other])
        assert free_port() == other
        monkeypatch.setattr(random, "sample", lambda _ports, _count: [port])
        with pytest.raises(OSError, match="no port from"):
            free_port()


def test_an_address_of_another_machine_is_refused_at_once() -> None:
    with pytest.raises(OSError, match="assign requested address"):
        free_port("192.0.2.1")


def test_a_port_is_taken_while_somebody_listens_and_free_when_nobody_does() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert taken("127.0.0.1", port) == "Address already in use"
    assert taken("127.0.0.1", port) is None
    assert taken("203.0.113.1", port) is not None  # not this machine's
