"""Vision encoder and decoders: pictures become features once, prompts become token streams.

Leaves to others: which frames a question is asked with (``qa``), where features are kept (``featcache``).

    Picture ── Engine.encode ──▶ Features                      (the window keeps them)
    Prompt(system, labelled frames, history, question)
        ├─ Engine.generate: features, prefix kept, batched  ──▶ Delta, Delta, ... finish, usage
        ├─ VllmDecoder.generate: frame refs over HTTP       ──▶ the same
        └─ OpenAIDecoder.generate: JPEG over HTTP           ──▶ the same

Importing this loads neither torch nor transformers; ``open_decoder`` does, once a model is named.
"""

from models.chat import SYSTEM_TEXT
from models.decoder import Decoder, Delta, Finish, ModelProfile, Reads, SamplingParams, Usage
from models.engine import Engine, EngineSettings, EngineStatistics
from models.errors import (
    DecoderBusy,
    DecoderRefused,
    DecoderUnavailable,
    ModelNotLoadable,
    NoUsableFrames,
    PromptTooLarge,
)
from models.openai import OpenAIDecoder
from models.openai_settings import OpenAISettings, RemoteLimits
from models.opening import (
    BUILTIN,
    BuiltinModel,
    LocalModel,
    ModelChoice,
    NoModel,
    RemoteModel,
    VllmModel,
    open_decoder,
    open_tower,
)
from models.prompt import Dialogue, FramePart, Message, Part, PicturePart, Prompt, Role, TextPart, Turn
from models.schedule import Limits
from models.vllm import VllmDecoder
from models.vllm_frames import FrameSource
from models.vllm_settings import VllmLimits, VllmSettings

__all__ = [
    "BUILTIN",
    "SYSTEM_TEXT",
    "BuiltinModel",
    "Decoder",
    "DecoderBusy",
    "DecoderRefused",
    "DecoderUnavailable",
    "Delta",
    "Dialogue",
    "Engine",
    "EngineSettings",
    "EngineStatistics",
    "Finish",
    "FramePart",
    "FrameSource",
    "Limits",
    "LocalModel",
    "Message",
    "ModelChoice",
    "ModelNotLoadable",
    "ModelProfile",
    "NoModel",
    "NoUsableFrames",
    "OpenAIDecoder",
    "OpenAISettings",
    "Part",
    "PicturePart",
    "Prompt",
    "PromptTooLarge",
    "Reads",
    "RemoteLimits",
    "RemoteModel",
    "Role",
    "SamplingParams",
    "TextPart",
    "Turn",
    "Usage",
    "VllmDecoder",
    "VllmLimits",
    "VllmModel",
    "VllmSettings",
    "open_decoder",
    "open_tower",
]
