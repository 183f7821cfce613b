"""Whether a vLLM engine is alive, told by a cheap look at its address now and then."""

import asyncio
from enum import StrEnum

import httpx2

from models.vllm_settings import VllmSettings


class Pulse(StrEnum):
    """What one look found."""

    WELL = "well"
    SLOW = "slow"  # it said nothing in time; once is no proof on a busy machine
    GONE = "gone"  # nobody listens, or it says itself that its engine is dead


class Probe:
    """Looks at one address. One connection of its own, so that no crowd of questions delays it."""

    def __init__(self, settings: VllmSettings) -> None:
        self._paths = (f"{settings.root}/health", f"{settings.address.base}/models")
        self._timeout_s = settings.limits.probe_timeout_us / 1e6
        key = settings.address.api_key
        self._client = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx2.Timeout(None),
            limits=httpx2.Limits(max_connections=1),
            trust_env=not settings.address.is_loopback,
        )

    async def look(self) -> Pulse:
        """Return how the engine is; takes no longer than its limit.

        ``/health`` is the engine's own word; the list of models comes, through a router, from an engine behind it.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                for path in self._paths:
                    response = await self._client.get(path)
                    if response.status_code >= 500:
                        return Pulse.GONE
        except TimeoutError:
            return Pulse.SLOW
        except (httpx2.HTTPError, httpx2.StreamError, RuntimeError):
            return Pulse.GONE
        return Pulse.WELL

    async def aclose(self) -> None:
        """Close the connection. Idempotent."""
        await self._client.aclose()


class Watch:
    """Tells from looks one after the other whether the engine is there. Pure."""

    SLOW_LOOKS = 2

    def __init__(self) -> None:
        self._slow = 0

    def saw(self, pulse: Pulse) -> Pulse:
        """Return what is to be made of a look: SLOW only where it is not yet known."""
        self._slow = self._slow + 1 if pulse is Pulse.SLOW else 0
        return Pulse.GONE if self._slow >= self.SLOW_LOOKS else pulse
