"""python -m rapt.bench measures what it says, and prints its tables."""

import json
import os
import time

import pytest
import rapt
import torch
from rapt.bench import html, layouts, measure, options, train
from rapt.bench.__main__ import main
from rapt.bench.rivals import Rival, rivals
from rapt.bench.run import TORCH_DTYPES, Row, measure_table
from rapt.bench.tables import TABLES, Case, Table
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

SMALL = Case("small", 1, 2, 64, 32, "fp32", True)


def rows_of(case, ops=("fwd", "bwd"), names=None):
    return list(measure_table("test", Table([case], names, ops), "cpu", 0.01, {}))


@pytest.mark.parametrize("dtype", TORCH_DTYPES)
def test_every_rival_computes_the_same(dtype):
    present, absent = rivals("cpu", TORCH_DTYPES[dtype])
    assert [r.name for r in present] == ["rapt", "torch", "torch flash", "torch math", "native"]
    assert set(absent) == {"torch efficient", "torch cudnn", "flash_attn", "aiter ck", "aiter triton"}
    q, k, v = (torch.randn(2, 3, 40, 32).to(TORCH_DTYPES[dtype]) for _ in range(3))
    for causal in (False, True):
        outs = [r.attention(q, k, v, causal) for r in present]
        assert all(out.dtype == q.dtype for out in outs)
        for out in outs[1:]:
            torch.testing.assert_close(out.float(), outs[0].float(), atol=2e-2, rtol=2e-2)


def test_a_row_is_what_was_measured():
    forward, backward = rows_of(SMALL)
    assert [r.backend for r in forward] == ["rapt", "torch", "torch flash", "torch math", "native"]
    pairs = 64 * 65 / 2  # causal
    for rows, op, flops in ((forward, "fwd", 4 * 2 * pairs * 32), (backward, "bwd", 10 * 2 * pairs * 32)):
        for r in rows:
            assert r.op == op and r.problem == "b1 hq2 hk2 sq64 sk64 d32 fp32 causal" and not r.error and r.runs >= 3
            assert 0 < r.ms_p20 <= r.ms and r.tflops == pytest.approx(flops / r.ms / 1e9)
        assert (
            rows[0].kernel == rapt.explain(rows[0].problem, op={"fwd": "forward", "bwd": "backward"}[op]).chosen.kernel
        )


def test_runs_alternate():
    order = []
    times = measure.alternate(
        {name: lambda name=name: (order.append(name), time.sleep(0.002)) for name in ("a", "b", "c")}, "cpu", 0.01
    )
    assert "abcabcabc" in "".join(order)
    assert all(2 <= t.ms < 50 and t.ms_p20 <= t.ms for t in times.values())


def test_peak_memory_is_what_a_call_allocates():
    found = measure.peak_bytes(lambda: torch.ones(16 << 20), "cpu")
    assert 60 << 20 < found < 80 << 20


def test_one_that_does_not_fit_is_not_run(monkeypatch):
    monkeypatch.setattr("rapt.bench.run.free_bytes", lambda device: 0)
    (rows,) = rows_of(SMALL, ("fwd",))
    errors = {r.backend: r.error for r in rows}
    assert errors["rapt"] == errors["torch flash"] == "" and "needs about" in errors["torch math"] + errors["native"]


def test_pinned_threads():
    before = torch.get_num_threads()
    with measure.pinned(1):
        assert torch.get_num_threads() == 1
        assert {r.threads for r in rows_of(SMALL, ("fwd",))[0]} == {1}
    assert torch.get_num_threads() == before
    with pytest.raises(ValueError, match="threads is 100000"), measure.pinned(100000):
        pass


def test_the_tables_are_those_of_the_documents():
    assert {len(TABLES[name]().cases) for name in ("strix-halo", "mi300x-d256")} == {10, 5}
    cpu = TABLES["cpu"]().cases
    assert len(cpu) == 7 * 2 * 3 * 2 and {c.threads for c in cpu} == {1, 2} and cpu[0].threads == 2
    xeon = TABLES["xeon"]().cases
    assert (
        len(xeon) == 72 * len({c.threads for c in xeon})
        and xeon[-1].problem == "b1 hq16 hk16 sq8192 sk8192 d128 fp16 causal"
    )


