"""What can go wrong while frames are looked at."""

from core.errors import ServiceError


class PictureRefused(ServiceError):
    """A picture that cannot be written as JPEG."""

    code = "picture_refused"

    def __init__(self, cause: str) -> None:
        super().__init__(f"a picture could not be written as JPEG: {cause}")
