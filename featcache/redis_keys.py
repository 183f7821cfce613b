"""What lies where in Redis. All keys of one camera's life share one hash tag, so they share one slot of a cluster.

    livelens:camera:<camera>     the camera's present life; the only key that names the camera
    livelens:{<tag>}:life        hash: fence, bytes, next_seq, mark
    livelens:{<tag>}:index       sorted set: stream time -> entry (``codec_index``)
    livelens:{<tag>}:f:<t_us>    one frame (``codec``)
    livelens:{<tag>}:s:<token>   a frame on its way in, for seconds
    livelens:{<tag>}:records     hash: key -> record; ``starts`` and ``ends`` are sorted sets over its keys
    livelens:{<tag>}:gone        this life has ended; holds nothing else, and names nobody

The tag is a hash of camera and life, so that what stays for a while after a deletion (``gone``) tells nothing.
"""

import hashlib
from dataclasses import dataclass

from core.ids import CameraId, Incarnation


def camera_key(prefix: str, camera_id: CameraId) -> str:
    """Return the key that says which life a camera is in."""
    return f"{prefix}:camera:{camera_id}"


@dataclass(frozen=True, slots=True)
class LifeKeys:
    """The keys of one life of a camera."""

    root: str

    @classmethod
    def of(cls, prefix: str, camera_id: CameraId, incarnation: Incarnation) -> "LifeKeys":
        """Return the keys of this life."""
        tag = hashlib.sha256(f"{camera_id}/{incarnation}".encode()).hexdigest()[:20]
        return cls(f"{prefix}:{{{tag}}}:")

    @property
    def life(self) -> str:
        return self.root + "life"

    @property
    def index(self) -> str:
        return self.root + "index"

    @property
    def records(self) -> str:
        return self.root + "records"

    @property
    def starts(self) -> str:
        return self.root + "starts"

    @property
    def ends(self) -> str:
        return self.root + "ends"

    @property
    def gone(self) -> str:
        return self.root + "gone"

    def frame(self, t_us: int) -> str:
        """Return the key of the frame of one moment."""
        return f"{self.root}f:{t_us}"

    def staged(self, token: str) -> str:
        """Return the key a frame lies under until it is taken in."""
        return f"{self.root}s:{token}"

    def all_declared(self) -> tuple[str, ...]:
        """Return the keys every script names: life, index, gone, records, starts, ends."""
        return (self.life, self.index, self.gone, self.records, self.starts, self.ends)
