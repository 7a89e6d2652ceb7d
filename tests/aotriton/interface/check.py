"""Compares the interface of libaotriton_v2 with table.txt, which make_table.py made from AOTriton's headers.

Usage: check.py PROGRAM NM READELF LIBRARY   PROGRAM is ours.cpp
"""

import pathlib
import re
import subprocess
import sys

from make_table import RELEASES


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    program, nm, readelf, library = sys.argv[1:]
    table = pathlib.Path(__file__).with_name("table.txt").read_text(encoding="utf-8").splitlines()
    theirs = {line.split(": ", 1)[1]: line.split(": ", 1)[0] for line in table}
    lacking = set(RELEASES) - set(" ".join(theirs.values()).split())
    assert not lacking, f"table.txt has no line of {lacking}"
    exported = {line.split()[-1] for line in output(nm, "-D", "--defined-only", library).splitlines()}
    ours = set(output(program).splitlines()) | {f"symbol {name}" for name in exported}
    wrong = [f"{line} of {releases}: not ours" for line, releases in theirs.items() if line not in ours]
    wrong += [f"{line}: not AOTriton's" for line in ours - theirs.keys() if re.sub("C2E", "C1E", line) not in theirs]
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output(readelf, "-d", library))
    common = r"(libm|libgcc_s|libc|libpthread|libdl|ld-linux.*)\.so.*"
    wrong += [f"needs {name}" for name in needed if not re.fullmatch(common, name)]
    print("\n".join(sorted(wrong)) or f"{len(theirs)} sizes, offsets and names agree with {len(RELEASES)} releases; needs {' '.join(needed)}")
    sys.exit(bool(wrong))


main()
