#!/usr/bin/env python3
"""Compiles kernels of one architecture: for each, NAME.co and NAME.json, which has what only the compiler knows.

compile.py --arch gfx942 -o FOLDER NAME:OPERATION:KEY=VALUE,KEY=VALUE... ...

The keys are those of rows of kernels/manifest. A kernel is compiled in a child process: the compiler may abort."""

import argparse
import ctypes
import json
import os
import sys
import tempfile
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

# The compiler orders some things by their addresses: the same bytes need the same addresses.
NO_RANDOM_ADDRESSES = 0x0040000  # ADDR_NO_RANDOMIZE of personality(2)
libc = ctypes.CDLL(None)
if not libc.personality(0xFFFFFFFF) & NO_RANDOM_ADDRESSES:
    if libc.personality(NO_RANDOM_ADDRESSES) == -1:
        sys.exit("compile.py: the system does not let a process switch off random addresses (personality)")
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})

# Before Triton is imported. Line information would have this folder's path.
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
CACHE = tempfile.TemporaryDirectory()
os.environ["TRITON_CACHE_DIR"] = CACHE.name

import arguments  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from backward_dkv import backward_dkv  # noqa: E402
from backward_dq import backward_dq  # noqa: E402
from forward import forward  # noqa: E402
from triton import knobs  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402
from triton.runtime import driver  # noqa: E402

OPERATIONS = {
    "forward": (forward, arguments.forward),
    "backward_dq": (backward_dq, arguments.backward),
    "backward_dkv": (backward_dkv, arguments.backward),
}
TYPES = {"fp16": tl.float16, "bf16": tl.bfloat16}
Kernel = namedtuple("Kernel", "name operation row")


def kernel(text):
    name, operation, settings = text.split(":")
    return Kernel(name, operation, dict(setting.split("=", 1) for setting in settings.split(",")))


def target(arch):
    if arch.startswith("sm_"):
        return GPUTarget("cuda", int(arch.removeprefix("sm_")), 32)
    return GPUTarget("hip", arch, 32)  # Triton knows the wave's lanes from the architecture


def options(row, arch):
    common = {"num_warps": int(row["waves"]), "num_stages": int(row["stages"]), "enable_fp_fusion": True}
    if arch.startswith("sm_"):
        return common
    return common | {
        "matrix_instr_nonkdim": int(row["mfma"]),
        "waves_per_eu": int(row["waves_per_eu"]),
        "llvm_fn_attrs": row.get("flags", ""),
        "allow_flush_denorm": True,  # exp2 is then one instruction
    }


def compiled(k, arch):
    row = k.row
    knobs.nvidia.ptxas = knobs.nvidia.ptxas_blackwell.path  # that of CUDA 13, whose code objects the packer reads
    function, struct = OPERATIONS[k.operation]
    types = struct(row["dtype"])
    constants = {
        "SYMBOL": k.name.replace(".", "_"),
        "DTYPE": TYPES[row["dtype"]],
        "HEAD_DIM": int(row["head_dim"]),
        "BLOCK_Q": int(row["block_q"]),
        "BLOCK_K": int(row["block_k"]),
        "EDGE_K": min(int(row["block_k"]), 32) if arch.startswith("sm_") else int(row["block_k"]),
        "P_EXPONENT": 7 if row["dtype"] == "fp16" else 0,
    }
    constants = {name: value for name, value in constants.items() if name in function.arg_names}
    signature = {"a": types} | dict.fromkeys(constants, "constexpr")
    driver.set_active(SimpleNamespace(get_current_target=lambda: target(arch)))  # for is_hip() in kernels
    source = ASTSource(function, signature, constants, arguments.aligned(types))
    return triton.compile(source, target=target(arch), options=options(row, arch))


def write(k, arch, folder):
    made = compiled(k, arch)
    data = made.metadata
    assert data.global_scratch_size == data.profile_scratch_size == 0, f"{k.name} needs scratch memory"
    facts = {"compiler": f"Triton {triton.__version__}", "shared": data.shared}
    folder.joinpath(k.name + ".json").write_text(json.dumps(facts) + "\n")
    folder.joinpath(k.name + ".co").write_bytes(made.asm["cubin" if arch.startswith("sm_") else "hsaco"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", required=True)
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("kernels", nargs="+", type=kernel)
    asked = parser.parse_args()
    failed = 0
    for k in asked.kernels:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                write(k, asked.arch, asked.output)
                status = 0
            except Exception as error:  # the compiler's own kinds differ
                print(error, file=sys.stderr, flush=True)
            os._exit(status)
        if os.waitpid(child, 0)[1] != 0:
            print(f"{asked.arch} {k.name}: the compiler failed", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
