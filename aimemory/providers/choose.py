"""Which provider the settings mean, and loading it. Imports nothing of the extra until something is loaded."""

import importlib.util
import stat
from dataclasses import dataclass
from pathlib import Path

from aimemory.config import Recall
from aimemory.errors import Unavailable

EXTRA = "the extra `aimemory-local[vectors]`"
_NEEDED = {"static": ("numpy", "tokenizers", "wordllama"), "endpoint": ("numpy",)}
_PROBE_S = 10.0
_MOST_KEY_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Choice:
    """A provider by name, or why there is none."""

    provider: str | None
    why: str = ""


def choose(settings: Recall) -> Choice:
    """What the settings mean on this machine."""
    if settings.vectors == "off":
        return Choice(None, "[recall] vectors is off")
    provider = "static" if settings.vectors == "auto" else settings.vectors
    missing = [name for name in _NEEDED[provider] if importlib.util.find_spec(name) is None]
    if missing:
        return Choice(None, f"{EXTRA} is not installed ({', '.join(missing)} missing)")
    return Choice(provider)


def load(provider: str, settings: Recall, key_file: Path) -> object:
    """A `StaticModel` or a `Dense` one. Blocks. Raises Unavailable."""
    if provider == "endpoint":
        from aimemory.providers.endpoint import Endpoint, Place

        return Endpoint(Place(settings.endpoint, settings.model, _key(key_file)), _PROBE_S)
    from aimemory.providers.static import StaticModel, wheel_folder

    folder = wheel_folder()
    if folder is None:
        raise Unavailable("The wheel wordllama lacks its files.")
    return StaticModel(folder)


def closed(model: object) -> None:
    """End what a provider has under way."""
    close = getattr(model, "close", None)
    if close is not None:
        close()


def _key(file: Path) -> str:
    """The key for the endpoint: a file that only its owner can read, or none."""
    try:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise Unavailable(f"{file} can be read by others; `chmod 600` it.")
        key = file.read_text(encoding="utf-8")[:_MOST_KEY_BYTES].strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(f"{file} can't be read ({type(error).__name__}).") from error
    if not key.isascii() or not key.isprintable():
        raise Unavailable(f"{file} holds no key.")
    return key
