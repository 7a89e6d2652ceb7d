"""Checks the loops of Triton's kernels for gfx942, from their disassembly.

In the loop without masks, no scalar register is spilled to lanes of a vector register, and the vector unit's clocks
over the matrix unit's are within LIMITS. Usage: loops.py FOLDER..., one for each architecture, with its .co files.
"""

import re
import subprocess
import sys
from pathlib import Path

LIMITS = {"d64": 1.15, "d128": 0.65}
# Clocks of a SIMD, from AMD's instruction set guide for MI300 (section 7). A vector instruction of 64 lanes takes 4, a
# transcendental one 16, a product of 16-bit types 32 for 32x32x8 and 16 for 16x16x16.
VECTOR, TRANSCENDENTAL, MATRIX = 4, 16, {"32x32": 32, "16x16": 16}
LINE = re.compile(r"^\s+(\S+).*// ([0-9A-F]+):")
TARGET = re.compile(r"<\S+\+0x([0-9a-f]+)>")


def loops(path):
    """The instructions of each loop: from a branch's target, if that is before it, to the branch."""
    text = subprocess.run(["llvm-objdump-22", "-d", path], check=True, capture_output=True, text=True).stdout
    lines = [(int(found[2], 16), found[1], line) for line in text.splitlines() if (found := LINE.match(line))]
    for address, name, line in lines:
        target = TARGET.search(line) if name.startswith(("s_cbranch", "s_branch")) else None
        if target and (begin := lines[0][0] + int(target[1], 16)) <= address:
            yield [instruction for at, instruction, _ in lines if begin <= at <= address]


def without_masks(path):
    """The shortest loop with products: loops over tiles at an edge have the comparisons of masks too."""
    return min((loop for loop in loops(path) if any("mfma" in i for i in loop)), key=len)


def ratio(loop):
    products = [i for i in loop if "mfma" in i]
    exponentials = sum(i.startswith("v_exp") for i in loop)
    vector = sum(i.startswith("v_") for i in loop) - len(products) - exponentials
    matrix = sum(clocks for product in products for shape, clocks in MATRIX.items() if shape in product)
    return (vector * VECTOR + exponentials * TRANSCENDENTAL) / matrix


def main():
    wrong, seen = [], 0
    for folder in map(Path, sys.argv[1:]):
        for path in sorted(folder.glob("*.t*.co")):
            seen += 1
            loop = without_masks(path)
            text = f"{folder.name} {path.stem}: {len(loop)} instructions"
            if lanes := sum(i.startswith(("v_readlane", "v_writelane")) for i in loop):
                wrong.append(f"{text}, {lanes} of them move registers to or from lanes")
            text += f", vector over matrix clocks {ratio(loop):.2f}"
            if ratio(loop) > (limit := LIMITS[path.name.split(".")[1]]):
                wrong.append(f"{text}, at most {limit} is allowed")
            print(text)
    print("\n".join(wrong) or f"{seen} kernels are within the limits")
    return bool(wrong) or seen == 0


if __name__ == "__main__":
    sys.exit(main())
