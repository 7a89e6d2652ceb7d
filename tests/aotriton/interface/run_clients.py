#!/usr/bin/env python3
"""Compiles client.cpp with the headers of each release of AOTriton and runs it with our library.

Usage: run_clients.py REPOSITORY LIBRARY RAPT   a clone of ROCm/aotriton, libaotriton_v2.so, librapt.so
The environment names the GPU: RAPT_HIP_LIBRARY, RAPT_SIM_ARCH and RAPT_KERNEL_PATH as in this folder's tests.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from make_table import HERE, RELEASES, headers, minor_of, run

ROOT = HERE.parent.parent.parent


def client(repository, release, library, rapt, folder):
    """Builds the client; returns the command's environment and the program. The library's name has the release."""
    headers(repository, release, folder)
    minor = minor_of(release)
    name = "libaotriton_v2.so" + (f".0.{minor}.0" if minor >= 8 else "")
    (folder / name).symlink_to(library)
    program = folder / "client"
    run("clang++-19", "-std=c++20", "-O1", "-w", f"-DRELEASE={minor}", f"-I{folder}/include", f"-I{HERE}", f"-I{ROOT}/include",
        HERE / "client.cpp", library, rapt, "-o", program)
    paths = f"{library.parent}:{rapt.parent}"
    return program, os.environ | {"LD_LIBRARY_PATH": paths, "LD_PRELOAD": str(folder / name)}


def main():
    repository, library, rapt = sys.argv[1], *(pathlib.Path(p).resolve() for p in sys.argv[2:])
    failed = []
    for release in RELEASES:
        with tempfile.TemporaryDirectory() as name:
            program, environment = client(repository, release, library, rapt, pathlib.Path(name))
            result = subprocess.run([program], env=environment, text=True, stdout=subprocess.PIPE, check=False)
            print(result.stdout, end="", flush=True)
            if result.returncode != 0:
                failed.append(release)
    sys.exit(f"failed: {failed}" if failed else 0)


main()
