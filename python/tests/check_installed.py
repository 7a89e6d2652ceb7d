"""An installed wheel, in an environment that has only NumPy.

Usage: check_installed.py [FOLDER]   of archives and libaotriton_v2.so, which the wheel then has
"""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import rapt
from reference import assert_within_rule, forward

PACKAGE = Path(rapt.__file__).parent
PROGRAM = r"""
#include <cstdio>
#include "rapt/rapt.hpp"
int main() {
  for (size_t i = 0; const char* path = rapt_archive_found(i); ++i) std::puts(path);
}
"""


# Calls check_gpu of AOTriton, as a PyTorch for ROCm does.
TORCH_HIP = """
extern "C" int _ZN8aotriton2v25flash9check_gpuENS_14StreamTemplateIP12ihipStream_tEE(void*);
int ask() { return _ZN8aotriton2v25flash9check_gpuENS_14StreamTemplateIP12ihipStream_tEE(nullptr); }
"""


def check_attention():
    rng = np.random.default_rng(3)
    q, k, v = (
        rng.standard_normal((2, seqlen, heads, 64)).astype(np.float32) for seqlen, heads in ((70, 4), (90, 2), (90, 2))
    )
    out, lse = rapt.attention(q, k, v, causal=True, return_lse=True)
    plain, plain_lse = rapt.attention(q, k, v, causal=True, return_lse=True, backend="math")
    exact_out, exact_lse, limit = forward(q, k, v, causal=True)
    assert_within_rule("out", out, exact_out, plain, limit)
    assert_within_rule("lse", lse, exact_lse, plain_lse, limit)


def check_files(archives):
    """A C++ program with the wheel's headers and library, and the archives that the library finds."""
    found = {Path(path).name for path, _ in rapt._core.archives()}
    expected = {path.name for path in Path(archives).glob("*.rapt")} if archives else set()
    assert found >= expected, f"archives {found}, expected {expected}"
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "program.cpp"), Path(folder, "program")
        source.write_text(PROGRAM)
        library = PACKAGE / "lib"
        command = ["c++", "-std=c++20", source, "-I", PACKAGE / "include", "-o", program]
        subprocess.run([*command, library / "librapt.so", f"-Wl,-rpath,{library}"], check=True)
        listed = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
        assert {Path(path).name for path in listed} == found


def check_install_aotriton():
    """`rapt install-aotriton` of this wheel in a made-up torch, where the command loads what it installed."""
    with tempfile.TemporaryDirectory() as folder:
        source, lib = Path(folder, "torch_hip.cpp"), Path(folder, "torch", "lib")
        lib.mkdir(parents=True)
        source.write_text(TORCH_HIP)
        subprocess.run(["c++", "-shared", "-fPIC", source, "-o", lib / "libtorch_hip.so"], check=True)
        theirs = lib / "libaotriton_v2.so.0.11.1"
        theirs.write_bytes(b"AOTriton's own")
        command = [Path(sys.executable).with_name("rapt"), "install-aotriton", "--torch", Path(folder, "torch")]
        subprocess.run(command, check=True)
        assert theirs.read_bytes() == (PACKAGE / "lib" / "libaotriton_v2.so").read_bytes()
        subprocess.run([*command, "--undo"], check=True)
        assert theirs.read_bytes() == b"AOTriton's own"


def main(archives=None):
    assert importlib.util.find_spec("torch") is None, "must be run without torch"
    print(rapt.doctor())
    check_attention()
    check_files(archives)
    if archives:
        check_install_aotriton()
    print(f"rapt {rapt.__version__} in {PACKAGE}: ok")


main(*sys.argv[1:])
