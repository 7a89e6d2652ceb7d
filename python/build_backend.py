"""scikit-build-core, whose wheels get the licences of what they contain, and on Linux the manylinux tag that fits."""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from scikit_build_core import build
from scikit_build_core.build import *  # noqa: F403  the other hooks, as they are
from wheel_licences import licences

# The glibc of the manylinux policy that first has each GLIBCXX_3.4.x; the oldest policy used here is that of 2.28.
_GLIBC_OF_GLIBCXX = {26: 31, 27: 31, 28: 31, 29: 34, 30: 35, 31: 38, 32: 38, 33: 39}

_NO_KERNELS = (
    "rapt: no GPU kernels: CPU only. To get them, take a wheel that has them, or install a compiler and build again: "
    "for AMD GPUs `pip install ziglang`, for NVIDIA GPUs "
    "`pip install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime`"
)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = build.build_wheel(wheel_directory, config_settings, metadata_directory)
    wheel = Path(wheel_directory, name)
    _add_licences(wheel)
    with zipfile.ZipFile(wheel) as files:
        if not any(name.endswith(".rapt") for name in files.namelist()):
            print(_NO_KERNELS, flush=True)
    linux = re.search(r"-linux_(\w+)\.whl$", name)
    glibc = linux and _oldest_glibc(wheel)
    if glibc:
        name = _wheel("tags", "--remove", "--platform-tag", f"manylinux_2_{glibc}_{linux[1]}", wheel)
    return name


def _wheel(*arguments):
    command = [sys.executable, "-m", "wheel", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _add_licences(wheel):
    texts, missing = licences()
    if missing:
        print(f"rapt: no licence file of {', '.join(missing)} on this system: do not give this wheel to others")
    with tempfile.TemporaryDirectory() as folder:
        _wheel("unpack", "--dest", folder, wheel)
        (root,) = Path(folder).iterdir()
        (info,) = root.glob("*.dist-info")
        for name, text in texts.items():
            path = info / "licenses" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        metadata = info / "METADATA"
        own = "License-File: LICENSE\n"
        listed = own + "".join(f"License-File: {name}\n" for name in texts)
        metadata.write_text(metadata.read_text(encoding="utf-8").replace(own, listed, 1), encoding="utf-8")
        _wheel("pack", "--dest-dir", wheel.parent, root)


def _oldest_glibc(wheel):
    """The x of the manylinux_2_x that a wheel may be; None where that is not known (musl, a newer C++ run-time)."""
    with zipfile.ZipFile(wheel) as files:
        binaries = [data for data in map(files.read, files.namelist()) if data.startswith(b"\x7fELF")]

    def newest(pattern):  # the names of versions are in an ELF file's string tables
        return max((int(x) for data in binaries for x in re.findall(rb"\0" + pattern + rb"\.(\d+)\b", data)), default=0)

    glibc, glibcxx = newest(rb"GLIBC_2"), newest(rb"GLIBCXX_3\.4")
    if not glibc or glibcxx > max(_GLIBC_OF_GLIBCXX):
        return None
    return max(glibc, _GLIBC_OF_GLIBCXX.get(glibcxx, 28))
