"""One look at a Redis: whether it can hold the published copy, and what would go wrong."""

import time
from dataclasses import dataclass

from core.ids import CameraId
from featcache.errors import WindowUnavailable
from featcache.redis_link import Fault, RedisLink, Reply
from featcache.redis_settings import RedisSettings

_NOBODY = CameraId("")
_LEAST_VERSION = 7
_CLOCK_OFF_US = 1_000_000


@dataclass(frozen=True, slots=True)
class RedisLook:
    """What one look found.

    Attributes:
        fault: Why it cannot be used; None where it can.
        version: As it says itself; empty where it says nothing.
        answer_us: How long it took over a handful of commands.
        clock_offset_us: Its time less ours.
        concerns: What works, but not as it should, each in a few words.
    """

    fault: Fault | None
    version: str = ""
    answer_us: int = 0
    clock_offset_us: int = 0
    concerns: tuple[str, ...] = ()


async def look(settings: RedisSettings) -> RedisLook:
    """Connect, write one key that lasts a moment, and read what the server says of itself. Never raises."""
    link = RedisLink(settings)
    try:
        await link.run(_NOBODY, [("SET", f"{settings.prefix}:probe", 1, "PX", 1000)])
        began_us, asked_us = time.monotonic_ns() // 1000, time.time_ns() // 1000
        if settings.cluster:  # these commands have no key, so no node of their own
            return RedisLook(None, answer_us=0)
        info, now = await link.run(_NOBODY, [("INFO",), ("TIME",)])
        took_us = time.monotonic_ns() // 1000 - began_us
        offset_us = int(now[0]) * 1_000_000 + int(now[1]) - asked_us - took_us // 2
        told = _fields(info)
        concerns = tuple(_concerns(told, settings, offset_us))
        return RedisLook(None, told.get("redis_version", ""), took_us, offset_us, concerns)
    except WindowUnavailable:
        return RedisLook(link.fault or Fault.OTHER)
    finally:
        await link.aclose()


def _concerns(told: dict[str, str], settings: RedisSettings, offset_us: int) -> list[str]:
    found = []
    major = told.get("redis_version", "").partition(".")[0]
    if major.isdecimal() and int(major) < _LEAST_VERSION:
        found.append(f"older than {_LEAST_VERSION}")
    most = told.get("maxmemory", "0")
    if most.isdecimal() and 0 < int(most) < settings.redis_budget_bytes:
        found.append(f"maxmemory {int(most) >> 20} MiB is below redis_budget_bytes, the copy will be smaller")
    policy = told.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        found.append(f"maxmemory-policy {policy} takes what it likes; noeviction is wanted")
    if abs(offset_us) > _CLOCK_OFF_US:
        found.append(f"its clock is {offset_us / 1e6:+.1f} s from ours")
    return found


def _fields(info: Reply) -> dict[str, str]:
    """Return what ``INFO`` says; the client has taken it apart already, or not."""
    if isinstance(info, dict):
        return {str(name): str(value) for name, value in info.items()}
    lines = info.decode(errors="replace").splitlines() if isinstance(info, bytes) else []
    return {name: value for name, _, value in (line.partition(":") for line in lines) if value}
