"""python -m rapt.bench fastest: tables from rows, and the one of docs/performance/fastest.md."""

import json
import re
from pathlib import Path

import pytest
from rapt.bench.__main__ import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "performance" / "fastest.md"


def row(backend, ms, *, problem="b1 hq4 hk4 sq512 sk512 d64 bf16 causal", op="fwd", kernel="", **others):
    values = {"problem": problem, "op": op, "device": "cuda", "backend": backend, "kernel": kernel, "ms": ms}
    return json.dumps(values | others) + "\n"


def printed(capsys, tmp_path, rows, *options):
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(rows))
    assert main(["fastest", str(file), *options]) == 0
    return capsys.readouterr().out


def test_libraries(capsys, tmp_path):
    long = "b1 hq4 hk4 sq1024 sk1024 d64 bf16 causal"
    rows = [
        '{"about": "a comment"}\n',
        row("rapt", 1.0, kernel="forward.d64.bf16.plain.k64w8"),
        row("torch flash", 1.5),
        row("torch math", 9.0),
        row("rapt", 2.0, problem=long, kernel="forward.d64.bf16.plain.k64w8"),
        row("torch cudnn", 1.6, problem=long),
        row("torch flash", None, problem=long),
    ]
    out = printed(capsys, tmp_path, rows, "--markdown")
    assert out.startswith("cuda, bf16 causal, forward, measured\n\n| head_dim | 512 keys | 1024 keys |\n")
    assert "| 64, b1 hq4 hk4 | rapt forward.k64w8; torch flash 1.50 | torch cudnn; rapt forward.k64w8 1.25 |" in out


def test_kernels(capsys, tmp_path):
    """rapt compare's rows: each is a kernel of Rapt's. Rows of one kernel may be in several files: the least counts."""
    simulated = {"simulated": "time model 7"}
    names = ["forward.d64.bf16.plain.k32w4", "forward.d64.bf16.general.k32w4", "forward.d64.bf16.plain.tq64k128w4"]
    rows = [row("hip", ms, kernel=name, **simulated) for name, ms in zip(names, (2.0, 3.0, 4.0), strict=True)]
    out = printed(capsys, tmp_path, [*rows, row("hip", 1.0, kernel=names[2], **simulated)])
    assert "cuda, bf16 causal, forward, simulated by time model 7" in out
    assert "| forward.tq64k128w4 by Triton; forward.k32w4 2.00" in out


def test_the_commands_rows(capsys, tmp_path):
    """On a CPU the command's rows have the processor's name, a tier's kernel, and math, which is Rapt's too."""
    rows = [
        row("cpu", 1.0, device="AMD EPYC", kernel="avx512.fwd_tile", threads=2),
        row("math", 8.0, device="AMD EPYC", kernel="row", threads=2),
    ]
    out = printed(capsys, tmp_path, rows, "--markdown")
    assert out.startswith("AMD EPYC, 2 threads, bf16 causal, forward, measured\n")
    assert "| 64, b1 hq4 hk4 | avx512.fwd_tile; math 8.00 |" in out
    rows = [row("hip", 1.0, runtime="ROCm, HIP 7.2.0", threads=2)]
    assert printed(capsys, tmp_path, rows).startswith("cuda, bf16 causal, forward, measured\n")


def test_what_is_no_row(capsys, tmp_path):
    file = tmp_path / "rows.jsonl"
    for text, reason in (
        (None, "No such file"),
        ('{"device": "cuda"}', "line 1: it is no row of a bench: it lacks backend, ms"),
        ("5", "line 1: it is no row of a bench"),
        ("{", "line 1: it is no JSON"),
        (row("rapt", 1.0, op="no"), "line 1: op is 'no'; it must be fwd or bwd"),
    ):
        if text is not None:
            file.write_text(text)
        with pytest.raises(SystemExit) as end:
            main(["fastest", str(file)])
        assert end.value.code == 2 and reason in capsys.readouterr().err
    file.write_text(row("rapt", None))
    assert main(["fastest", str(tmp_path / "rows.jsonl")]) == 1


@pytest.mark.skipif(not PAGE.exists(), reason="docs are not here")
def test_the_page_has_what_the_command_prints(capsys):
    page = PAGE.read_text()
    rows = PAGE.parent / re.search(r"\((rows/[\w.-]+\.jsonl)\)", page)[1]
    assert main(["fastest", str(rows), "--markdown"]) == 0
    for block in capsys.readouterr().out.strip().split("\n\n")[1::2]:
        assert block in page
