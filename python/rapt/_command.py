"""The command `rapt` of an installed package: the program in rapt/bin."""

import errno
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "bin" / "rapt"


def main():
    try:
        os.execve(PROGRAM, [str(PROGRAM), *sys.argv[1:]], _environment())
    except OSError as error:
        sys.exit(f"rapt: {_why_not(error)}")


def output(*arguments: str) -> str:
    """What the command prints. RuntimeError with one sentence if it cannot start or fails."""
    program = str(PROGRAM) if PROGRAM.exists() else shutil.which("rapt")  # on PATH, in a checkout
    if program is None:
        raise RuntimeError("the command rapt is not installed")
    try:
        result = subprocess.run([program, *arguments], capture_output=True, text=True, env=_environment())
    except OSError as error:
        raise RuntimeError(_why_not(error)) from None
    if result.returncode:
        lines = result.stderr.strip().splitlines() or [f"it ended with {result.returncode}"]
        raise RuntimeError(f"the command rapt failed: {lines[-1]}")
    return result.stdout


def hip_of_packages() -> str | None:
    """The HIP library of pip's ROCm packages: PyTorch's own, or the one of AMD's package rocm-sdk-core."""
    for package in ("torch", "_rocm_sdk_core"):
        spec = importlib.util.find_spec(package)
        for folder in spec.submodule_search_locations or () if spec else ():
            found = sorted(Path(folder, "lib").glob("libamdhip64.so*"), reverse=True)
            if found:
                return str(found[0])
    return None


def _environment():
    hip = None if "RAPT_HIP_LIBRARY" in os.environ else hip_of_packages()
    return {**os.environ, "RAPT_HIP_LIBRARY": hip} if hip else dict(os.environ)


def _why_not(error):
    if isinstance(error, PermissionError):
        return f"{PROGRAM} may not be run, as after unpacking the wheel by hand: install it with pip, or chmod +x it"
    if error.errno == errno.ENOEXEC:
        return f"{PROGRAM} is for another processor: install a wheel whose name has {platform.machine()}"
    if not PROGRAM.exists():
        return f"{PROGRAM} is missing: install rapt again (a wheel that pip built has it)"
    return f"{PROGRAM} cannot start: {error.strerror}"
