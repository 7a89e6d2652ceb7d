"""Checks that auditwheel's findings in a wheel's files agree with the wheel's tag. Usage: check_wheel.py WHEEL"""

import re
import subprocess
import sys


def main(wheel):
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
