#!/usr/bin/env python3
"""Compiles the kernels for architectures. Needs Triton, which `make nightly` installs in build/triton-venv.

build.py --arch gfx942 -o FOLDER [--only REGEX]          code objects for run.py
build.py --arch gfx942 -o FOLDER --compare sample        fails where the sample's differ from those of today
build.py --sample                                        writes the sample
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

SAMPLED = 3  # cases of each kernel that the sample has: it is to stay below 300 KB


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
    return Object(
        arch,
        case.name,
        data.name,
        data.num_warps,
        data.shared,
        ",".join(map(str, case.grid)),
        case.args,
        compiled.asm["hsaco"],
    )


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


def build(wanted):
    """Objects of pairs of architecture and case, and the number of those that the compiler did not take as expected."""
    objects, failed = [], 0
    compile_case(wanted[0][1], wanted[0][0])  # what the compiler sets up once, all children have then
    for arch, case in wanted:
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
            expected = refused or "code"
            print(f"FAILED: {arch} {case.name}: expected {expected}, got {'code' if o else text}", flush=True)
    return objects, failed


def spread(items, most):
    """At most so many of them, from the first to the last."""
    if len(items) <= most:
        return items
    return [items[n * (len(items) - 1) // (most - 1)] for n in range(most)]


def sampled(cases):
    """What the sample has: a few cases of each kernel, each for the next architecture that takes it."""
    by_kernel = {}
    for case in cases:
        by_kernel.setdefault(case.kernel, []).append(case)
    chosen = []
    for case in (case for several in by_kernel.values() for case in spread(several, SAMPLED)):
        archs = [arch for arch in ARCHS if arch not in {*case.refused, *case.left_out, *case.varies}]
        if archs:
            chosen.append((archs[len(chosen) % len(archs)], case))
    return chosen


def compare(objects, cases, archs, folder):
    """The number of objects of the sample that are not what the compiler makes today."""
    built = {(o.arch, o.case): o for o in objects}
    sample = {(o.arch, o.case): o for o in read_objects(folder, archs)}
    chosen = {(arch, case.name) for arch, case in sampled(cases) if arch in archs}
    differ = sorted(
        key for key in chosen | set(sample) if key not in sample or key not in built or sample[key] != built[key]
    )
    for arch, case in differ:
        print(f"FAILED: the sample's {arch} {case} differs: `build.py --sample` writes it anew", flush=True)
    return len(differ)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", nargs="+", choices=ARCHS, default=ARCHS)
    parser.add_argument("-o", "--output")
    parser.add_argument("--only", default="", help="cases whose name has this regular expression")
    parser.add_argument("--compare", metavar="FOLDER", help="with this sample")
    parser.add_argument("--sample", action="store_true", help="write the sample")
    options = parser.parse_args()
    all_cases = list(load_cases().values())
    if options.sample:
        objects, failed = build(sampled(all_cases))
        write_objects(Path(__file__).parent / "sample", sorted(objects, key=lambda o: ARCHS.index(o.arch)))
        return 1 if failed else 0
    cases = [case for case in all_cases if re.search(options.only, case.name)]
    objects, failed = build([(arch, case) for arch in options.arch for case in cases])
    if options.output:
        write_objects(options.output, objects)
    if options.compare:
        failed += compare(objects, all_cases, options.arch, options.compare)
    print(f"{len(objects)} code objects, {failed} failures", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
