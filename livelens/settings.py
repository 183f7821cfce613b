"""All settings, read once: command line, then ``LIVELENS_*``, then secret files, then ``livelens.toml``.

Nothing else in livelens reads the environment or a settings file. Each package declares its own slice as a
frozen dataclass; this module only joins them and turns every mistake into one line.
"""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import platformdirs
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NestedSecretsSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

import featcache
from featcache.redis_settings import RedisSettings
from ingest import IngestSettings
from livelens.errors import WrongSetting
from livelens.logs import LogFormat
from models import EngineSettings, RemoteLimits, VllmLimits
from qa import AskSettings, ChatSettings
from sampler import SamplerSettings
from web import WebSettings

ENV_PREFIX = "LIVELENS_"
DEFAULT_FILE = Path("livelens.toml")

# Read elsewhere or by the shell, so not settings of ours.
_OTHER_VARIABLES = frozenset({"LIVELENS_CONFIG", "LIVELENS_SECRETS_DIR", "LIVELENS_URL"})


def _data_dir() -> Path:
    return Path(platformdirs.user_data_dir("livelens", appauthor=False))


class Settings(BaseSettings):
    """What an operator may decide.

    Attributes:
        data_dir: Folder for durable state; made if missing.
        database_url: Where durable state is kept instead of a SQLite file in ``data_dir``.
        conversation_days: Questions and answers are forgotten after so many days.
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        zone: Time zone of cameras registered without one; "local" is this machine's.
        log_level: debug, info, warning or error.
        log_format: text for people, json for collectors.
        model: none (all is measured), builtin (knows generated scenes, all else is measured), or a Qwen-VL model:
            a folder, or a hub name that may be fetched.
        model_url: An OpenAI-compatible address that answers instead of a model in this process.
        model_name: The model's name at ``model_url``; its first one if empty.
        model_key: Key for ``model_url`` or ``decoder_url``, if it wants one.
        decoder_url: A vLLM started by ``livelens decoder``, or the router before several: words come from there, by
            frame ids that it reads from Redis, and the model named by ``model`` only encodes here.
        frame_tokens: Vision tokens of one frame for a model by folder or name; 0 takes 196.
        window_tokens: Vision tokens one question may have for a model by folder or name; 0 takes 8,192.
        ingest: Reading cameras. ``false`` in place of the section takes none in.
        sampler: Choosing frames.
        window: Keeping frames.
        redis: The published copy of the window, for other processes to read; without an address there is none.
        engine: The model in this process.
        remote: The model at ``model_url`` or ``decoder_url``.
        decoder: The vLLM at ``decoder_url``: how it is looked after.
        ask: Answering questions.
        chat: Chat about still pictures.
        web: Serving pages, programs and sockets.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, protected_namespaces=()
    )

    data_dir: Path = Field(default_factory=_data_dir)
    database_url: str = ""
    conversation_days: int = Field(30, ge=1)
    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65535)
    zone: str = "local"
    log_level: str = Field("info", pattern="^(debug|info|warning|error)$")
    log_format: LogFormat = LogFormat.TEXT
    model: str = "none"
    model_url: str = ""
    model_name: str = ""
    model_key: SecretStr = SecretStr("")
    decoder_url: str = ""
    frame_tokens: int = Field(0, ge=0)
    window_tokens: int = Field(0, ge=0)
    ingest: IngestSettings = IngestSettings()
    sampler: SamplerSettings = SamplerSettings()
    window: featcache.Settings = featcache.Settings()
    redis: RedisSettings = RedisSettings()
    engine: EngineSettings = EngineSettings()
    remote: RemoteLimits = RemoteLimits()
    decoder: VllmLimits = VllmLimits()
    ask: AskSettings = AskSettings()
    chat: ChatSettings = ChatSettings()
    web: WebSettings = WebSettings()

    # What one load reads; set for the length of ``load_settings`` because pydantic builds sources by class.
    _file_values: ClassVar[Mapping[str, Any]] = {}  # TOML values of any shape
    _secrets_dir: ClassVar[Path | None] = None

    @field_validator("ingest", mode="before")
    @classmethod
    def _no_ingest(cls, value: object) -> object:
        if value is True:  # would take the place of a section in the file
            raise ValueError("is a section, or false; leave it out, or set ingest.enabled")
        return IngestSettings(enabled=False) if value is False else value

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if value != "local":
            try:
                ZoneInfo(value)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise ValueError("must be 'local' or a time zone name such as Europe/Berlin") from None
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  the signature is pydantic's
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        sources = [init_settings, env_settings]
        if cls._secrets_dir is not None:
            sources.append(NestedSecretsSettingsSource(file_secret_settings, secrets_dir=cls._secrets_dir))
        sources.append(InitSettingsSource(settings_cls, init_kwargs=dict(cls._file_values)))
        return tuple(sources)


def load_settings(file: Path | None, overrides: Mapping[str, object]) -> Settings:
    """Read settings from everywhere, ``overrides`` first.

    ``file`` None reads ``LIVELENS_CONFIG``, else ``livelens.toml`` of the working folder if it is there.

    Raises WrongSetting naming the first mistake.
    """
    _refuse_unknown_variables(os.environ)
    secrets = os.environ.get("LIVELENS_SECRETS_DIR")
    named = file or (Path(os.environ["LIVELENS_CONFIG"]) if os.environ.get("LIVELENS_CONFIG") else None)
    values = _read_file(named)
    if secrets and not Path(secrets).is_dir():
        raise WrongSetting(f"LIVELENS_SECRETS_DIR = {secrets!r}: there is no such folder")
    loader = type(
        "Settings", (Settings,), {"_file_values": values, "_secrets_dir": Path(secrets) if secrets else None}
    )
    try:
        loaded: Settings = loader(**overrides)
    except ValidationError as error:
        raise WrongSetting(_one_line(error)) from None
    except SettingsError as error:  # a variable of a whole section that is no JSON
        raise WrongSetting(str(error)) from None
    return loaded


def _read_file(named: Path | None) -> Mapping[str, Any]:
    path = named or DEFAULT_FILE
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        if named is None:
            return {}
        raise WrongSetting(f"settings file {str(path)!r} does not exist") from None
    except OSError as error:
        raise WrongSetting(f"settings file {str(path)!r} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongSetting(f"settings file {str(path)!r} is not TOML: {error}") from None


def _refuse_unknown_variables(environment: Mapping[str, str]) -> None:
    """A misspelt variable would be ignored without a word; name it instead."""
    known = {f"{ENV_PREFIX}{name}".upper() for name in Settings.model_fields}
    for name in environment:
        if not name.startswith(ENV_PREFIX) or name in _OTHER_VARIABLES:
            continue
        if name.partition("__")[0].upper() not in known:
            raise WrongSetting(f"{name}: there is no such setting{_meant(name, known | _OTHER_VARIABLES)}")


def _meant(name: str, known: "set[str] | frozenset[str]") -> str:
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _one_line(error: ValidationError) -> str:
    """Return key, value and what is allowed for the first mistake."""
    first = error.errors(include_url=False)[0]
    path = [str(part) for part in first["loc"]]
    key = ".".join(path)
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{key}: there is no such setting{_meant(key, _all_keys())}"
    secret = "key" in path[-1] or path[0] == "redis"  # an address of Redis may hold a password
    shown = "(hidden)" if secret else repr(first["input"])
    allowed = first["msg"].removeprefix("Value error, ")
    return f"{key} = {shown}: {allowed[:1].lower()}{allowed[1:]}"


def _all_keys() -> set[str]:
    keys: set[str] = set()
    for name, field in Settings.model_fields.items():
        keys.add(name)
        keys.update(f"{name}.{inner}" for inner in getattr(field.annotation, "__dataclass_fields__", ()))
    return keys
