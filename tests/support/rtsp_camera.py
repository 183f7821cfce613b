#!/usr/bin/python3
"""An RTSP camera on GStreamer's own server; run under Debian's /usr/bin/python3, never in our environment.

    rtsp_camera.py '{"port": 8554, "mounts": {"cam": {"clips": ["a.mp4"]}}, "login": ["user", "pw"], "digest": true}'

Prints ``ready PORT`` once it listens. One line of standard input is one command: ``kick`` drops every client,
``quit`` ends; so does the end of standard input, so that no server outlives its test.

A mount plays its clips in a row, for ever, without coding them again, with times that go on over the seams.
``report`` names coded pictures of the first clip by their place; for each of them, each time round, one line
``sent PLACE OFFSET_US WALL_US`` tells its time within the row of clips and when the pipeline's clock lets it out. ``audio`` adds a tone as a track before the video, ``application`` a metadata track before both; without clips
the tone is alone.
"""

import json
import os
import struct
import sys
import threading
import time

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
gi.require_version("GstApp", "1.0")
gi.require_version("GstRtsp", "1.0")
gi.require_version("GstSdp", "1.0")
from gi.repository import Gio, GLib, Gst, GstApp, GstRtsp, GstRtspServer, GstSdp  # noqa: E402, F401

Gst.init(None)

_TONE = "audiotestsrc is-live=true wave=ticks ! audio/x-raw,rate=8000,channels=1 ! mulawenc ! rtppcmupay pt=0"


class Clip:
    """All coded pictures of one file, held in memory: (bytes, pts, dts, duration, is_delta), times in ns."""

    def __init__(self, path):
        pipeline = Gst.parse_launch(
            f'filesrc location="{path}" ! parsebin name=parts ! appsink name=sink sync=false max-buffers=0'
        )
        sink = pipeline.get_by_name("sink")
        pipeline.set_state(Gst.State.PLAYING)
        self.units, self.caps, end = [], None, 0
        while True:
            sample = sink.try_pull_sample(5 * Gst.SECOND)
            if sample is None:
                break
            self.caps = self.caps or sample.get_caps().to_string()
            buffer = sample.get_buffer()
            dts = buffer.dts if buffer.dts != Gst.CLOCK_TIME_NONE else buffer.pts
            data = buffer.extract_dup(0, buffer.get_size())
            delta = buffer.has_flags(Gst.BufferFlags.DELTA_UNIT)
            self.units.append((data, buffer.pts, dts, buffer.duration, delta))
            end = max(end, buffer.pts + buffer.duration)
        pipeline.set_state(Gst.State.NULL)
        if not self.units:
            raise SystemExit(f"no video in {path}")
        self.length = end - min(unit[1] for unit in self.units)


class Player:
    """Feeds one appsrc with the clips of a mount, round and round."""

    def __init__(self, clips, source, report=()):
        self.clips, self.clip, self.unit, self.base = clips, 0, 0, 0
        self.report = frozenset(report)
        source.set_property("caps", Gst.Caps.from_string(clips[0].caps))
        source.connect("need-data", self.feed)

    def feed(self, source, _wanted):
        clip = self.clips[self.clip]
        data, pts, dts, duration, delta = clip.units[self.unit]
        buffer = Gst.Buffer.new_wrapped(data)
        buffer.pts, buffer.dts, buffer.duration = self.base + pts, self.base + dts, duration
        if delta:
            buffer.set_flags(Gst.BufferFlags.DELTA_UNIT)
        if self.clip == 0 and self.unit in self.report:
            self.tell(source, buffer.pts)
        source.emit("push-buffer", buffer)
        self.unit += 1
        if self.unit == len(clip.units):
            self.unit, self.base = 0, self.base + clip.length
            self.clip = (self.clip + 1) % len(self.clips)
            if len(self.clips) > 1:
                source.set_property("caps", Gst.Caps.from_string(self.clips[self.clip].caps))

    def tell(self, source, pts):
        clock, base_time = source.get_clock(), source.get_base_time()
        if clock is None or base_time == 0:
            return  # not playing yet
        wait_ns = base_time + pts - clock.get_time()
        offset_ns = pts - self.base
        print(f"sent {self.unit} {offset_ns // 1000} {(time.time_ns() + wait_ns) // 1000}", flush=True)


