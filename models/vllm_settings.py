"""Where vLLM is, and how it is looked after."""

from dataclasses import dataclass, fields
from urllib.parse import urlsplit, urlunsplit

from models.openai_settings import OpenAISettings


@dataclass(frozen=True, slots=True)
class VllmLimits:
    """How a vLLM engine is looked after, and what is sent to it.

    Attributes:
        probe_every_us: Between two looks at whether the engine is alive.
        probe_timeout_us: An engine that says nothing for so long, twice, counts as gone.
        frames_timeout_us: For asking Redis which frames the engine can read.
        inline_frames: Most frames sent with their features where Redis does not answer.
        unreadable_us: A frame that the engine could not read is not asked about again for so long.
    """

    probe_every_us: int = 1_000_000
    probe_timeout_us: int = 1_500_000
    frames_timeout_us: int = 1_000_000
    inline_frames: int = 8
    unreadable_us: int = 10_000_000

    def __post_init__(self) -> None:
        for limit in fields(self):
            if getattr(self, limit.name) < 1:
                raise ValueError(f"{limit.name} must be at least 1, got {getattr(self, limit.name)}")


@dataclass(frozen=True, slots=True)
class VllmSettings:
    """Where vLLM, or the router before several, is.

    Attributes:
        address: Its chat completions; the model's name and the limits of questions are in it.
        limits: How it is looked after.
    """

    address: OpenAISettings
    limits: VllmLimits = VllmLimits()

    @property
    def root(self) -> str:
        """Return the address that ``/health`` is added to."""
        parts = urlsplit(self.address.base)
        return urlunsplit((parts.scheme, parts.netloc, parts.path.removesuffix("/v1"), "", ""))
