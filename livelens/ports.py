"""Free ports, for programs that cannot be told to take one themselves; and whether one is free."""

import errno
import os
import random
import socket

_FIRST, _LAST = 10_240, 32_767
"""Below the ports that systems give to outgoing connections: one of those was taken in the twenty seconds that vLLM
needs until it listens."""


def taken(host: str, port: int) -> str | None:
    """Return why nobody can begin to listen there now; None where that works."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.create_server((host, port), family=family):
            return None
    except OSError as error:
        return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port that nobody listens on now, and that no outgoing connection gets by chance meanwhile.

    Raises OSError where ``host`` is not this machine's, or no port is free.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in random.sample(range(_FIRST, _LAST + 1), 1_000):
        with socket.socket(family) as trial:
            try:
                trial.bind((host, port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                return port
    raise OSError(errno.EADDRINUSE, f"no port from {_FIRST} to {_LAST} is free on {host}")
