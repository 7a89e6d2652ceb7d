"""python -m rapt.verify passes right results, and finds wrong results and missing backends."""

import json
import subprocess
import sys

import numpy as np
import pytest
import rapt
import rapt.verify
import torch
from rapt._float64 import Bounds, attention_float64, error_and_allowance


def test_everything_is_right_here(tmp_path):
    file = tmp_path / "verify.json"
    run = subprocess.run(
        [sys.executable, "-m", "rapt.verify", "--json", file], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert torch.__version__ in run.stdout and rapt.__version__ in run.stdout and "in Rapt" in run.stdout
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) > 5 * 3 * len(rapt.verify.PROBLEMS)  # out, lse, dq, dk and dv of three types
    assert all(row["ok"] and row["error"] <= row["allowance"] and row["reasons"] for row in rows)
    assert {row["tensor"] for row in rows} == {"out", "lse", "dq", "dk", "dv", "dbias", "dsink"}


INF = float("inf")
NAN = float("nan")
RULE = [  # result, exact, whether that is allowed; the plain formula's first value is off by 1
    ([5, -8], [4, -8], True),
    ([4, -10.5], [4, -8], False),
    ([4, INF], [4, INF], True),
    ([4, NAN], [4, NAN], True),
    ([4, 7], [4, INF], False),
    ([4, -INF], [4, INF], False),
    ([4, NAN], [4, INF], False),
    ([4, INF], [4, 7], False),
    ([4, NAN], [4, 7], False),
    ([4, INF], [4, 1e6], True),  # beyond fp16's range its infinity and its largest value are the same
    ([4, 65504], [4, 1e6], True),
    ([4, -INF], [4, -65510], True),
    ([4, 60000], [4, 1e6], False),
    ([4, -INF], [4, 1e6], False),
    ([4, NAN], [4, 1e6], False),
    ([4, INF], [4, 64992], False),
]


def _bounds(largest_logit, spread=0.0, **reach):
    return Bounds(largest_logit, spread, dict.fromkeys(("out", "lse", "dq", "dk", "dv"), 0.0) | reach)


@pytest.mark.parametrize(("result", "exact", "allowed"), RULE)
@pytest.mark.parametrize("kind", [np.array, torch.tensor])
def test_the_rule(result, exact, allowed, kind):
    half = {np.array: np.float16, torch.tensor: torch.float16}[kind]
    plain = [exact[0] + 1, float(np.clip(exact[1], -65504, 65504))]
    error, allowance = error_and_allowance(
        "out", kind(result, dtype=half), np.array(exact), kind(plain, dtype=half), _bounds(0)
    )
    assert (error <= allowance) == allowed
    if abs(exact[1]) < INF:
        assert allowance == 2 + 4 * 2.0**-24 * min(max(map(abs, exact)), 65504)


def test_the_rule_for_lse():
    of = [np.array([x], np.float32) for x in (4, 5)]
    assert error_and_allowance("lse", of[0], np.array([4.0]), of[1], _bounds(3))[1] == 2 + (4 * 2.0**-24 * 4 + 1e-6)


@pytest.mark.parametrize(("name", "allowed"), [("out", 3.5), ("dv", 5), ("dq", 0.5)])
def test_logits_allow_no_more_than_wrong_weights_could(name, allowed):
    of = np.array([8], np.float16)
    bounds = _bounds(1e11, 3.0, dv=5.0)
    assert error_and_allowance(name, of, np.array([8.0]), of, bounds)[1] == pytest.approx(allowed, abs=1e-30)


@pytest.mark.parametrize(("name", "shape"), [("out", (1, 2, 2, 1)), ("lse", (1, 2, 2))])
def test_vague_rows_allow_nothing_in_others(name, shape):
    q = np.ones((1, 2, 2, 1))
    q[0, 1, 0] = 1e9  # head 0, row 1
    results, bounds = attention_float64(q, np.array([[[[1.0]], [[1.0 + 1e-9]]]]), np.array([[[[5.0]], [[8.0]]]]))
    assert bounds.vague_rows.tolist() == [[[False, True], [False, False]]]
    assert bounds.clear_logit < 2 and bounds.spread == 3
    exact = results[name]
    assert exact.shape == shape
    for at in np.ndindex(shape):
        wrong = exact.astype(np.float32)
        wrong[at] += 1
        error, allowance = error_and_allowance(name, wrong, exact, exact.astype(np.float32), bounds)
        assert (error <= allowance) == (at == ((0, 1, 0, 0) if name == "out" else (0, 0, 1)))


def test_rows_with_nan_do_not_count():
    k = np.array([1.0, 2, NAN, 4, 5]).reshape(1, 5, 1, 1)
    with np.errstate(invalid="ignore"):
        bounds = attention_float64(np.full((1, 3, 1, 1), 1e9), k, np.ones((1, 5, 1, 1)), causal="top-left")[1]
    assert bounds.largest_logit == 2e9


