"""What lies where in Redis. All keys of one camera's life share one hash tag, so they share one slot of a cluster.

    livelens:cameras             sorted set: the server's time in s, when it was last told of -> camera
    livelens:camera:<camera>     the camera's present life; no other key names the camera
    livelens:{<tag>}:life        hash: fence, owner, behind (tier of what is spilled), next_seq, mark,
                                 total (bytes of the index), bytes (those of the held frames),
                                 bulletin (``bulletin``), told (the server's time in µs when it came)
    livelens:{<tag>}:index       sorted set: stream time -> entry (``codec_index``), of the whole window
    livelens:{<tag>}:held        sorted set: stream time -> ``size:t_us``, of the frames whose value lies here
    livelens:{<tag>}:f:<t_us>    one frame (``codec``); not in ``held`` where it is lent to a reader for a while
    livelens:{<tag>}:s:<token>   a frame on its way in, for seconds
    livelens:{<tag>}:records     hash: key -> record; ``starts`` and ``ends`` are sorted sets over its keys
    livelens:{<tag>}:gone        this life has ended; holds nothing else, and names nobody

    livelens:{o-<owner>}:alive   the process that holds the pool is at work; for seconds
    livelens:{o-<owner>}:wanted  list: frames that readers ask it for (``redis_requests``)
    livelens:{o-<owner>}:r:<token>  list: its answer to one of them; for seconds

The tag is a hash of camera and life, so that what stays for a while after a deletion (``gone``) tells nothing.
"""

import hashlib
from dataclasses import dataclass

from core.ids import CameraId, Incarnation


def roll_key(prefix: str) -> str:
    """Return the key that lists the cameras there are."""
    return f"{prefix}:cameras"


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
    def held(self) -> str:
        return self.root + "held"

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
        """Return the keys every script names: life, index, gone, records, starts, ends, held."""
        return (self.life, self.index, self.gone, self.records, self.starts, self.ends, self.held)


@dataclass(frozen=True, slots=True)
class OwnerKeys:
    """The keys over which readers ask one owner for frames."""

    root: str

    @classmethod
    def of(cls, prefix: str, owner: str) -> "OwnerKeys":
        """Return the keys of this owner."""
        return cls(f"{prefix}:{{o-{owner}}}:")

    @property
    def alive(self) -> str:
        return self.root + "alive"

    @property
    def wanted(self) -> str:
        return self.root + "wanted"

    def reply(self, token: str) -> str:
        """Return the key of the answer to one request."""
        return f"{self.root}r:{token}"
