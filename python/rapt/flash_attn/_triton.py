"""FLASH_ATTENTION_TRITON_AMD_ENABLE, which asks FlashAttention for its backend by Triton on AMD GPUs."""

import os
import re
from pathlib import Path

from rapt import _core

WISH = "FLASH_ATTENTION_TRITON_AMD_ENABLE"
_ROWS = Path(__file__).parent / "triton"  # a tuning table for each architecture that has kernels by Triton
_BY_TRITON = re.compile(r"\.tq\d+k\d+w\d+$")  # how the names of such kernels end


def honour_wish() -> str:
    """Gives problems to Rapt's kernels by Triton if the variable is TRUE; "" or why that does nothing.

    The rows are read when Rapt first uses a GPU, so this must come before.
    """
    if os.environ.get(WISH, "").upper() != "TRUE" or os.environ.get("RAPT_TUNING") == str(_ROWS):
        return ""
    if os.environ.get("RAPT_TUNING"):
        return f"{WISH} is TRUE, but RAPT_TUNING is set too, and its rows choose the kernels"
    if not any(_has_kernels_by_triton(path) for path, _ in _core.archives()):
        return (
            f"{WISH} is TRUE, and no archive here has kernels by Triton (make archives TRITON=1): rapt.flash_attn "
            "chooses among its other kernels, and rapt.explain() names the chosen one"
        )
    os.environ["RAPT_TUNING"] = str(_ROWS)
    return ""


def forget_wish() -> None:
    if os.environ.get("RAPT_TUNING") == str(_ROWS):
        del os.environ["RAPT_TUNING"]


def _has_kernels_by_triton(path):
    if not (_ROWS / Path(path).stem).exists():
        return False
    try:
        return any(_BY_TRITON.search(name) for name in _core.archive_kernels(path))
    except (RuntimeError, ValueError):  # a damaged archive, which doctor names
        return False
