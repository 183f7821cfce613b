"""Where an OpenAI-compatible decoder is, and how long to wait for it."""

from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit


@dataclass(frozen=True, slots=True)
class RemoteLimits:
    """How much is sent to a decoder at an address, and how long it may take.

    Attributes:
        frame_tokens: Estimate of the vision tokens of one frame there.
        window_tokens: Vision tokens one question may have; with ``frame_tokens`` it bounds the frames sent.
        connect_timeout_us: For one connection attempt.
        first_byte_timeout_us: From the request to the first byte of the answer; slow machines read pictures slowly.
        idle_timeout_us: Between two pieces of an answer.
        attempts: Tries before the first token; refusals other than overload are not tried again.
        retry_pause_us: About so long before the second try, doubled each time, with jitter.
        retry_after_us: After a failure, so long until the address counts as worth another question.
    """

    frame_tokens: int = 512
    window_tokens: int = 8_192
    connect_timeout_us: int = 5_000_000
    first_byte_timeout_us: int = 60_000_000
    idle_timeout_us: int = 30_000_000
    attempts: int = 3
    retry_pause_us: int = 250_000
    retry_after_us: int = 5_000_000

    def __post_init__(self) -> None:
        for limit in fields(self):
            least, value = 0 if limit.name == "retry_after_us" else 1, getattr(self, limit.name)
            if value < least:
                raise ValueError(f"{limit.name} must be at least {least}, got {value}")
        if self.window_tokens < self.frame_tokens:
            raise ValueError(
                f"window_tokens must hold one frame's {self.frame_tokens}, got {self.window_tokens}"
            )


@dataclass(frozen=True, slots=True)
class OpenAISettings:
    """Where the decoder is, and its limits.

    Attributes:
        url: Base address; ``/v1`` is added where it has no path.
        model: The model's name there; None takes the first one that the server lists.
        api_key: Sent as a bearer token; never logged.
        limits: How much is sent, and how long to wait.
    """

    url: str
    model: str | None = None
    api_key: str | None = field(default=None, repr=False)
    limits: RemoteLimits = RemoteLimits()

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("url must be an http or https address")
        if parts.username or parts.password:
            raise ValueError("url must hold no name and password; use api_key")

    @property
    def base(self) -> str:
        """Return the address that paths are added to: as given, with ``/v1`` where it has no path of its own."""
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
        return urlunsplit((parts.scheme, parts.netloc, path, "", ""))

    @property
    def host(self) -> str:
        """Return the host's name, to show until the model's name is known."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_loopback(self) -> bool:
        """Return whether the address is this machine's own."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"
