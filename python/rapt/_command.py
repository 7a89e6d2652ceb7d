"""The command `rapt` of an installed package: the program in rapt/bin."""

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "bin" / "rapt"


def main():
    os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])
