#!/usr/bin/env python3
"""Compiles the kernels, or those of the sample, for architectures; needs Triton (requirements.txt).

  build.py gfx942 gfx1100 -o FOLDER [--only REGEX]    all kernels
  build.py --check-sample gfx942                      are the sample's objects what the compiler makes today?
  build.py --sample                                   writes the sample
"""

import argparse
import os
import pickle
import re
import sys
import tempfile
from pathlib import Path

# Before Triton is imported. Line information would hold this folder's path.
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
CACHE = tempfile.TemporaryDirectory()
os.environ.setdefault("TRITON_CACHE_DIR", CACHE.name)

import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource, compile  # noqa: E402

from support.case import Format, load_cases  # noqa: E402
from support.objects import ARCHS, Object, read_objects, write_objects  # noqa: E402


def lanes(arch):
    return 64 if arch.startswith("gfx9") else 32


def constant(value):
    if not isinstance(value, Format):
        return value
    return tl.dtype(value.triton if value.is_float else value.name.replace("i", "int").replace("u", "uint"))


def compile_case(case, arch):
    assert list(case.signature) == case.kernel.arg_names, f"{case.name}: {case.kernel.arg_names}"
    constants = {name: constant(value) for name, value in case.compiled_in.items()}
    source = ASTSource(case.kernel, case.signature, constants, case.attributes)
    options = {"num_warps": case.warps, "enable_fp_fusion": True} | case.options
    compiled = compile(source, target=GPUTarget("hip", arch, lanes(arch)), options=options)
    data = compiled.metadata
    assert data.global_scratch_size == data.profile_scratch_size == 0, case.name
    return Object(arch, case.name, data.name, data.num_warps, data.shared, ",".join(map(str, case.grid)),
                  case.args, compiled.asm["hsaco"])


def compile_in_child(case, arch):
    """The object and what the compiler said: it may also abort, which must not end the build."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as result:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 2)
            try:
                pickle.dump(compile_case(case, arch), result)
                result.flush()
            except Exception as error:  # the compiler's own kinds differ
                print(error, file=sys.stderr, flush=True)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        result.seek(0)
        text = said.read().decode()
        return pickle.load(result) if status == 0 and os.fstat(result.fileno()).st_size else None, text


def build(cases, archs):
    """Objects, and the number of cases that the compiler did not take as expected."""
    objects, failed = [], 0
    compile_case(cases[0], archs[0])  # what the compiler sets up once, all children have then
    for arch in archs:
        for case in cases:
            if arch in case.left_out:
                print(f"left out: {arch} {case.name}: {case.left_out[arch]}", flush=True)
                continue
            o, text = compile_in_child(case, arch)
            refused = case.refused.get(arch)
            if o is not None and refused is None:
                objects.append(o)
            elif o is None and refused is not None and refused in text:
                print(f"refused by the compiler: {arch} {case.name}: {refused}", flush=True)
            else:
                failed += 1
                print(f"FAILED: {arch} {case.name}: expected {refused or 'code'}, got {'code' if o else text}", flush=True)
    return objects, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", nargs="+", choices=ARCHS, default=ARCHS)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--only", default="", help="cases whose name has this regular expression")
    options = parser.parse_args()
    cases = [case for name, case in load_cases().items() if re.search(options.only, name)]
    objects, failed = build(cases, options.arch)
    write_objects(options.output, objects)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
