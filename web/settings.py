"""Settings of the edges."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Limits and names of the server's edges.

    Attributes:
        allowed_hosts: Names, besides this machine's loopback ones, that a Host header may carry.
        allowed_origins: Origins, besides the server's own, whose pages may act, such as ``https://a.example``.
        max_body_bytes: Largest request body.
        body_timeout_s: How long a request body may take to arrive.
        max_message_bytes: Largest WebSocket message; told in ``session.ready``.
        refused_message_bytes: Messages between the two limits are read and refused by name; a larger one
            ends the connection while it arrives.
        max_sessions: WebSocket sessions at a time.
        max_questions: Questions at a time in one session.
        max_asks: Questions at a time by ``POST /ask``.
        max_chat_body_bytes: Largest body of a request with pictures in it.
        chat_body_timeout_s: How long such a body may take to arrive.
        chat_bodies_bytes: Bytes of such bodies held at a time, all together.
        max_chats: Dialogues about pictures answered at a time.
        max_viewers: Previews watched at a time.
        outbox_messages: Messages that wait for a slow client before its answers wait.
        stall_timeout_s: A client that takes nothing for so long is closed and its answers given up.
        answer_grace_s: Answers of a lost connection go on for so long; below 2 s.
        session_keep_s: What a lost session sent can be replayed for so long.
        replay_messages: How many sent messages a session can replay.
        replay_bytes: How many bytes of sent messages a session can replay.
        ping_interval_s: Time between WebSocket pings.
        ping_timeout_s: Time a pong may take.
        timeline_samples: Samples one timeline shows; more are thinned to the liveliest of each cell.
        shutdown_s: Time that open requests get to end when the server stops.
    """

    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_body_bytes: int = 1 << 20
    body_timeout_s: float = 15.0
    max_message_bytes: int = 2 << 20
    refused_message_bytes: int = 16 << 20
    max_sessions: int = 256
    max_questions: int = 8
    max_asks: int = 64
    max_chat_body_bytes: int = 24 << 20
    chat_body_timeout_s: float = 60.0
    chat_bodies_bytes: int = 128 << 20
    max_chats: int = 32
    max_viewers: int = 32
    outbox_messages: int = 64
    stall_timeout_s: float = 10.0
    answer_grace_s: float = 1.5
    session_keep_s: float = 30.0
    replay_messages: int = 1024
    replay_bytes: int = 1 << 20
    ping_interval_s: float = 20.0
    ping_timeout_s: float = 20.0
    timeline_samples: int = 4_000
    shutdown_s: float = 5.0

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, int | float) and value <= 0:
                raise ValueError(f"{name} must be above 0, got {value}")
        if self.refused_message_bytes < self.max_message_bytes:
            raise ValueError(
                f"refused_message_bytes must be at least max_message_bytes ({self.max_message_bytes}), "
                f"got {self.refused_message_bytes}"
            )
        if self.chat_bodies_bytes < self.max_chat_body_bytes:
            raise ValueError(
                f"chat_bodies_bytes must be at least max_chat_body_bytes ({self.max_chat_body_bytes}), "
                f"got {self.chat_bodies_bytes}"
            )