def test_peaks_are_those_of_the_command(monkeypatch, tmp_path):
    program = tmp_path / "rapt"
    program.write_text("#!/bin/sh\necho device cpu\necho probed peak, GFLOP/s: fp32 $2 $4\n")
    program.chmod(0o755)
    monkeypatch.setattr("os.path.exists", lambda path: False)  # as in a build tree, where the package has no command
    monkeypatch.setattr("shutil.which", lambda name: str(program))
    assert measure.probed_peak(3) == "probed peak, GFLOP/s: fp32 peaks 3"
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert "not installed" in measure.probed_peak(3)


def test_decode_has_one_query_and_groups_of_heads():
    problems = [case.problem for case in TABLES["decode"]().cases]
    assert problems[0] == "b1 hq8 hk8 sq1 sk8192 d128 fp32" and problems[-1] == "b1 hq64 hk8 sq1 sk16384 d128 fp16"
    assert TABLES["decode"]().cases[-1].flops("fwd") == 4 * 64 * 16384 * 128


@pytest.mark.parametrize("name", ["rapt", "torch math", "torch flash", "native"])
def test_rivals_group_heads_alike(name):
    present = {rival.name: rival for rival in rivals("cpu", torch.float32)[0]}
    q, k, v = (torch.randn(1, heads, rows, 16) for heads, rows in ((4, 1), (2, 9), (2, 9)))
    expected = scaled_dot_product_attention(q, k, v, enable_gqa=True)
    if name == "torch flash" and not hasattr(torch.library, "get_kernel"):  # torch 2.5's flash does not group heads
        with pytest.raises(RuntimeError, match="No available kernel"):
            present[name].attention(q, k, v, False)
    else:
        torch.testing.assert_close(present[name].attention(q, k, v, False), expected)


@pytest.mark.parametrize("name", options.NAMES)
def test_options_mean_the_same_to_each_library(name):
    q, k, v = (torch.randn(1, 2, 2304, 16) for _ in range(3))  # more than the window
    option = options.option(name, q, k)
    case = Case(name, 1, 2, 2304, 16, "fp32", name not in ("bias", "mask"), option=name)
    rapts, torchs = (rivals("cpu", torch.float32)[0][i].attention for i in (0, 1))
    out = rapts(q, k, v, case.causal, option)
    if option.mask is not None:
        other = torchs(q, k, v, case.causal, option)
    else:
        mask = create_block_mask(option.mask_mod, None, None, 2304, 2304, "cpu")
        other = flex_attention(q, k, v, score_mod=option.score_mod, block_mask=mask)
    torch.testing.assert_close(out, other, atol=1e-4, rtol=1e-3)
    assert case.flops("fwd") > 0


def test_a_rival_with_other_results_or_without_the_option_is_named(monkeypatch):
    monkeypatch.setattr("rapt.bench.run.rivals", lambda *_: ([Rival(n, f, False) for n, f in of_name.items()], {}))
    of_name = {
        "rapt": lambda q, k, v, causal: q + k + v,
        "wrong": lambda q, k, v, causal: 1.1 * (q + k + v),
    }
    found = {r.backend: r.error for rows in rows_of(SMALL) for r in rows}
    assert found == {"rapt": "", "wrong": "its result differs from rapt's by 0.1 of it"}
    case = SMALL._replace(option="alibi")
    monkeypatch.undo()
    (rows,) = rows_of(case, ("fwd",), ["rapt", "torch"])
    assert [r.error for r in rows] == ["", "it has no such option"] and rows[0].problem.endswith("causal alibi")