class Metadata:
    """Feeds an appsrc with an RTP packet of metadata every 40 ms, as cameras with analytics do."""

    def __init__(self, source):
        self.sequence = 0
        source.connect("need-data", self.feed)

    def feed(self, source, _wanted):
        header = struct.pack(
            "!BBHII", 0x80, 0x80 | 107, self.sequence & 0xFFFF, self.sequence * 3600, 0x11EE5
        )
        buffer = Gst.Buffer.new_wrapped(header + b"<tt:MetadataStream/>")
        buffer.pts = buffer.dts = self.sequence * 40 * Gst.MSECOND
        self.sequence += 1
        source.emit("push-buffer", buffer)


class Mount(GstRtspServer.RTSPMediaFactory):
    """One address: one pipeline that all its clients share, so that they see the same moment."""

    def __init__(self, spec):
        super().__init__()
        self.clips = [Clip(path) for path in spec.get("clips", [])]
        self.application = spec.get("application", False)
        self.report = spec.get("report", [])
        parts = []
        if self.application:
            caps = "application/x-rtp,media=application,clock-rate=90000,encoding-name=VND.ONVIF.METADATA,payload=107"
            parts.append(f"appsrc name=metadata format=time caps={caps} ! identity name=pay{len(parts)}")
        if spec.get("audio"):
            parts.append(f"{_TONE} name=pay{len(parts)}")
        if self.clips:
            codec = "265" if "x-h265" in self.clips[0].caps else "264"
            source = "appsrc name=video format=time block=false max-bytes=4000000"
            parts.append(
                f"{source} ! h{codec}parse ! rtph{codec}pay name=pay{len(parts)} pt=96 config-interval=-1"
            )
        self.set_launch("( " + " ".join(parts) + " )")
        self.set_shared(True)
        self.connect("media-configure", self.configure)

    def configure(self, _factory, media):
        if self.clips:
            media.player = Player(self.clips, media.get_element().get_by_name("video"), self.report)
        if self.application:
            media.metadata = Metadata(media.get_element().get_by_name("metadata"))


def build(spec):
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(str(spec["port"]))
    server.get_thread_pool().set_max_threads(8)  # so that one slow mount does not hold up the others
    mounts = server.get_mount_points()
    login, tls = spec.get("login"), spec.get("tls")
    for name, mount_spec in spec["mounts"].items():
        mount = Mount(mount_spec)
        if login or tls:
            permissions = GstRtspServer.RTSPPermissions()
            permissions.add_permission_for_role("user", "media.factory.access", True)
            permissions.add_permission_for_role("user", "media.factory.construct", True)
            mount.set_permissions(permissions)
        mounts.add_factory("/" + name, mount)
    if login or tls:
        server.set_auth(access(login, tls, digest=spec.get("digest", False)))
    return server


def access(login, tls, *, digest):
    auth = GstRtspServer.RTSPAuth()
    if tls:
        auth.set_tls_certificate(Gio.TlsCertificate.new_from_files(*tls))
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "user")
    if not login:
        auth.set_default_token(token)  # whoever comes may play
    elif digest:
        auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
        auth.add_digest(login[0], login[1], token)
    else:
        auth.add_basic(GstRtspServer.RTSPAuth.make_basic(*login), token)
    return auth


def main():
    spec = json.loads(sys.argv[1])
    server = build(spec)
    if not server.attach(None):
        raise SystemExit(f"cannot listen on {spec['port']}")
    print(f"ready {server.get_bound_port()}", flush=True)

    def drop_clients():
        server.client_filter(lambda *_: GstRtspServer.RTSPFilterResult.REMOVE)
        return False

    def commands():
        for line in sys.stdin:
            if line.strip() == "kick":
                GLib.idle_add(drop_clients)
            elif line.strip() == "quit":
                break
        os._exit(0)

    threading.Thread(target=commands, daemon=True).start()
    GLib.MainLoop().run()


main()
