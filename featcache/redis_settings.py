"""What an operator may decide about the published copy in Redis."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

_SCHEMES = ("redis", "rediss", "unix")


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """Where Redis is, and how much of the window it holds.

    Attributes:
        url: Empty: no Redis. ``redis://host:port/db``, ``rediss://`` for TLS, or ``unix:///path``; name and password may stand in
            it. What follows a ``?`` is refused, so that nobody asks for text decoding by accident.
        password: Used instead of one in the address; as a secret file ``livelens_redis__password``.
        cluster: The address is a node of a Redis cluster.
        ca_file, certificate_file, key_file: For TLS: whom to trust (the system's otherwise), and who we are.
        protocol: The Redis protocol spoken, 2 or 3; said in so many words, never negotiated.
        connect_timeout_us: Longest wait for a connection.
        reply_timeout_us: Longest silence of the server in the middle of a command.
        operation_timeout_us: Longest time for one call of the window, whatever it has to do.
        max_connections: Connections held at most; a call beyond them waits within its own time.
        redis_budget_bytes: Bytes of frames published, all cameras of this worker together.
        ttl_us: How long what a dead worker left stays; every write renews it. A net, never the window itself.
        grave_ttl_us: How long an ended life is remembered, so that late writers are refused.
        prefix: Begins every key.
    """

    url: str = field(default="", repr=False)
    password: str | None = field(default=None, repr=False)
    cluster: bool = False
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    protocol: int = 2
    connect_timeout_us: int = 500_000
    reply_timeout_us: int = 1_000_000
    operation_timeout_us: int = 3_000_000
    max_connections: int = 16
    redis_budget_bytes: int = 1 << 30
    ttl_us: int = 7_200_000_000
    grave_ttl_us: int = 7 * 86_400_000_000
    prefix: str = "livelens"

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if self.url and parts.scheme not in _SCHEMES:
            raise ValueError(f"url must begin with one of {', '.join(s + '://' for s in _SCHEMES)}")
        if parts.query or parts.fragment:
            raise ValueError("url must not carry options after a '?'")
        if self.cluster and parts.scheme == "unix":
            raise ValueError("cluster needs an address over TCP, not a unix socket")
        if self.protocol not in (2, 3):
            raise ValueError(f"protocol must be 2 or 3, got {self.protocol}")
        if not self.prefix or set(self.prefix) & set("{}*?[]\\ "):
            raise ValueError(
                "prefix must not be empty or hold braces, brackets, stars, question marks or blanks"
            )
        for name in (
            "connect_timeout_us",
            "reply_timeout_us",
            "operation_timeout_us",
            "max_connections",
            "redis_budget_bytes",
            "ttl_us",
            "grave_ttl_us",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    @property
    def shown_url(self) -> str:
        """Return the address without name and password, for people."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