def test_the_ratios_of_a_table():
    measured = [[row("rapt", 1.0), row("torch", 2.0), row("torch flash", 3.0)], [row("rapt", 1.0), row("torch", 0.5)]]
    text = "\n".join(layouts.generic(iter(measured), "cpu"))
    assert "fwd torch            1.000, 0.500 (s512 causal), 2 cases" in text
    assert "fwd torch flash      3.000, 3.000 (s512 causal), 1 cases" in text


def test_strix_halo_and_its_files(tmp_path, capsys):
    files = tmp_path / "rows.json", tmp_path / "report.html"
    arguments = [
        "strix-halo",
        "--device",
        "cpu",
        "--rows",
        "Tiny",
        "--seconds",
        "0.01",
        "--json",
        files[0],
        "--html",
        files[1],
    ]
    assert main([str(a) for a in arguments]) == 0
    out = capsys.readouterr().out
    assert "Testing Tiny: B=1, H=1, S=128, D=64" in out and "| Operation" in out and "FW FLOPS (TF/s)" in out
    assert "| Causal rapt" in out and "| Full torch flash" in out and "Success with torch.bfloat16" in out
    assert "not here: flash_attn: not installed" in out
    rows = [json.loads(line) for line in files[0].read_text().splitlines()]
    assert (
        len(rows) == 2 * 2 * 5
        and {r["op"] for r in rows} == {"fwd", "bwd"}
        and {r["causal"] for r in rows} == {True, False}
    )
    assert files[1].read_text().count("<tr") == len(rows)
    assert sorted(tmp_path.iterdir()) == sorted(files)  # nothing half written is left


def test_where_rapt_has_no_backend_the_rivals_are_measured(monkeypatch, capsys):
    def refuse(query, *_, **__):
        if query.dtype != torch.float16:
            raise NotImplementedError(f"no backend takes {query.dtype}")
        return scaled_dot_product_attention(query, query, query)

    monkeypatch.setattr(rapt.torch, "sdpa", refuse)
    assert main(["strix-halo", "decode", "--device", "cpu", "--rows", "Tiny;g1", "--seconds", "0.01"]) == 0
    out = capsys.readouterr().out
    assert "| Causal torch flash" in out
    assert "Success with torch.float16" in out and "Failure with torch.float32: no backend takes torch.float32" in out
    assert "not here: rapt in bf16: no backend takes torch.bfloat16" in out
    assert "not here: flash_attn: not installed" in out


def row(backend, ms, **changes):
    values = dict(
        table="t", case="s512", problem="b4 hq8 hk8 sq512 sk512 d256 fp16 causal", op="fwd", device="cpu",
        backend=backend, kernel="k", dtype="fp16", causal=True, threads=2, ms=ms, ms_p20=ms, runs=3, tflops=1.0,
        extra_bytes=0, error="",
    )  # fmt: skip
    return Row(**values | changes)


def test_the_layout_of_the_mi300x_report():
    measured = [
        [row("rapt", 0.2), row("native", 0.4), row("aiter ck", 0.1)],
        [row("rapt", 0.2, case="s1024-d64", problem="b4 hq8 hk8 sq1024 sk1024 d64 fp16 causal")],
    ]
    lines = list(layouts.mi300x_d256(iter(measured), "cpu"))
    line = next(line for line in lines if line.startswith("(4, 512, 8, 256)"))
    assert line.split()[4:] == ["0.400", "0.100", "-", "0.200", "4.00x", "-", "2.00x"]
    assert "\nComparison (seq=1024, d_k=64):" in lines


@pytest.fixture
def simulated(monkeypatch):
    """A simulated GPU under the CPU's tensors; the value is what the events of one call say."""

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        record = synchronize = lambda self: None
        elapsed_time = lambda self, end: 0.25  # noqa: E731

    gpu = {"simulator": True, "time_model": "time model 7"}
    monkeypatch.setattr(measure, "simulated_gpu", lambda device: gpu)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    return gpu


