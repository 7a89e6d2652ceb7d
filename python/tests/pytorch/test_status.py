"""What rapt.torch.status says of this machine."""

import torch
from rapt.torch import status


def test_backends_on_the_cpu():
    lines = status.backends("cpu")
    assert "forced FLASH_ATTENTION: OK" in lines and "forced MATH: OK" in lines
    assert any(line.startswith("forced CUDNN_ATTENTION: ") and not line.endswith("OK") for line in lines)


def test_variables_that_make_times_too_long(monkeypatch):
    for name in ("AMD_SERIALIZE_KERNEL", "HIP_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING"):
        monkeypatch.delenv(name, raising=False)
    assert status.warnings() == []
    monkeypatch.setenv("AMD_SERIALIZE_KERNEL", "3")
    monkeypatch.setenv("HIP_LAUNCH_BLOCKING", "0")
    (warning,) = status.warnings()
    assert warning == "AMD_SERIALIZE_KERNEL is 3: kernels wait for each other, so times on a GPU are too long"
    assert status.variables()["HIP_LAUNCH_BLOCKING"] == "0" and f"warning: {warning}" in status.lines()


def test_whose_aotriton(monkeypatch, tmp_path):
    (tmp_path / "lib").mkdir()
    monkeypatch.setattr(torch, "__file__", str(tmp_path / "__init__.py"))
    assert status.aotriton().startswith("none")
    library = tmp_path / "lib" / "libaotriton_v2.so.0.11.1"
    library.write_bytes(b"...")
    assert status.aotriton() == f"{library}, not by Rapt, not loaded yet"
    library.write_bytes(b"...RAPT_KERNEL_PATH...")
    assert status.aotriton() == f"{library}, by Rapt, not loaded yet"
    monkeypatch.setattr(status, "_loaded", lambda name: [library])
    assert status.aotriton() == f"{library}, by Rapt"


def test_a_wish_for_composable_kernel(monkeypatch):
    monkeypatch.setattr(torch.version, "hip", "7.2")
    monkeypatch.setattr(
        torch.backends.cuda, "preferred_rocm_fa_library", lambda: "_ROCmFABackend.AOTriton", raising=False
    )
    monkeypatch.delenv("TORCH_ROCM_FA_PREFER_CK", raising=False)
    assert "preferred_rocm_fa_library: _ROCmFABackend.AOTriton" in status.lines()
    assert not any("Composable" in line for line in status.lines())
    monkeypatch.setenv("TORCH_ROCM_FA_PREFER_CK", "1")
    assert any("Composable Kernel: torch asks it only" in line for line in status.lines())
