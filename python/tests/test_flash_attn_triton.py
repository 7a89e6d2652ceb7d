"""FLASH_ATTENTION_TRITON_AMD_ENABLE with rapt.flash_attn.install()."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import rapt.flash_attn
from rapt import _core
from rapt.flash_attn import _triton

BUILT = Path(__file__).resolve().parents[2] / "tests" / "gpu" / "triton"  # kernels by Triton, in the repository
needs_kernels = pytest.mark.skipif(not BUILT.exists(), reason="tests/gpu/triton is not here")


@pytest.fixture(autouse=True)
def wish(monkeypatch):
    monkeypatch.setenv(_triton.WISH, "TRUE")
    monkeypatch.setenv("RAPT_TUNING", "")
    yield
    rapt.flash_attn.uninstall()


def test_without_kernels_by_triton_one_warning_says_so(monkeypatch):
    monkeypatch.setattr(_core, "archives", lambda: [("/folder/gfx942.rapt", ""), ("/folder/gfx908.rapt", "")])
    monkeypatch.setattr(_core, "archive_kernels", lambda path: ["forward.d64.bf16.plain.k32w4"])
    with pytest.warns(
        UserWarning, match="TRITON_AMD_ENABLE is TRUE, and no archive here has kernels by Triton"
    ) as said:
        rapt.flash_attn.install()
    assert len(said) == 1 and not os.environ["RAPT_TUNING"]


def test_the_users_own_rows_win(monkeypatch):
    monkeypatch.setenv("RAPT_TUNING", "/my/rows")
    with pytest.warns(UserWarning, match="RAPT_TUNING is set too, and its rows choose"):
        rapt.flash_attn.install()
    assert os.environ["RAPT_TUNING"] == "/my/rows"


@pytest.mark.parametrize("value", ["FALSE", "0", ""])
def test_no_wish(monkeypatch, recwarn, value):
    monkeypatch.setenv(_triton.WISH, value)
    rapt.flash_attn.install()
    assert not recwarn.list and not os.environ["RAPT_TUNING"]


def test_uninstall_forgets_the_wish(monkeypatch):
    monkeypatch.setattr(_core, "archives", lambda: [("/folder/gfx942.rapt", "")])
    monkeypatch.setattr(_core, "archive_kernels", lambda path: ["forward.d64.bf16.plain.tq64k128w4"])
    rapt.flash_attn.install()
    rapt.flash_attn.install()  # again, as a library that is imported twice may do
    assert os.environ["RAPT_TUNING"].endswith("triton")
    rapt.flash_attn.uninstall()
    assert "RAPT_TUNING" not in os.environ


@needs_kernels
def test_the_rows_name_the_kernels_that_are_built():
    arch, *kernels = (BUILT / "kernels").read_text().split()
    leading = {name for name in kernels if name.startswith(("forward.", "backward_dkv."))}
    rows = [line for line in (_triton._ROWS / arch).read_text().splitlines() if not line.startswith("#")]
    assert {word.removeprefix("use=") for row in rows for word in row.split() if word.startswith("use=")} == leading


@needs_kernels
@pytest.mark.skipif("RAPT_HIP_LIBRARY" not in os.environ, reason="RAPT_HIP_LIBRARY names no HIP")
def test_kernels_by_triton_run():
    code = """
import rapt, rapt.flash_attn
rapt.flash_attn.install()
for op, dtype in (("forward", "fp16"), ("backward", "bf16")):
    chosen = rapt.explain(f"b2 hq4 hk4 sq256 sk256 d64 {dtype} causal", op=op, device="hip:0").chosen
    assert ".tq64k" in chosen.kernel and "triton/gfx942 line" in chosen.reason, chosen
"""
    environment = {"RAPT_SIM_ARCH": "gfx942", "RAPT_KERNEL_PATH": str(BUILT), _triton.WISH: "TRUE", "RAPT_TUNING": ""}
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=os.environ | environment)
