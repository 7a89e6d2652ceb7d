"""python -m rapt.bench rates: tables for pages from rows of --json."""

import json

import pytest
from rapt.bench.__main__ import main


def row(backend, ms, **others):
    values = {"table": "fa3", "case": "d64-s512", "problem": "b1 hq4 hk4 sq512 sk512 d64 bf16", "op": "fwd"}
    values |= {"device": "cuda", "backend": backend, "dtype": "bf16", "causal": False, "ms": ms, "error": ""}
    values |= {"tflops": ms and 100 / ms, "card": {"name": "a card", "driver": "1"}}
    return json.dumps(values | others) + "\n"


def test_tables(capsys, tmp_path):
    rows = [
        row("torch cudnn", 1.0),
        row("rapt", 0.5),
        row("torch flash", 2.0),
        row("torch cudnn", 3.0, causal=True),
        row("rapt", 4.0, causal=True),
        row("torch flash", None, causal=True, error="out of memory"),
        row("rapt", 8.0, op="bwd"),
    ]
    (tmp_path / "rows.jsonl").write_text("".join(rows))
    assert main(["rates", str(tmp_path / "rows.jsonl")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("fa3: a card, driver 1, bf16\n")
    assert "| forward | torch cudnn | 1.22 | 0.75 (d64-s512 causal) | 2 |" in out
    assert "| forward | torch flash | 4.00 | 4.00 (d64-s512) | 1 |" in out
    assert "| forward | the best | 1.22 | 0.75 (d64-s512 causal) | 2 |" in out
    assert "| case | forward: rapt | forward: torch cudnn | forward: torch flash | backward: rapt |" in out
    assert "| d64-s512 | 200 | 100 | 50 | 12 |" in out
    assert "| d64-s512 causal | 25 | 33 |  |  |" in out
    assert main(["rates", "--backends", "rapt;torch flash", str(tmp_path / "rows.jsonl")]) == 0
    assert "cudnn" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["rates", "--backends", "rapt;flesh", str(tmp_path / "rows.jsonl")])
    assert "no row is of 'flesh'" in capsys.readouterr().err
    assert main(["rates", "--us", str(tmp_path / "rows.jsonl")]) == 0
    assert "| d64-s512 | 500.0 | 1000.0 | 2000.0 | 8000.0 |" in capsys.readouterr().out


def test_no_rows(capsys, tmp_path):
    file = tmp_path / "rows.jsonl"
    with pytest.raises(SystemExit):
        main(["rates", str(file)])
    assert "No such file" in capsys.readouterr().err
    file.write_text('{"problem": "b1", "op": "fwd", "device": "cuda", "backend": "cuda", "ms": 1.0}')
    with pytest.raises(SystemExit):
        main(["rates", str(file)])
    assert "it lacks case, causal, dtype, table, tflops" in capsys.readouterr().err
    file.write_text(row("rapt", None))
    assert main(["rates", str(file)]) == 1
    assert "no row has a time" in capsys.readouterr().err
