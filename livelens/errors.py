"""What can go wrong at the start of a service, and on the command line."""

from core.errors import ErrorKind, ServiceError


class WrongSetting(ServiceError):
    """A setting that cannot be used: key, value and what is allowed, in one line."""

    code = "wrong_setting"
    kind = ErrorKind.INVALID


class WrongArgument(ServiceError):
    """Words on the command line that make no sense."""

    code = "wrong_argument"
    kind = ErrorKind.INVALID


class AddressNotFree(ServiceError):
    """The address to listen on is taken, or is not this machine's."""

    code = "address_not_free"
    kind = ErrorKind.CONFLICT

    def __init__(self, host: str, port: int, why: str) -> None:
        super().__init__(f"cannot listen on {host}:{port}: {why}")


class NoService(ServiceError):
    code = "no_service"
    kind = ErrorKind.UNAVAILABLE

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"no livelens answers at {url} ({why}); start one with: livelens demo")


class ServiceRefused(ServiceError):
    """The service answered a command with an error of its own; its code is kept in ``service_code``."""

    code = "service_refused"
    kind = ErrorKind.INVALID

    def __init__(self, service_code: str, why: str) -> None:
        super().__init__(f"{why} ({service_code})")
        self.service_code = service_code


class AnswerFailed(ServiceError):
    """An answer ended in an error instead of words."""

    code = "answer_failed"
    kind = ErrorKind.UNAVAILABLE


class DecoderNotInstalled(ServiceError):
    """``livelens decoder`` found no vLLM, or not what it needs beside it."""

    code = "decoder_not_installed"
    kind = ErrorKind.UNAVAILABLE


class PartsMissing(ServiceError):
    """``livelens up`` lacks something that it starts; ``names`` are the parts."""

    code = "parts_missing"
    kind = ErrorKind.UNAVAILABLE

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(f"not installed: {', '.join(names)}")
        self.names = names


class PartFailed(ServiceError):
    """A process of ``livelens up`` does not come up, whatever is tried."""

    code = "part_failed"
    kind = ErrorKind.UNAVAILABLE

    def __init__(self, part: str, why: str) -> None:
        super().__init__(f"{part} {why}")
        self.part = part


class CamerasElsewhere(ServiceError):
    """Something that needs the camera itself, in a process that takes none in."""

    code = "cameras_elsewhere"
    kind = ErrorKind.CONFLICT

    def __init__(self) -> None:
        super().__init__(
            "this process takes no cameras in, it answers from the window that others publish; "
            "register, change, probe and watch cameras where they come in"
        )


class OwnerAway(ServiceError):
    """Stored in a camera's state: nothing has been heard for a while of the process that takes it in."""

    code = "owner_away"
    kind = ErrorKind.UNAVAILABLE
    retryable = True

    def __init__(self) -> None:
        super().__init__("nothing is heard of the process that takes this camera in")
