#!/usr/bin/env python3
"""Compiles each public header alone, as C99 and C++20 without a warning, and builds and runs the examples in their
comments: indented lines below a line that begins with "Example:", as the body of main().

Usage: headers.py INCLUDE C_COMPILER CXX_COMPILER LIBRARY
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

FEWEST_EXAMPLES = 5
WARNINGS = ["-pedantic-errors", "-Wall", "-Wextra", "-Werror"]
COMMENT = re.compile(r"^\s*(?:/\*|\*/|\*|//) ?(.*)$")


def examples(text):
    """The code of each example in a header."""
    code = None
    for line in [*text.splitlines(), ""]:
        comment = COMMENT.match(line)
        inside = comment and (not comment[1].strip() or comment[1].startswith("    "))
        if code is not None and inside:
            code.append(comment[1])
        elif code is not None:
            yield "\n".join(code)
            code = None
        if comment and comment[1].startswith("Example:"):
            code = []


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def main():
    include, c, cxx, library = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
    as_c = [c, "-std=c99", *WARNINGS, f"-I{include}"]
    as_cxx = [cxx, "-std=c++20", *WARNINGS, f"-I{include}"]
    ran = 0
    with tempfile.TemporaryDirectory() as folder:
        for header in sorted((include / "rapt").iterdir()):
            use = f'#include "rapt/{header.name}"\n'
            compilers = [as_c, as_cxx] if header.suffix == ".h" else [as_cxx]
            for compiler in compilers:
                run([*compiler, "-fsyntax-only", "-x", "c" if compiler is as_c else "c++", "-"], input=use)
            for code in examples(header.read_text(encoding="utf-8")):
                source = pathlib.Path(folder, "example.c" if header.suffix == ".h" else "example.cpp")
                source.write_text(f"{use}#include <stdio.h>\nint main(void) {{\n{code}\nreturn 0;\n}}\n")
                run([*compilers[0], source, library, "-o", f"{folder}/example"])
                run([f"{folder}/example"], env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)})
                ran += 1
    if ran < FEWEST_EXAMPLES:
        sys.exit(f"{include} has {ran} examples, must have at least {FEWEST_EXAMPLES}")
    print(f"headers: each compiles alone; {ran} examples ran")


main()
