"""Cameras that a start brings along: the demo's, and those named on the command line."""

import re
from importlib.resources import files
from pathlib import Path
from zoneinfo import ZoneInfo

from core.cameras import Source
from core.ids import CameraId, parse_camera_id
from featcache import UnknownCamera
from ingest import parse_source
from livelens.cameras import Cameras
from web.ports import CameraPatch, NewCamera

DEMO_CAMERA = CameraId("demo")
CREDIT = 'Demo clip: "car-detection", Intel Corporation, "sample-videos", CC BY 4.0'


def demo_camera(zone: ZoneInfo) -> NewCamera:
    """Return the demo camera: a real clip that comes in through ``ingest`` like any other source, for ever."""
    clip = Path(str(files("livelens") / "demo" / "car-park.mp4"))
    return NewCamera(DEMO_CAMERA, "Car park (demo)", Source(clip.as_uri(), loop=True), zone)


def named_camera(text: str, zone: ZoneInfo, number: int) -> NewCamera:
    """Return the camera that ``[NAME=]ADDRESS`` means; without a name it is ``camera-1``, ``camera-2``, ...

    An address without a scheme is a file, played in a loop. Raises InvalidCameraId, SourceRefused.
    """
    named = re.fullmatch(r"([^=/:?]+)=(.+)", text)
    name, address = (named[1], named[2]) if named else (f"camera-{number + 1}", text)
    is_file = "://" not in address
    url = Path(address).resolve().as_uri() if is_file else address
    return NewCamera(parse_camera_id(name), name, parse_source(url, loop=is_file), zone)


async def register(cameras: Cameras, new: NewCamera) -> None:
    """Register a camera, or give the one with its id this source."""
    try:
        known = cameras.get(new.id)
    except UnknownCamera:
        await cameras.add(new)
        return
    if known.source != new.source or not known.enabled:
        await cameras.update(new.id, CameraPatch(source=new.source, enabled=True))
