"""Checks a wheel's size and licences, and that its tag is what auditwheel finds. Usage: check_wheel.py WHEEL"""

import re
import subprocess
import sys
import zipfile
from email.parser import BytesParser
from pathlib import Path

LARGEST = 20_000_000
LINKED = {"zstd", "fmt", "CLI11", "nlohmann-json", "libstdc++", "nanobind", "robin_map"}


def check_size(wheel):
    size = Path(wheel).stat().st_size
    assert size <= LARGEST, f"{size / 1e6:.1f} MB, above {LARGEST / 1e6:.0f} MB"
    print(f"{Path(wheel).name}: {size / 1e6:.1f} MB")


def check_licences(wheel):
    """Each file that the metadata lists is there with a text, and each library that is linked in has one."""
    with zipfile.ZipFile(wheel) as files:
        (metadata,) = (name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        listed = BytesParser().parsebytes(files.read(metadata)).get_all("License-File")
        for name in listed:
            assert len(files.read(f"{Path(metadata).parent}/licenses/{name}")) > 500, name
    missing = {"LICENSE", *(f"third-party/{name}.txt" for name in LINKED)} - set(listed)
    assert not missing, f"no licence: {sorted(missing)}"


def main(wheel):
    check_size(wheel)
    check_licences(wheel)
    ours = re.search(r"-(cp3\d+-(?:cp3\d+|abi3))-manylinux_2_(\d+)_x86_64\.whl$", wheel)
    assert ours, f"{wheel}: its tag is not a manylinux tag"
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel], check=True, capture_output=True, text=True
    ).stdout
    print(" ".join(shown.split()))
    allowed = re.search(r'following platform tag:\s*"manylinux_2_(\d+)_x86_64"', shown)
    assert allowed, "auditwheel allows no manylinux tag"
    assert int(allowed[1]) <= int(ours[2]), f"the tag says glibc 2.{ours[2]}; the files need 2.{allowed[1]}"
    assert int(ours[2]) <= 28, f"the tag says glibc 2.{ours[2]}, newer than PyTorch's own wheels need"
    print(f"tag: {ours[1]}, manylinux_2_{ours[2]}")


main(sys.argv[1])
