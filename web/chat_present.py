"""From an answer's values to OpenAI's completions, chunks and errors. Pure."""

from collections.abc import Sequence

from core.errors import ErrorKind, ServiceError
from core.ids import RequestId
from models.decoder import Finish, Usage
from qa.chat_values import ChatDone, ChatModel
from web import chat_wire
from web.errors import InvalidRequest
from web.present import error_text

DONE = b"data: [DONE]\n\n"
"""What ends a stream."""

_INVALID = (ErrorKind.INVALID, ErrorKind.TOO_LARGE, ErrorKind.NOT_FOUND, ErrorKind.CONFLICT)


class Telling:
    """One answer on its way: everything that its completion, or each of its chunks, says alike."""

    def __init__(self, request: RequestId, model: str, *, now_us: int) -> None:
        self._id = f"chatcmpl-{request.removeprefix('req_')}"
        self._model = model
        self._created = now_us // 1_000_000

    def completion(self, text: str, done: ChatDone) -> bytes:
        """Return the whole answer."""
        view = chat_wire.CompletionView(
            id=self._id,
            created=self._created,
            model=self._model,
            choices=[
                chat_wire.ChoiceView(
                    message=chat_wire.AnswerView(content=text), finish_reason=_reason(done.finish)
                )
            ],
            usage=usage_view(done.usage),
            notice=done.notice,
        )
        return view.model_dump_json(exclude=None if done.notice else {"notice"}).encode()

    def begun(self) -> bytes:
        """Return the event that begins a stream."""
        return self._event(chat_wire.DeltaView(role="assistant", content=""))

    def piece(self, text: str) -> bytes:
        """Return some more words as an event."""
        return self._event(chat_wire.DeltaView(content=text))

    def ended(self, done: ChatDone) -> bytes:
        """Return the event that says why the answer ended."""
        return self._event(chat_wire.DeltaView(), finish=_reason(done.finish), notice=done.notice)

    def counted(self, usage: Usage | None) -> bytes:
        """Return the event with the usage and no words."""
        return sse(self._chunk([], usage=usage_view(usage)))

    def _event(
        self,
        delta: chat_wire.DeltaView,
        *,
        finish: chat_wire.FinishReason | None = None,
        notice: str | None = None,
    ) -> bytes:
        return sse(self._chunk([chat_wire.ChunkChoiceView(delta=delta, finish_reason=finish)], notice=notice))

    def _chunk(
        self,
        choices: list[chat_wire.ChunkChoiceView],
        *,
        usage: chat_wire.UsageView | None = None,
        notice: str | None = None,
    ) -> chat_wire.ChunkView:
        return chat_wire.ChunkView(
            id=self._id,
            created=self._created,
            model=self._model,
            choices=choices,
            usage=usage,
            notice=notice,
        )


def sse(view: chat_wire.ChunkView) -> bytes:
    """Return a chunk as a server-sent event. JSON has no line breaks of its own."""
    absent = {"notice"} if view.notice is None else set()
    choices = {n: {"delta": _unsaid(choice.delta)} for n, choice in enumerate(view.choices)}
    text = view.model_dump_json(exclude={**dict.fromkeys(absent, True), "choices": choices})
    return f"data: {text}\n\n".encode()


def error_view(error: ServiceError) -> chat_wire.ErrorView:
    """Return an error as a client of OpenAI expects it, under our own stable code."""
    if error.kind in _INVALID:
        kind = "invalid_request_error"
    else:
        kind = "permission_error" if error.kind is ErrorKind.DENIED else "server_error"
    param = error.faults[0][0] if isinstance(error, InvalidRequest) and error.faults else None
    param = param or getattr(error, "param", None)
    return chat_wire.ErrorView(
        error=chat_wire.ErrorDetailView(message=error_text(error), type=kind, param=param, code=error.code)
    )


def error_event(error: ServiceError) -> bytes:
    """Return the event that says why a stream broke off."""
    return f"data: {error_view(error).model_dump_json()}\n\n".encode()


def usage_view(usage: Usage | None) -> chat_wire.UsageView | None:
    """Return how many tokens an answer took, None where the model's server did not say."""
    if usage is None:
        return None
    return chat_wire.UsageView(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        total_tokens=usage.prompt_tokens + usage.completion_tokens,
        prompt_tokens_details=chat_wire.PromptDetails(cached_tokens=usage.cached_tokens),
    )


def model_view(model: ChatModel) -> chat_wire.ModelView:
    """Return a model as it is listed."""
    return chat_wire.ModelView(id=model.name, created=model.since_us // 1_000_000)


def model_list_view(models: Sequence[ChatModel]) -> chat_wire.ModelListView:
    """Return all models."""
    return chat_wire.ModelListView(data=[model_view(model) for model in models])


def _reason(finish: Finish) -> chat_wire.FinishReason:
    return "length" if finish is Finish.LENGTH else "stop"


def _unsaid(delta: chat_wire.DeltaView) -> set[str]:
    """Return the fields of a delta that say nothing; clients take an absent field and null for different things."""
    return {name for name in ("role", "content") if getattr(delta, name) is None}
