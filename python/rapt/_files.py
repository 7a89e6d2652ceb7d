"""Result files of the command line tools."""

import argparse
import contextlib
import json
import math
import os


def path_to_write(text: str) -> str:
    """An argparse type: a path that can be written to, so that a long run does not fail at its end."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty; it must be a file")
    if os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{text} is a folder; it must be a file")
    if _is_special(text):
        return text
    folder = os.path.dirname(os.path.abspath(text))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text}: the folder {folder} does not exist or cannot be written to")
    return text


def write(path: str, text: str) -> None:
    """Writes a temporary file and renames it: the file is complete or absent. A pipe or device is written to."""
    if _is_special(path):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
        return
    partial = f"{path}.{os.getpid()}.part"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def json_of(value, indent: int | None = None) -> str:
    """The value as JSON. NaN and infinities, for which JSON has no numbers, become null."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value):
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def _is_special(path):
    """True for what must not be replaced by a file: a pipe, a device, and names such as /dev/stdout."""
    return os.path.abspath(path).startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path))
