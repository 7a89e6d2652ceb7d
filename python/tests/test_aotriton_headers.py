"""PyTorch's own code that fills in AOTriton's structs, compiled with Rapt's include/aotriton."""

import shutil
import subprocess
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
TORCH = Path(torch.__file__).parent / "include"
ADAPTER = TORCH / "ATen" / "native" / "transformers" / "hip" / "aotriton_adapter.h"
PROGRAM = ROOT / "tests" / "aotriton" / "interface" / "torch_adapter.cpp"
CXX = shutil.which("c++")


@pytest.mark.skipif(not PROGRAM.exists(), reason="the repository's tests are not here")
@pytest.mark.skipif(not ADAPTER.exists(), reason="this torch does not have aotriton_adapter.h")
@pytest.mark.skipif(CXX is None, reason="there is no C++ compiler")
def test_torchs_adapter_compiles(tmp_path):
    adapter = ADAPTER.read_text()
    minor = 14 if "VARLEN_BITS" in adapter else 13
    headers = tmp_path / "aotriton"
    shutil.copytree(ROOT / "include" / "aotriton", headers)
    (headers / "config.h").write_text(
        (headers / "config.h.in").read_text().replace("@RAPT_AOTRITON_MINOR@", str(minor))
    )
    folders = (tmp_path, PROGRAM.parent, TORCH, TORCH / "torch" / "csrc" / "api" / "include")
    command = [
        CXX,
        "-std=c++20",
        "-fsyntax-only",
        "-w",
        f"-DHAS_INPUT_AND_OUTPUT={int('mk_input_aotensor' in adapter)}",
    ]
    result = subprocess.run([*command, *(f"-I{x}" for x in folders), PROGRAM], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
