"""The command rapt as an installed package starts it."""

import os
import stat

import pytest
from rapt import _command


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "rapt"
    path.write_text('#!/bin/sh\necho "hip=$RAPT_HIP_LIBRARY $@"; test "$1" != fail || { echo why >&2; exit 3; }\n')
    path.chmod(0o755)
    monkeypatch.setattr(_command, "PROGRAM", path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("RAPT_HIP_LIBRARY", raising=False)
    monkeypatch.setattr(_command, "hip_of_packages", lambda: None)
    return path


def test_output(program):
    assert _command.output("a", "b") == "hip= a b\n"
    with pytest.raises(RuntimeError, match="^the command rapt failed: why$"):
        _command.output("fail")


def test_a_program_that_may_not_be_run(program):
    program.chmod(stat.S_IRUSR)
    if os.access(program, os.X_OK):
        pytest.skip("this user may run any file")
    with pytest.raises(RuntimeError, match=r"/rapt may not be run, as after unpacking the wheel by hand: .*chmod \+x"):
        _command.output()
    with pytest.raises(SystemExit, match=r"^rapt: .* may not be run"):
        _command.main()


def test_a_program_that_cannot_start(program):
    program.write_text("#!/nowhere/interpreter\n")
    with pytest.raises(SystemExit, match=r"^rapt: .*/rapt cannot start: No such file or directory$"):
        _command.main()


def test_a_program_for_another_processor(program):
    program.write_bytes(b"\x7fELF of another processor")
    with pytest.raises(SystemExit, match=r"^rapt: .*/rapt is for another processor: install a wheel whose"):
        _command.main()


def test_no_program(program, monkeypatch):
    program.unlink()
    with pytest.raises(SystemExit, match=r"^rapt: .*/rapt is missing: install rapt again"):
        _command.main()
    monkeypatch.setenv("PATH", str(program.parent))
    with pytest.raises(RuntimeError, match="not installed"):
        _command.output()


def test_hip_of_pips_packages(program, tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.delenv("RAPT_HIP_LIBRARY", raising=False)
    monkeypatch.setattr(_command, "PROGRAM", program)
    folder = tmp_path / "site" / "_rocm_sdk_core"
    (folder / "lib").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "lib" / "libamdhip64.so.7").touch()
    (tmp_path / "site" / "torch" / "lib").mkdir(parents=True)
    (tmp_path / "site" / "torch" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr("importlib.util.find_spec", finder(tmp_path / "site"))
    assert _command.output() == f"hip={folder}/lib/libamdhip64.so.7 \n"
    (tmp_path / "site" / "torch" / "lib" / "libamdhip64.so").touch()
    assert _command.output() == f"hip={tmp_path}/site/torch/lib/libamdhip64.so \n"
    monkeypatch.setenv("RAPT_HIP_LIBRARY", "mine")
    assert _command.output() == "hip=mine \n"


def finder(folder):
    """importlib.util.find_spec, which only knows the packages of one folder."""
    from importlib.machinery import PathFinder

    return lambda name: PathFinder.find_spec(name, [str(folder)])
