"""Looks at every frame, keeps the few that matter, and says in records what moved.

Leaves to others: decoding (``ingest``), features (``models``), storing (``featcache``), wording (``qa``).

    Frame ──small brightness plane──▶ motion ──MotionGate──▶ Sample (with its JPEG), at most every 250 ms
                                        └──▶ StaticSpan "unchanged since", ObjectTrack, SceneChange
"""

from sampler.errors import PictureRefused
from sampler.gate import MotionGate
from sampler.jpeg import encode_jpeg, fitted_size
from sampler.sampler import Pushed, Sampler, SamplerStatistics
from sampler.settings import SamplerSettings
from sampler.stage import select

__all__ = [
    "MotionGate",
    "PictureRefused",
    "Pushed",
    "Sampler",
    "SamplerSettings",
    "SamplerStatistics",
    "encode_jpeg",
    "fitted_size",
    "select",
]
