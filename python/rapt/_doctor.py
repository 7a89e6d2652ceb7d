"""doctor(): what Rapt finds on this machine."""

import contextlib
import os
import platform
import re
import sys
from pathlib import Path

from rapt import _core
from rapt._explain import explain
from rapt._installation import HOW_TO_GET_KERNELS

_GPUS = {"hip": ("HIP", 10), "cuda": ("CUDA", 2)}  # DLPack's numbers


def doctor() -> str:
    """The versions, the CPU's instruction tiers, the GPUs and the kernel archives that this process sees, as text."""
    lines = [f"rapt {_core.version} in {os.path.dirname(_core.__file__)}"]
    lines.append(f"Python {platform.python_version()}, {_library('numpy')}, {_library('torch')}")
    lines += ["", f"CPU: {os.cpu_count()} threads, instruction tiers, fastest on this processor first"]
    best = next((name for name, available in _core.cpu_tiers() if available), None)
    for name, available in _core.cpu_tiers():
        lines.append(f"  {name:<12} {'used' if name == best else 'available' if available else 'not on this machine'}")
    lines += [f"  {c.reason}" for c in explain("b1 hq1 hk1 sq1 sk1 d64 bf16").candidates if c.backend == "cpu"]
    lines += ["", "GPUs", *(line for name in _GPUS for line in _gpus(name)), "", "kernel archives"]
    lines += [f"  {path}: {contents}" for path, contents in _core.archives()] or [
        "  none in RAPT_KERNEL_PATH or next to the library"
    ]
    lines += _gpus_without_kernels()
    return "\n".join(lines)


def _library(name):
    module = sys.modules.get(name)
    return f"{name} {module.__version__}" if module else f"{name} not imported"


def _gpus_without_kernels():
    there = {Path(path).stem for path, _ in _core.archives()}
    for name, (_, number) in _GPUS.items():
        with contextlib.suppress(RuntimeError):
            for i, device in enumerate(_core.devices(number)):
                arch = device["arch"]
                if device["archive"] not in there:
                    yield f"  no kernels for {name}:{i} ({arch}), so it computes nothing: {HOW_TO_GET_KERNELS}"


def _gpus(name):
    library, number = _GPUS[name]
    try:
        found = _core.devices(number)
    except RuntimeError as error:
        return [f"  no {library}: {error}"]
    lines = []
    for i, d in enumerate(found):
        lines.append(
            f"  {name}:{i} {d['name']} ({d['target']}), {d['memory'] / 2**30:.0f} GiB, {d['runtime']}, {d['library']}"
        )
        lines += [f"    warning: {text}" for text in _rocm_warnings(d["arch"], d["runtime"])]
    return lines or [f"  {library} finds none"]


def _rocm_warnings(arch, runtime):
    """What the user's ROCm gets wrong for a device; its releases have HIP's numbers."""
    release = re.match(r"ROCm, HIP (\d+)\.(\d+)", runtime)
    if arch == "gfx1151" and release and tuple(map(int, release.groups())) < (7, 2):
        yield (
            f"{runtime} counts the registers of {arch} wrongly, which can crash programs (ROCm/TheRock#2991): "
            "install ROCm 7.2 or newer"
        )
    given = os.environ.get("HSA_OVERRIDE_GFX_VERSION")
    if given and arch.startswith("gfx"):
        yield (
            f"HSA_OVERRIDE_GFX_VERSION is {given}, so ROCm gives every GPU that name: unset it, Rapt has kernels of "
            "their own for all of RDNA 3, 3.5 and 4"
        )
