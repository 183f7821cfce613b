"""What travels under ``/v1``: OpenAI's chat completions, the part of them that is served. ``docs/api.md`` says it in words.

Fields that a stock client may send and that change nothing here are ignored; what would change the answer's meaning
and is not served has a field in here, so that ``web.chat_accept`` can refuse it by name.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

INT64_LEAST, INT64_MOST = -(2**63), 2**63 - 1


class Sent(BaseModel):
    """Base of what clients send: nothing converted, fields of no meaning here ignored."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Shown(BaseModel):
    """Base of what we send."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# ---------------------------------------------------------------- from clients


class TextForm(Sent):
    type: Literal["text"]
    text: str


class ImageUrl(Sent):
    """A data URL with a JPEG, PNG, WebP or GIF file in base64. ``detail`` changes nothing yet."""

    url: str = Field(repr=False)
    detail: Literal["auto", "low", "high"] | None = None


class ImageForm(Sent):
    type: Literal["image_url"]
    image_url: ImageUrl


PartForm = Annotated[TextForm | ImageForm, Field(discriminator="type")]


def _as_parts(content: object) -> object:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class MessageForm(Sent):
    """``developer`` is another word for ``system``. Words alone may be a text instead of a list of parts."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[
        list[PartForm],
        Field(max_length=1_000),
        BeforeValidator(_as_parts, json_schema_input_type=str | list[PartForm]),
    ]


class StreamOptions(Sent):
    include_usage: bool = False


StopText = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class ChatForm(Sent):
    """A chat completion's request. Without ``temperature`` the likeliest words are taken."""

    model: Annotated[str, StringConstraints(min_length=1, max_length=1_024)]
    messages: list[MessageForm] = Field(min_length=1, max_length=1_000)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    top_p: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    seed: int | None = Field(default=None, ge=INT64_LEAST, le=INT64_MOST)
    stop: (
        Annotated[
            list[StopText],
            Field(max_length=16),
            BeforeValidator(_as_list, json_schema_input_type=str | list[StopText]),
        ]
        | None
    ) = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = Field(default=None, ge=1)

    # Not served; any shape is read, so that the refusal can name the field. Any: it is never looked into.
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: dict[str, Any] | None = None
    logprobs: bool | None = None
    modalities: list[Any] | None = None
    audio: Any = None


# ---------------------------------------------------------------- to clients


class PromptDetails(Shown):
    cached_tokens: int


class UsageView(Shown):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails


class AnswerView(Shown):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


FinishReason = Literal["stop", "length"]


class ChoiceView(Shown):
    index: Literal[0] = 0
    message: AnswerView
    logprobs: None = None
    finish_reason: FinishReason


class CompletionView(Shown):
    """``notice`` is ours: what people should know of the answer, where there is something. ``usage`` may be unknown."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ChoiceView]
    usage: UsageView | None
    notice: str | None = None


class DeltaView(Shown):
    role: Literal["assistant"] | None = None
    content: str | None = None


class ChunkChoiceView(Shown):
    index: Literal[0] = 0
    delta: DeltaView
    logprobs: None = None
    finish_reason: FinishReason | None = None


class ChunkView(Shown):
    """``choices`` is empty in the one with the usage, which is sent where it was asked for."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoiceView]
    usage: UsageView | None = None
    notice: str | None = None


class ModelView(Shown):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "livelens"


class ModelListView(Shown):
    object: Literal["list"] = "list"
    data: list[ModelView]


class ErrorDetailView(Shown):
    """``code`` is one of docs/errors.md; ``param`` names the field at fault, where one is."""

    message: str
    type: str
    param: str | None
    code: str


class ErrorView(Shown):
    error: ErrorDetailView
