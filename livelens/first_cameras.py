"""Cameras that a start brings along: the demo's, and those named on the command line."""

import re
from importlib.resources import files
from pathlib import Path
from zoneinfo import ZoneInfo

from core.cameras import Source
from core.ids import CameraId, parse_camera_id
from featcache import UnknownCamera
from ingest import NO_FEEDS, Feeds, parse_source
from livelens.addresses import SCENE, typed_address
from web.ports import CameraPatch, CameraRegistry, NewCamera

DEMO_CAMERA = CameraId("demo")
DEMO_SCENE = 884
"""Wide, on a graded ground, and lively: in any 30 s something appears or leaves."""

CAR_PARK_CAMERA = CameraId("car-park")
CREDIT = 'Demo clip: "car-detection", Intel Corporation, "sample-videos", CC BY 4.0'


def demo_cameras(zone: ZoneInfo) -> tuple[NewCamera, NewCamera]:
    """Return the demo's cameras, which come in through ``ingest`` like any other and never end.

    A generated scene, which the built-in model knows, and real pictures, of which only is told what is measured.
    """
    scene = Source(f"{SCENE}:{DEMO_SCENE}")
    clip = Path(str(files("livelens") / "demo" / "car-park.mp4"))
    return (
        NewCamera(DEMO_CAMERA, "Shapes (generated)", scene, zone),
        NewCamera(CAR_PARK_CAMERA, "Car park (recorded)", Source(clip.as_uri(), loop=True), zone),
    )


def named_camera(text: str, zone: ZoneInfo, number: int, *, feeds: Feeds = NO_FEEDS) -> NewCamera:
    """Return the camera that ``[NAME=]ADDRESS`` means; without a name it is ``camera-1``, ``camera-2``, ...

    An address without a scheme is a file, played in a loop. Raises InvalidCameraId, SourceRefused.
    """
    named = re.fullmatch(r"([^=/:?]+)=(.+)", text)
    name, address = (named[1], named[2]) if named else (f"camera-{number + 1}", text)
    url = typed_address(address)
    source = parse_source(url, loop=url != address, feeds=feeds)
    return NewCamera(parse_camera_id(name), name, source, zone)


async def register(cameras: CameraRegistry, new: NewCamera) -> None:
    """Register a camera, or give the one with its id this source."""
    try:
        known = cameras.get(new.id)
    except UnknownCamera:
        await cameras.add(new)
        return
    if known.source != new.source or not known.enabled:
        await cameras.update(new.id, CameraPatch(source=new.source, enabled=True))
