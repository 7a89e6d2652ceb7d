"""What an installation lacks is named in one sentence: an extension that fits this Python, kernels for a GPU."""

import os
import platform
import sys
import warnings
from pathlib import Path

_PACKAGE = Path(__file__).parent
_DRIVERS = ("/dev/kfd", "/dev/nvidiactl", "/usr/lib/wsl/lib/libcuda.so.1")  # there where AMD's or NVIDIA's driver is
HOW_TO_GET_KERNELS = "install a wheel that has kernels (docs/python.md, GPU kernels)"


def check_extension():
    try:
        import rapt._core  # noqa: F401
    except ImportError as error:
        raise ImportError(_why_not(error)) from None


def _why_not(error):
    found = sorted(_PACKAGE.glob("_core*.so"))
    if not found:
        return f"rapt has no compiled extension in {_PACKAGE}: install it with pip (in a checkout: pip install .)"
    python = f"Python {platform.python_version()} on {sys.platform} {platform.machine()}"
    tag = f"cp{sys.version_info.major}{sys.version_info.minor} or abi3, and {platform.machine()}"
    return (
        f"rapt's extension {found[0].name} does not load in {python} ({error}): if it comes from a wheel for another "
        f"system or Python, install one whose name has {tag}"
    )


def warn_without_kernels():
    """Once, on a machine with a GPU; asks only for files, so that an import takes no longer."""
    installed = (_PACKAGE / "lib").is_dir()
    if not installed or "RAPT_KERNEL_PATH" in os.environ or any((_PACKAGE / "lib" / "rapt").glob("*.rapt")):
        return
    if any(map(os.path.exists, _DRIVERS)):
        warnings.warn(f"rapt has no GPU kernels: CPU only; {HOW_TO_GET_KERNELS}", RuntimeWarning, stacklevel=2)


check_extension()
warn_without_kernels()
