"""Free ports of the loopback, for servers that cannot be told to take one themselves."""

import socket


def free_port() -> int:
    """Return a port of the loopback that nobody listens on now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
