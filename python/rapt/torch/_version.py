"""Imported first: an older torch lacks what the other modules import."""

import re

import torch

OLDEST = (2, 5)


def check(version: str) -> None:
    found = tuple(map(int, re.match(r"(\d+)\.(\d+)", version).groups()))
    if found < OLDEST:
        raise ImportError(
            f"rapt.torch needs PyTorch {'.'.join(map(str, OLDEST))} or newer, this is {version}: install a newer one, "
            "or call rapt.attention, which takes its tensors"
        )


check(torch.__version__)