@pytest.mark.parametrize(
    ("options", "cancelled"),
    [
        ({}, {"dq": 2 * 28 * 5, "dk": 2 * 28 * 3}),
        ({"softmax_scale": 2.0}, {"dq": 4 * 28 * 5, "dk": 4 * 28 * 3}),
        ({"bias": -5.0, "sink": -20.0}, {"dq": 21 * 5, "dk": 21 * 3}),  # half of the weight
    ],
)
def test_terms_that_cancel_in_dp_minus_delta(options, cancelled):
    one = np.ones((1, 1, 1, 1))
    shapes = {"bias": (1, 1, 1, 1), "sink": (1,)}
    options = {name: np.full(shapes[name], x) if name in shapes else x for name, x in options.items()}
    bounds = attention_float64(3 * one, -5 * one, -7 * one, 2 * one, **options)[1]
    assert bounds.cancelled == pytest.approx(cancelled | {"clear dq": cancelled["dq"]}, rel=1e-12)
    bounds = bounds._replace(reach=dict.fromkeys(bounds.reach, 0.0))
    for name in ("dq", "dk", "dv", "dbias", "dsink"):
        x = np.ones(1, np.float32)
        error, allowance = error_and_allowance(name, x, np.zeros(1), np.zeros(1, np.float32), bounds)
        assert error == 1 and allowance == pytest.approx(2.0**-24 * cancelled.get(name, 0), rel=1e-12)
        assert error_and_allowance(name, x, x, x, bounds._replace(largest_logit=0.0))[1] < 2.0**-21  # not needed


def test_a_vague_row_allows_dq_of_others_nothing():
    q, k, v, dout = np.random.default_rng(1).standard_normal((4, 1, 16, 1, 64))
    k[:, -1] *= 4e6  # which only the last row sees
    exact, bounds = attention_float64(q, k, v, dout, causal=True)
    assert list(bounds.vague_rows.ravel()) == [False] * 15 + [True]
    wrong = exact["dq"].astype(np.float32)
    wrong[:, :-1] = 0
    error, allowance = error_and_allowance("dq", wrong, exact["dq"], exact["dq"].astype(np.float32), bounds)
    assert error > 1e3 * allowance


HUGE = [("zeros", False), ("one key", False), ("mean", True)]


@pytest.mark.parametrize(("result", "allowed"), HUGE)
def test_equal_huge_logits_do_not_hide_a_wrong_result(result, allowed):
    q, v = np.full((1, 64, 1, 128), 133120.0), np.random.default_rng(1).standard_normal((1, 64, 1, 128))
    exact, bounds = attention_float64(q, q, v)
    assert bounds.largest_logit > 1e11 and bounds.spread == 0
    right = exact["out"].astype(np.float32)
    out = {"zeros": 0 * right, "one key": 0 * right + v[:, :1].astype(np.float32), "mean": right}[result]
    error, allowance = error_and_allowance("out", out, exact["out"], right, bounds)
    assert (error <= allowance) == allowed


def test_a_finite_mask_is_no_logit():
    generator = np.random.default_rng(1)
    q, k, v = (generator.standard_normal((1, 8, 1, 16)) for _ in range(3))
    bias = np.where(np.arange(8) % 3 == 1, -1e9, 0.0).reshape(1, 1, 1, 8)
    assert attention_float64(q, k, v, bias=bias)[1].largest_logit < 100


@pytest.fixture
def one_problem(monkeypatch):
    monkeypatch.setattr(rapt.verify, "PROBLEMS", rapt.verify.PROBLEMS[:1])


@pytest.mark.parametrize("wrong", ["off", "nan"])
def test_a_wrong_result_is_found(monkeypatch, one_problem, capsys, wrong):
    right = rapt.attention

    def attention(*tensors, **options):
        out, lse = right(*tensors, **options)
        if options["backend"] != "math":
            out[0, 3, 1, 5] += 0.02 if wrong == "off" else float("nan")
        return out, lse

    monkeypatch.setattr(rapt, "attention", attention)
    assert rapt.verify.main([]) == 1
    assert "3 wrong" in capsys.readouterr().out


def test_no_backend_is_a_failure(one_problem, capsys, tmp_path):
    file = tmp_path / "verify.json"
    assert rapt.verify.main(["--backend", "hip", "--json", str(file)]) == 1
    assert "no backend takes it" in capsys.readouterr().out
    assert "Infinity" not in file.read_text()  # is no JSON
    assert all(json.loads(line)["error"] is None for line in file.read_text().splitlines())


WRONG = [["--backend", "no"], ["--device", "no"], ["--device", "meta"], ["--json", "/no/such/folder/file"]]


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_arguments(arguments):
    with pytest.raises(SystemExit) as exit:
        rapt.verify.main(arguments)
    assert exit.value.code == 2


@pytest.mark.parametrize("problem", rapt.verify.PROBLEMS, ids=str)
def test_its_float64_is_the_derivative_of_its_forward(problem):
    """By finite differences in a random direction of each input."""
    arrays, options = rapt.verify._inputs(problem, "fp32")
    inputs = dict(zip(("q", "k", "v"), arrays, strict=False)) | {
        name: options[name] for name in ("bias", "sink") if name in options
    }
    results, _ = attention_float64(*arrays, **options)
    generator = np.random.default_rng(1)
    for name, array in inputs.items():
        direction, step = generator.standard_normal(array.shape), 1e-5

        def loss(by, name=name, array=array, direction=direction):
            moved = inputs | {name: array + by * direction}
            rest = options | {n: moved[n] for n in ("bias", "sink") if n in moved}
            out = attention_float64(*(moved[n] for n in ("q", "k", "v")), arrays[3], **rest)[0]["out"]
            return (out * arrays[3]).sum()

        expected = (loss(step) - loss(-step)) / (2 * step)
        assert abs((results[f"d{name}"] * direction).sum() - expected) <= 1e-6 * max(1, abs(expected))


def test_without_torch():
    code = """
import sys
sys.modules["torch"] = None
import rapt.verify
rapt.verify.PROBLEMS = rapt.verify.PROBLEMS[:1] + rapt.verify.PROBLEMS[-4:]
sys.exit(rapt.verify.main([]))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0 and "not installed" in run.stdout and "fp16" in run.stdout, run.stdout + run.stderr
