"""Finds the ``config.json`` of a model that is planned for; a hub name fetches that one small file, no weights."""

import json
from pathlib import Path

from models.errors import ModelNotLoadable
from models.plan_shape import Config, ModelShape, shape_of

CONFIG = "config.json"
_BUILTIN = "builtin"


def read_shape(model: str) -> ModelShape:
    """Return the shape of a model.

    Args:
        model: ``builtin``, a folder with a ``config.json``, such a file, or a hub name (owner/model).
    Raises:
        ModelNotLoadable: there is none, or it is of no shape that livelens knows. A hub name may wait for the network.
    """
    path = _find(model)
    try:
        config: Config = json.loads(path.read_text())
    except FileNotFoundError:
        raise ModelNotLoadable(model, f"there is no {CONFIG} in it") from None
    except (OSError, ValueError) as error:
        raise ModelNotLoadable(model, f"{path.name} cannot be read: {error}") from None
    if not isinstance(config, dict):
        raise ModelNotLoadable(model, f"{path.name} holds no object")
    return shape_of(config, _short_name(model))


def usual_tokens(model: str, shape: ModelShape) -> tuple[int, int]:
    """Return the vision tokens of a frame and of a question where the settings name none."""
    if model == _BUILTIN:
        from models.builtin import architecture

        return architecture.FRAME_TOKENS, architecture.WINDOW_TOKENS
    return 196, min(8_192, shape.text.context_tokens * 3 // 4)


def _find(model: str) -> Path:
    if model == _BUILTIN:
        return Path(__file__).parent / "builtin" / "weights" / CONFIG
    path = Path(model).expanduser()
    if path.is_dir():
        return path / CONFIG
    if path.is_file():
        return path
    if model.count("/") == 1 and not model.startswith((".", "/", "~")):
        return _fetch(model)
    raise ModelNotLoadable(model, "there is no such folder, and it is no hub name (owner/model)")


def _fetch(name: str) -> Path:
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError:
        raise ModelNotLoadable(
            name,
            f"the extra 'encoder' is not installed, which fetches by name; give a folder with its {CONFIG}",
        ) from None
    try:
        return Path(hf_hub_download(name, CONFIG))
    except LocalEntryNotFoundError:
        raise ModelNotLoadable(
            name, f"the hub cannot be reached and there is no copy here; give a folder with its {CONFIG}"
        ) from None
    except HFValidationError:
        raise ModelNotLoadable(name, "this is no hub name (owner/model)") from None
    except HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else "no answer"
        raise ModelNotLoadable(name, f"the hub refused it ({status}); is the name right, and open?") from None
    except OSError as error:
        raise ModelNotLoadable(name, f"it could not be fetched: {error}") from None


def _short_name(model: str) -> str:
    path = Path(model).expanduser()
    if path.is_dir():
        return path.resolve().name
    return path.resolve().parent.name if path.is_file() else model
