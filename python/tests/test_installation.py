"""What an installation lacks is named when it is imported."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from rapt import _core, _doctor, _installation


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package without kernels, on a machine with a GPU."""
    (tmp_path / "lib" / "rapt").mkdir(parents=True)
    (tmp_path / "kfd").touch()
    monkeypatch.setattr(_installation, "_PACKAGE", tmp_path)
    monkeypatch.setattr(_installation, "_DRIVERS", (str(tmp_path / "kfd"),))
    monkeypatch.delenv("RAPT_KERNEL_PATH", raising=False)
    return tmp_path


def test_a_gpu_without_kernels_is_named(package):
    with pytest.warns(RuntimeWarning, match="^rapt has no GPU kernels: CPU only; install a wheel"):
        _installation.warn_without_kernels()


@pytest.mark.parametrize("case", ["kernels", "no GPU", "RAPT_KERNEL_PATH", "checkout"])
def test_nothing_is_said_otherwise(package, monkeypatch, case):
    if case == "kernels":
        (package / "lib" / "rapt" / "gfx942.rapt").touch()
    elif case == "no GPU":
        (package / "kfd").unlink()
    elif case == "RAPT_KERNEL_PATH":
        monkeypatch.setenv("RAPT_KERNEL_PATH", "/somewhere")
    else:
        (package / "lib").rename(package / "elsewhere")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _installation.warn_without_kernels()


def import_copy(folder):
    """Imports the package's files in this folder, whose extension may be another one."""
    for file in Path(_installation.__file__).parent.glob("*.py"):
        (folder / file.name).symlink_to(file)
    environment = {**os.environ, "PYTHONPATH": str(folder.parent)}
    result = subprocess.run([sys.executable, "-c", "import rapt"], env=environment, capture_output=True, text=True)
    assert result.returncode == 1
    return result.stderr.strip().splitlines()[-1]


def test_a_wheel_for_another_system(tmp_path):
    (tmp_path / "rapt").mkdir()
    (tmp_path / "rapt" / "_core.abi3.so").write_bytes(b"\x7fELF of another processor")
    said = import_copy(tmp_path / "rapt")
    assert said.startswith("ImportError: rapt's extension _core.abi3.so does not load in Python 3."), said
    assert "install one whose name has cp3" in said


def test_no_extension(tmp_path):
    (tmp_path / "rapt").mkdir()
    said = import_copy(tmp_path / "rapt")
    assert said.startswith("ImportError: rapt has no compiled extension in "), said
    assert "pip install ." in said


def test_doctor_names_a_gpu_without_kernels(monkeypatch):
    monkeypatch.setattr(_core, "archives", lambda: [("/folder/gfx942.rapt", "gfx942, 1 kernel")])
    devices = {10: [{"arch": x, "archive": x} for x in ("gfx942", "gfx1151")], 2: []}
    monkeypatch.setattr(_core, "devices", lambda kind: devices[kind])
    (line,) = _doctor._gpus_without_kernels()
    assert line.startswith("  no kernels for hip:1 (gfx1151), so it computes nothing: install a wheel")


def test_doctor_warns_of_an_old_rocm_on_strix_halo():
    (text,) = _doctor._rocm_warnings("gfx1151", "ROCm, HIP 7.1.25424")
    assert text.startswith("ROCm, HIP 7.1.25424 counts the registers of gfx1151 wrongly")
    for arch, runtime in (("gfx1151", "ROCm, HIP 7.2.26015"), ("gfx1100", "ROCm, HIP 7.1.25424"), ("gfx1151", "sim")):
        assert list(_doctor._rocm_warnings(arch, runtime)) == []


def test_doctor_warns_of_a_changed_name(monkeypatch):
    monkeypatch.setenv("HSA_OVERRIDE_GFX_VERSION", "11.0.0")
    (text,) = _doctor._rocm_warnings("gfx1100", "ROCm, HIP 7.2.26015")
    assert text.startswith("HSA_OVERRIDE_GFX_VERSION is 11.0.0")
    assert list(_doctor._rocm_warnings("sm_90", "CUDA driver 13.0")) == []
