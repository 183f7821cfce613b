"""What can go wrong with models."""

from core.errors import ErrorKind, ServiceError


class ModelNotLoadable(ServiceError):
    """The folder or name given cannot become a model; ends the start with its one line."""

    code = "model_not_loadable"
    kind = ErrorKind.INVALID

    def __init__(self, model: str, why: str) -> None:
        super().__init__(f"cannot load the model {model!r}: {why}")
        self.model = model


class DecoderUnavailable(ServiceError):
    code = "decoder_unavailable"
    kind = ErrorKind.UNAVAILABLE
    retryable = True

    def __init__(self, why: str) -> None:
        super().__init__(f"the decoder does not answer: {why}")


class DecoderBusy(ServiceError):
    code = "decoder_busy"
    kind = ErrorKind.OVERLOADED
    retryable = True

    def __init__(self, questions: int | None = None, *, why: str = "") -> None:
        """``questions`` under way, where it is our own engine; ``why`` in another's words."""
        under_way = f"has {questions} questions under way and " if questions is not None else ""
        reason = f": {why}" if why else ""
        super().__init__(f"the decoder {under_way}takes no more for now{reason}")
        self.questions = questions


class DecoderRefused(ServiceError):
    code = "decoder_refused"
    kind = ErrorKind.UNAVAILABLE

    def __init__(self, status: int, why: str) -> None:
        super().__init__(f"the decoder refused the question ({status}): {why}")
        self.status = status


class PromptTooLarge(ServiceError):
    code = "prompt_too_large"
    kind = ErrorKind.TOO_LARGE

    def __init__(self, tokens: int, limit: int) -> None:
        super().__init__(f"the prompt has {tokens} tokens, the model holds {limit}")
        self.tokens = tokens
        self.limit = limit


class NoUsableFrames(ServiceError):
    """A prompt had frames, and the features of none of them can be this model's."""

    code = "no_usable_frames"
    kind = ErrorKind.UNAVAILABLE

    def __init__(self, frames: int, why: str) -> None:
        super().__init__(f"none of the {frames} frames can be read: {why}")
        self.frames = frames