def test_forecasts_say_that_they_are(simulated, tmp_path, capsys):
    files = tmp_path / "rows.json", tmp_path / "page.html"
    arguments = ["strix-halo", "--device", "cpu", "--rows", "Tiny", "--json", str(files[0]), "--html", str(files[1])]
    assert main(arguments) == 0
    rows = [json.loads(line) for line in files[0].read_text().splitlines()]
    assert {(r["simulated"], r["ms"], r["runs"], r["extra_bytes"]) for r in rows} == {("time model 7", 0.25, 1, None)}
    marked = "simulated (time model 7)"
    assert capsys.readouterr().out.count(marked) == files[1].read_text().count(marked) == len(rows)


def test_seconds_of_the_host_are_not_a_simulated_gpus(simulated, capsys):
    simulated["time_model"] = ""
    with pytest.raises(SystemExit) as exit:
        main(["strix-halo", "--device", "cpu"])
    assert exit.value.code == 2 and "RAPT_SIM_TIME=1" in capsys.readouterr().err


def test_geometric_means_and_slow_rows():
    measured = [[row("rapt", 1.0), row("torch flash", ms)] for ms in (1.0, 4.0)]
    text = "\n".join(layouts.cpu(iter(measured), "cpu"))
    assert "fwd fp16 threads 2: 2.00x, least 1.00x (2 rows)" in text
    assert len(text.partition("Rows below 1.05x:")[2].strip().splitlines()) == 1


def test_errors_are_shown():
    rows = [row("rapt", 1.0), row("native", None, ms_p20=None, tflops=None, extra_bytes=None, error="<too large>")]
    assert "native           <too large>" in "\n".join(layouts.generic(iter([rows]), "cpu"))
    without = list(layouts.generic(iter([[row("torch flash", 2.0)]]), "cpu"))  # where Rapt has no kernels yet
    assert "torch flash" in without[-1] and "rapt" not in "".join(without[1:])
    assert "rapt is 2.00x as fast" in list(layouts.generic(iter([[row("rapt", 1.0), row("native", 2.0)]]), "cpu"))[-1]
    assert "&lt;too large&gt;" in html.report(rows, "")


