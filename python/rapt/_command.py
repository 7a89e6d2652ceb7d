"""The command `rapt` of an installed package: the program in rapt/bin."""

import os
import sys
from pathlib import Path


def main():
    program = Path(__file__).parent / "bin" / "rapt"
    os.execv(program, [str(program), *sys.argv[1:]])
