"""Where an OpenAI-compatible decoder is, and how long to wait for it."""

from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit


@dataclass(frozen=True, slots=True)
class OpenAISettings:
    """Where the decoder is, and how long to wait for it.

    Attributes:
        url: Base address; ``/v1`` is added where it has no path.
        model: The model's name there; None takes the first one that the server lists.
        api_key: Sent as a bearer token; never logged.
        frame_tokens: Estimate of the vision tokens of one frame there.
        window_tokens: Vision tokens one question may have; with ``frame_tokens`` it bounds the frames sent.
        connect_timeout_us: For one connection attempt.
        first_byte_timeout_us: From the request to the first byte of the answer; slow machines read pictures slowly.
        idle_timeout_us: Between two pieces of an answer.
        attempts: Tries before the first token; refusals other than overload are not tried again.
        retry_pause_us: About so long before the second try, doubled each time, with jitter.
        retry_after_us: After a failure, so long until the address counts as worth another question.
    """

    url: str
    model: str | None = None
    api_key: str | None = field(default=None, repr=False)
    frame_tokens: int = 512
    window_tokens: int = 8_192
    connect_timeout_us: int = 5_000_000
    first_byte_timeout_us: int = 60_000_000
    idle_timeout_us: int = 30_000_000
    attempts: int = 3
    retry_pause_us: int = 250_000
    retry_after_us: int = 5_000_000

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("url must be an http or https address")
        if parts.username or parts.password:
            raise ValueError("url must hold no name and password; use api_key")
        if self.attempts < 1 or self.frame_tokens < 1 or self.window_tokens < self.frame_tokens:
            raise ValueError("attempts and frame_tokens must be positive, window_tokens at least one frame's")
        if (
            min(
                self.connect_timeout_us, self.first_byte_timeout_us, self.idle_timeout_us, self.retry_pause_us
            )
            < 1
        ):
            raise ValueError("timeouts and pauses must be positive")

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
