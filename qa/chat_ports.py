"""What still-image chat needs from the rest of livelens. The root hands it over; tests hand fakes."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Protocol

from core.clock import Clock
from core.frames import Features, Picture
from core.meter import Meter, NullMeter
from qa.ports import DecoderSource


class PictureEncoder(Protocol):
    """Encodes pictures for the model that answers."""

    async def encode(self, picture: Picture) -> Features | None:
        """Return a picture's features, None where it is not of the model's world.

        Raises DecoderUnavailable, BadFeatures.
        """


EncoderSource = Callable[[], PictureEncoder | None]
"""Gives the encoder of the moment; None where the model reads pictures itself."""

KnowsPicture = Callable[[Picture], bool]
"""Tells whether a picture is of the model's world. Takes milliseconds, in a thread."""


@dataclass(frozen=True, slots=True)
class ChatParts:
    """Everything that chat needs.

    Attributes:
        executor: Decodes what people send. Not the cameras' pool: a file made to cost time delays no camera.
        knows: Judges pictures for a model that knows one world only and reads pictures itself; None knows none.
    """

    decoder: DecoderSource
    encoder: EncoderSource
    executor: Executor
    clock: Clock
    knows: KnowsPicture | None = None
    meter: Meter = field(default_factory=NullMeter)