WRONG = [
    (["no"], "there is no table 'no'"),
    (["cpu", "--rows", "no"], "no row is named 'no'"),
    (["--rows", "Tiny;Smal"], "no row is named 'Smal'; the rows are Tiny; Small"),
    (["--rows", ""], "no row is named ''"),
    (["--json", "/no/such/folder/f"], "the folder /no/such/folder does not exist"),
    (["--json", ""], "the name is empty"),
    (["--device", "no"], "invalid choice: 'no'"),
    (["--device", "cuda"], "--device is cuda, and PyTorch has no GPU here"),
    (["strix-halo", "decode-gpu"], "the table decode-gpu's device is cuda, and PyTorch has no GPU here"),
    (["--seconds", "-1"], "-1 must be a number of seconds"),
    (["--seconds", "nan"], "nan must be a number of seconds"),
    (["cpu", "--threads", "0"], "0 must be at least 1"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_arguments(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2 and message in " ".join(capsys.readouterr().err.split())


def test_training(tmp_path, capsys, monkeypatch):
    file = tmp_path / "train.json"
    sizes = {"seq-len": 64, "d-model": 32, "n-layers": 2, "warmup-steps": 1, "timed-steps": 4, "threads": 1}
    arguments = ["train", *(x for name, size in sizes.items() for x in (f"--{name}", str(size)))]
    arguments += ["--device", "cpu", "--backends", "math", "rapt", "--output-json", str(file)]
    monkeypatch.setenv("AMD_SERIALIZE_KERNEL", "1")
    assert main([*arguments, "--data", __file__]) == 0
    out = capsys.readouterr().out
    assert (
        __file__ in out
        and "rapt took 10 forward and 10 backward calls" in out
        and "losses of rapt and math agree" in out
    )
    found = json.loads(file.read_text())
    (warning,) = found["config"]["warnings"]
    assert warning.startswith("AMD_SERIALIZE_KERNEL is 1: ") and f"warning: {warning}" in out
    assert found["config"]["variables"]["AMD_SERIALIZE_KERNEL"] == "1"
    assert found["summary"]["losses_agree"]
    for name in ("math", "rapt"):
        result = found["results"][name]
        assert len(result["losses"]) == 5 and all(4 < loss < 7 for loss in result["losses"])  # log(256) is 5.5
        assert (
            result["tokens_per_s"] == pytest.approx(2 * 64 * result["steps_per_s"]) and result["peak_memory_bytes"] > 0
        )
    assert found["results"]["math"]["ran"] == "aten::_scaled_dot_product_attention_math"
    assert found["summary"]["speedup_over_math"] > 0


def test_training_with_the_package_flash_attn(tmp_path, capsys, monkeypatch):
    """A made-up package, which chooses its backend when it is imported, as flash_attn does."""
    sizes = ["--seq-len", "64", "--d-model", "32", "--n-layers", "1", "--warmup-steps", "1", "--timed-steps", "2"]
    backends = ["flash-attn-ck", "flash-attn-triton"]
    arguments = ["train", *sizes, "--device", "cpu", "--data", __file__, "--backends", *backends]
    assert main([*arguments, "--output-json", str(tmp_path / "absent.json")]) == 1  # nothing was measured
    assert capsys.readouterr().out.count("the package flash_attn is not installed (pip install flash-attn") == 2
    assert json.loads((tmp_path / "absent.json").read_text())["summary"] == {}

    package = tmp_path / "flash_attn"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "flash_attn_interface.py").write_text("""
import os
import types
import torch
triton = os.environ["FLASH_ATTENTION_TRITON_AMD_ENABLE"] == "TRUE"
flash_attn_gpu = types.ModuleType("flash_attn.flash_attn_triton_amd.interface_v2" if triton else "flash_attn_2_cuda")

def flash_attn_func(q, k, v, causal):
    heads_first = (x.transpose(1, 2) for x in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(*heads_first, is_causal=causal).transpose(1, 2)
""")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    assert main([*arguments, "math", "rapt", "--output-json", str(tmp_path / "train.json")]) == 0
    out = capsys.readouterr().out
    assert "flash_attn.flash_attn_interface by flash_attn_2_cuda, 3 calls" in out
    assert "flash_attn.flash_attn_interface by flash_attn.flash_attn_triton_amd.interface_v2, 3 calls" in out
    assert "flash-attn-triton over flash-attn-ck: " in out and "rapt over flash-attn-ck: " in out
    summary = json.loads((tmp_path / "train.json").read_text())["summary"]
    assert summary["triton_speedup_over_ck"] > 0 and summary["losses_agree"]


def test_losses_that_differ_are_found():
    def result(losses):
        return {"median_step_ms": 1.0, "peak_memory_bytes": 1, "losses": losses}

    right = {"rapt": result([2.0, 1.0]), "math": result([2.0, 1.0005])}
    assert train.compare(right, "float32")["losses_agree"]
    for wrong in (1.002, float("nan")):
        assert not train.compare(right | {"rapt": result([2.0, wrong])}, "float32")["losses_agree"]


def test_a_backend_that_cannot_train_is_told():
    assert train.table({"cudnn": {"error": "no GPU"}})[1] == "cudnn             not measured: no GPU"
    assert train.compare({"rapt": {"error": "x"}}, "float32") == {}


@pytest.mark.parametrize(
    "option", [["--n-heads", "3"], ["--timed-steps", "0"], ["--threads", "0"], ["--data", "/no/such/file"]]
)
def test_wrong_training(option):
    with pytest.raises(SystemExit) as exit:
        main(["train", *option])
    assert exit.value.code == 2


def test_tables_of_a_cpu_are_measured_there(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert main(["cpu", "--rows", "1,4,256,64", "--dtype", "fp32", "--threads", "1", "--seconds", "0.01"]) == 0
    assert "b1 hq4 hk4 sq256" not in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["xeon", "--device", "cuda"])
    assert "--device is cuda; the table xeon is measured on cpu" in capsys.readouterr().err
