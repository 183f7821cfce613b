"""What a checkpoint's folder says about the model, read without loading it: no torch, no weights.

Everything that callers must know before the model is up is here: its profile, its encoder version, how pictures are
prepared, and in which number type it computes.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.frames import FeatureType
from models.decoder import ModelProfile, Reads
from models.errors import ModelNotLoadable
from models.pictures import PictureRules

FEATURE_FORMAT = 1
"""Number of our own layout of features; a change of it makes every stored frame another encoder's."""

FAMILIES: Mapping[str, str] = {
    "qwen3_vl": "Qwen3VLForConditionalGeneration",
    "qwen3_vl_moe": "Qwen3VLMoeForConditionalGeneration",
    "qwen2_5_vl": "Qwen2_5_VLForConditionalGeneration",
    "qwen2_vl": "Qwen2VLForConditionalGeneration",
}
"""Model types whose features and positions this package knows, with their classes in transformers.

They share template, positions of pictures and the way features go in; they differ in patch size and in DeepStack
layers, which the older two do not have.
"""

_MEAN = (0.48145466, 0.4578275, 0.40821073)
_STD = (0.26862954, 0.26130258, 0.27577711)
"""Of each channel, where the picture settings do not say. Source: CLIP (arXiv 2103.00020), as transformers has it."""

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_HUB_FILES = ("*.json", "*.safetensors", "*.txt", "*.jinja")
_SAMPLE_BYTES = 4_096
_SAMPLES = 64


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint on disk.

    Attributes:
        name: As the user gave it; shown in answers.
        model_class: Its class in transformers.
        feature_width: Columns of its features: hidden × (1 + DeepStack layers).
        feature_type: The 16-bit type features are kept in.
        weights_type: Number type of the weights, such as ``bfloat16``.
        context_tokens: Prompt and answer together.
    """

    name: str
    folder: Path
    model_class: str
    profile: ModelProfile
    pictures: PictureRules
    encoder_version: str
    feature_width: int
    feature_type: FeatureType
    weights_type: str
    context_tokens: int
    end_tokens: tuple[int, ...]


def read_checkpoint(
    model: str,
    *,
    name: str | None = None,
    frame_tokens: int | None = None,
    window_tokens: int | None = None,
    own_world: bool = False,
) -> Checkpoint:
    """Return what a checkpoint says, fetching it from the hub first where ``model`` is a hub name.

    Args:
        model: A folder, or a hub name such as ``Qwen/Qwen3-VL-2B-Instruct``. Only names are ever looked up outside.
        name: What answers and errors call it; by default the hub name, or the folder's own.
        frame_tokens, window_tokens: Vision tokens of a frame and of a question; by default 196 and 8,192, less
            where the context does not hold as many.
        own_world: As in the profile.
    Raises:
        ModelNotLoadable: with a line that says what is wrong. May take as long as a download takes.
    """
    folder = _find(model)
    called = name or model
    config = _read_json(called, folder / "config.json")
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise ModelNotLoadable(
            called,
            f"it is of type {kind!r}; livelens itself runs {', '.join(FAMILIES)}, others by --model-url",
        )
    # Older configurations have the text model's values on their first level.
    text, vision = config.get("text_config") or config, config.get("vision_config") or {}
    weights_type = str(config.get("dtype") or text.get("dtype") or config.get("torch_dtype") or "float32")
    context = int(text.get("max_position_embeddings", 32_768))
    version = _encoder_version(called, folder)
    profile = ModelProfile(
        name=name or _short_name(model, folder),
        reads=Reads.FEATURES,
        frame_tokens=frame_tokens or 196,
        window_tokens=min(window_tokens or 8_192, context * 3 // 4),
        encoder_version=version,
        own_world=own_world,
    )
    layers = len(vision.get("deepstack_visual_indexes", ()))
    return Checkpoint(
        name=profile.name,
        folder=folder,
        model_class=FAMILIES[kind],
        profile=profile,
        pictures=_picture_rules(called, folder, vision, profile.frame_tokens),
        encoder_version=version,
        feature_width=int(text.get("hidden_size", 0)) * (1 + layers),
        feature_type=FeatureType.F16 if weights_type == "float16" else FeatureType.BF16,
        weights_type=weights_type,
        context_tokens=context,
        end_tokens=_end_tokens(folder),
    )


def _find(model: str) -> Path:
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    if folder.exists():
        raise ModelNotLoadable(model, "it is a file; give the folder that holds config.json")
    if not _HUB_NAME.fullmatch(model):
        raise ModelNotLoadable(model, "there is no such folder, and it is no hub name (owner/model)")
    return _fetch(model)


def _fetch(name: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError:
        raise ModelNotLoadable(name, "the extra 'encoder' is not installed") from None
    try:
        return Path(snapshot_download(name, allow_patterns=list(_HUB_FILES)))
    except LocalEntryNotFoundError:
        raise ModelNotLoadable(
            name, "the hub cannot be reached and there is no copy on this machine"
        ) from None
    except HFValidationError:
        raise ModelNotLoadable(name, "this is no hub name (owner/model)") from None
    except HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else "no answer"
        raise ModelNotLoadable(
            name, f"the hub refused it ({status}); is the name right, and is it open?"
        ) from None
    except OSError as error:
        raise ModelNotLoadable(
            name, f"it could not be fetched: {error.strerror or type(error).__name__}"
        ) from None


def _read_json(model: str, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        raise ModelNotLoadable(model, f"{path.name} is missing") from None
    except (OSError, ValueError) as error:
        raise ModelNotLoadable(model, f"{path.name} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise ModelNotLoadable(model, f"{path.name} holds no object")
    return value


def _picture_rules(model: str, folder: Path, vision: dict[str, Any], frame_tokens: int) -> PictureRules:
    """Return the picture rules; processor settings may stand alone or inside ``processor_config.json``."""
    path = folder / "preprocessor_config.json"
    if path.exists():
        settings = _read_json(model, path)
    else:
        settings = _read_json(model, folder / "processor_config.json").get("image_processor") or {}
    settings = {
        "patch_size": vision.get("patch_size"),
        "merge_size": vision.get("spatial_merge_size", 2),
        "temporal_patch_size": vision.get("temporal_patch_size", 2),
        "image_mean": _MEAN,
        "image_std": _STD,
        "rescale_factor": 1 / 255,
    } | settings
    try:
        red, green, blue = (float(value) for value in settings["image_mean"])
        red_std, green_std, blue_std = (float(value) for value in settings["image_std"])
        return PictureRules(
            patch_px=int(settings["patch_size"]),
            merge=int(settings["merge_size"]),
            temporal=int(settings["temporal_patch_size"]),
            mean=(red, green, blue),
            std=(red_std, green_std, blue_std),
            rescale=float(settings["rescale_factor"]),
            frame_tokens=frame_tokens,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelNotLoadable(model, f"its picture settings make no sense: {error}") from None


def _end_tokens(folder: Path) -> tuple[int, ...]:
    path = folder / "generation_config.json"
    if not path.exists():
        return ()
    try:
        found = json.loads(path.read_text()).get("eos_token_id") or ()
    except ValueError:
        return ()
    return (found,) if isinstance(found, int) else tuple(int(token) for token in found)


def _short_name(model: str, folder: Path) -> str:
    """Return the hub name as given, or the folder's own name: answers show no paths."""
    return folder.resolve().name if Path(model).expanduser().is_dir() else model


