#!/usr/bin/env python3
"""Runs code objects of a folder on the simulator, with every check on, and compares what they give with numpy.

  run.py FOLDER --library build/sim/sim/lib/libamdhip64.so.7 [--arch gfx942] [--only REGEX] [--orders 0 1 2]

Each order is a RAPT_SIM_SEED, in a process of its own. Arguments go by kernelParams in even ones, else by `extra`.
"""

import argparse
import ctypes
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from support.case import Array, load_cases
from support.hip import Hip, HipError
from support.objects import ARCHS, read_objects

ALIGNED = 256  # what hipMalloc gives
CTYPES = {
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "f16": ctypes.c_uint16,
    "bf16": ctypes.c_uint16,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}


class Run:
    """One launch: its arrays on the device, its arguments, and what it left in the arrays."""

    def __init__(self, hip, case):
        self.hip, self.case, self.bases, self.pointers = hip, case, {}, {}
        for name, value in case.passed.items():
            if isinstance(value, Array):
                skew = value.skew * value.raw.itemsize
                self.bases[name] = hip.allocate(value.nbytes + skew)
                self.pointers[name] = self.bases[name] + skew
                if value.written:
                    hip.upload(self.pointers[name], value.raw)

    def arguments(self):
        values = []
        for name, value in self.case.passed.items():
            if isinstance(value, Array):
                values.append(ctypes.c_void_p(self.pointers[name]))
            else:
                scalar = self.case.scalar(value)
                narrow = scalar.format.name in ("f16", "bf16")
                number = int(scalar.format.encode(scalar.value).view(np.uint16)) if narrow else scalar.value
                values.append(CTYPES[scalar.format.name](number))
        scratch = [
            ctypes.c_void_p(),
            ctypes.c_void_p(),
        ]  # Triton's global and profile scratch, which no kernel here needs
        return values + scratch

    def wrong(self):
        """A line for each array that is not what the case expects."""
        lines = []
        for name, expected in self.case.results.items():
            array = self.case.arguments[name]
            got = Array(array.format, np.empty_like(array.raw))
            self.hip.download(got.raw, self.pointers[name])
            wrong = expected.wrong(got)
            if wrong.any():
                place = tuple(int(n) for n in np.argwhere(wrong)[0])
                lines.append(
                    f"{np.count_nonzero(wrong)} of {wrong.size} wrong in {name}: {list(place)} is "
                    + expected.describe(got, place)
                )
        return lines

    def free(self):
        for base in self.bases.values():
            self.hip.free(base)


def run_one(hip, o, case, in_buffer):
    """What is wrong, as lines."""
    if o.grid != ",".join(map(str, case.grid)) or o.args != case.args:
        return ["the object was made for another grid or other arguments: build it again"]
    run = Run(hip, case)
    module = hip.load(o.code)
    threads = o.warps * (64 if o.arch.startswith("gfx9") else 32)
    grid = (*case.grid, 1, 1)[:3]
    try:
        hip.launch(module, o.symbol, grid, threads, o.lds, run.arguments(), in_buffer)
        return run.wrong()
    except HipError as error:
        hip("hipDeviceReset")  # a device that met a fault refuses everything else
        return [str(error)]
    finally:
        hip.unload(module)
        run.free()


def run_all(library, objects, cases, in_buffer, log):
    """The number of objects that fail."""
    hip = Hip(library)
    failed, seen = 0, 0
    for o in objects:
        hip.set_device(ARCHS.index(o.arch))
        start = time.monotonic()
        lines = run_one(hip, o, cases[o.case], in_buffer)
        seconds = time.monotonic() - start
        said = Path(log).read_text()[seen:]
        seen += len(said)
        if lines:
            failed += 1
            print(f"{o.arch} {o.case}:", *lines, *said.splitlines(), sep="\n    ", flush=True)
        if seconds > 1:
            print(f"{o.arch} {o.case}: {seconds:.1f} s", flush=True)
    return failed


def in_child(order, library, objects, cases):
    """Another process, because the library reads its settings once."""
    child = os.fork()
    if child == 0:
        with tempfile.NamedTemporaryFile("r") as log:
            os.environ.setdefault("RAPT_SIM_CHECK", "all")
            os.environ |= {"RAPT_SIM_ARCH": ",".join(ARCHS), "RAPT_SIM_SEED": str(order), "RAPT_SIM_LOG": log.name}
            failed = run_all(library, objects, cases, order % 2 == 1, log.name)
        os._exit(failed != 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--library", required=True)
    parser.add_argument("--arch", nargs="+", choices=ARCHS, default=ARCHS)
    parser.add_argument("--only", default="", help="cases whose name has this regular expression")
    parser.add_argument("--orders", nargs="+", type=int, default=[0])
    options = parser.parse_args()

    cases = load_cases()
    objects = [o for o in read_objects(options.folder, options.arch) if re.search(options.only, o.case)]
    gone = sorted({o.case for o in objects if o.case not in cases})
    if gone:
        print(f"{options.folder} has cases that kernels/ has no more: build it again: {', '.join(gone)}", flush=True)
        return 1
    for o in objects:
        _ = cases[o.case].results  # once for all children
    failed = 0
    for order in options.orders:
        start = time.monotonic()
        status = in_child(order, options.library, objects, cases)
        failed |= status != 0
        verdict, seconds = "FAILED" if status else "all right", time.monotonic() - start
        print(f"order {order}: {len(objects)} launches, {verdict}, {seconds:.1f} s", flush=True)
    return 1 if failed or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
