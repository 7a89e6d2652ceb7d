#!/usr/bin/env python3
"""Writes table.txt from AOTriton's own headers, release by release. Usage: make_table.py REPOSITORY [TABLE]

REPOSITORY is a clone of ROCm/aotriton, or its git directory. Only numbers and names are kept from its headers. A line
of the table begins with the releases for which it is true.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
RELEASES = ["0.4b", "0.5b", "0.6b", "0.7b", "0.8b", "0.9b", "0.10b", "0.11b", "0.12b", "0.13b", "0.14b"]
CONFIG = """#pragma once
#define AOTRITON_NS aotriton
#define AOTRITON_API __attribute__((visibility("default")))
#define AOTRITON_BUILD_FOR_TUNING 0
"""


def run(*command, **options):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, **options).stdout


def headers(repository, release, folder):
    archive = run("git", "-c", "safe.directory=*", "-C", repository, "archive", release, "include")
    run("tar", "x", "-C", folder, input=archive)
    (folder / "include" / "aotriton" / "config.h").write_text(CONFIG)


def minor_of(release):
    return int(re.fullmatch(r"0\.(\d+)b", release)[1])


def lines_of(repository, release):
    minor = minor_of(release)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        headers(repository, release, folder)
        compile_probe = ("clang++-19", "-std=c++20", "-O0", "-w", f"-DRELEASE={minor}", f"-I{folder}/include", f"-I{HERE}")
        run(*compile_probe, "-c", HERE / "probe.cpp", "-o", folder / "probe.o")
        symbols = run("nm", "-u", folder / "probe.o", text=True).split()
        run(*compile_probe, "-DLAYOUT", HERE / "probe.cpp", "-o", folder / "probe", "-no-pie", "-Wl,--unresolved-symbols=ignore-all")
        layout = run(folder / "probe", text=True).splitlines()
    return layout + sorted(f"symbol {s}" for s in symbols if s.startswith(("_ZN8aotriton", "_ZNK8aotriton")))


def main():
    repository, table = sys.argv[1], pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else HERE / "table.txt")
    found = {}
    for release in RELEASES:
        for line in lines_of(repository, release):
            found.setdefault(line, []).append(release)
    table.write_text("".join(f"{' '.join(releases)}: {line}\n" for line, releases in found.items()))
    print(f"{table}: {len(found)} lines of {len(RELEASES)} releases")


if __name__ == "__main__":
    main()