def _encoder_version(model: str, folder: Path) -> str:
    """Return 12 hex digits that change whenever features of the checkpoint would not fit together any more.

    Over the configuration, the picture settings, the weight index, sizes of the weight files and samples of their
    bytes (two trainings of one shape differ in nothing else), and our own format number.
    """
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise ModelNotLoadable(model, "there are no weights in it (*.safetensors)")
    seen = hashlib.sha256(f"livelens features {FEATURE_FORMAT}".encode())
    for name in (
        "config.json",
        "preprocessor_config.json",
        "processor_config.json",
        "model.safetensors.index.json",
    ):
        path = folder / name
        if path.exists():
            seen.update(f"\0{name}\0".encode() + path.read_bytes())
    try:
        for path in weights:
            _sample_weights(path, seen)
    except OSError as error:
        raise ModelNotLoadable(model, f"its weights cannot be read: {error.strerror}") from None
    return seen.hexdigest()[:12]


def _sample_weights(path: Path, seen: Any) -> None:
    """Hash a weight file's name, size, header and evenly spread samples (``seen`` is a hashlib object)."""
    size = path.stat().st_size
    seen.update(f"\0{path.name}\0{size}\0".encode())
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        seen.update(file.read(min(header_bytes, size)))
        for sample in range(_SAMPLES):
            file.seek(size * sample // _SAMPLES)
            seen.update(file.read(_SAMPLE_BYTES))
