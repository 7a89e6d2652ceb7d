"""scikit-build-core, whose Linux wheels then get the manylinux tag that the symbols of their files allow."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

from scikit_build_core import build
from scikit_build_core.build import *  # noqa: F403  the other hooks, as they are

# The glibc of the manylinux policy that first has each GLIBCXX_3.4.x; the oldest policy used here is that of 2.28.
_GLIBC_OF_GLIBCXX = {26: 31, 27: 31, 28: 31, 29: 34, 30: 35, 31: 38, 32: 38, 33: 39}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = build.build_wheel(wheel_directory, config_settings, metadata_directory)
    wheel = Path(wheel_directory, name)
    linux = re.search(r"-linux_(\w+)\.whl$", name)
    glibc = linux and _oldest_glibc(wheel)
    if not glibc:
        return name
    command = [sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", f"manylinux_2_{glibc}_{linux[1]}"]
    return subprocess.run([*command, str(wheel)], check=True, capture_output=True, text=True).stdout.strip()


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
