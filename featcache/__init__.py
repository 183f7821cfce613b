"""The window: the last while of every camera, as frames with their features, ready to be asked about.

It numbers and stores what the sampler kept, encoded once, within a budget of bytes, and tells what of a span
could be seen. It leaves to others which frames are worth keeping (sampler), how pictures become vision tokens
(models, through ``Encoder``) and which frames a question looks at (qa).

    Sample -> fill() -> StoredFrame -> MemoryPool -> index(), fetch() -> qa
    Gap, StaticSpan, ObjectTrack, ... -> put_record() -> coverage()
    budget, retention -> oldest frames leave -> Head.evicted_before_us
    PublishedWindow (featcache.published): the pool, and its copy in Redis that other processes read (RedisReader)
"""

from featcache.coverage import Covered, CoveredGap, coverage
from featcache.errors import FrameTooLarge, StaleIncarnation, UnknownCamera, WindowUnavailable
from featcache.fill import Encoder, fill
from featcache.pool import CameraHolding, MemoryPool, PoolStatistics
from featcache.retention import keep_trimmed, trim_all
from featcache.settings import Settings
from featcache.window import FrameInfo, Head, StoredFrame, Tier, Window, WindowReader

__all__ = [
    "CameraHolding",
    "Covered",
    "CoveredGap",
    "Encoder",
    "FrameInfo",
    "FrameTooLarge",
    "Head",
    "MemoryPool",
    "PoolStatistics",
    "Settings",
    "StaleIncarnation",
    "StoredFrame",
    "Tier",
    "UnknownCamera",
    "Window",
    "WindowReader",
    "WindowUnavailable",
    "coverage",
    "fill",
    "keep_trimmed",
    "trim_all",
]
