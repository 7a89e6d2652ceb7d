"""Result files of the command line tools."""

import argparse
import os


def path_to_write(text: str) -> str:
    """An argparse type: a path whose folder exists, so that a long run does not fail at its end."""
    if os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{text} is a folder; it must be a file")
    folder = os.path.dirname(os.path.abspath(text))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text}: the folder {folder} does not exist or cannot be written to")
    return text


def write(path: str, text: str) -> None:
    """Writes a temporary file and renames it: the file is complete or absent."""
    partial = f"{path}.part"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, path)
