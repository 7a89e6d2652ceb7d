"""python -m rapt.verify passes right results, and finds wrong results and missing backends."""

import json
import subprocess
import sys

import numpy as np
import pytest
import rapt
import rapt.verify
import torch
from rapt._float64 import attention_float64, error_and_allowance


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


UNIT = 2.0**-24


def _own(*sums):
    return lambda name, dtype: np.array(sums)


@pytest.mark.parametrize(("result", "exact", "allowed"), RULE)
@pytest.mark.parametrize("kind", [np.array, torch.tensor])
def test_the_rule(result, exact, allowed, kind):
    half = {np.array: np.float16, torch.tensor: torch.float16}[kind]
    plain = [exact[0] + 1, float(np.clip(exact[1], -65504, 65504))]
    error, allowance = error_and_allowance(
        "out", kind(result, dtype=half), np.array(exact), kind(plain, dtype=half), _own(1, 1)
    )
    assert (error <= allowance) == allowed
    if error == 1:
        assert allowance == 2


def test_the_rule_for_lse():
    of = [np.array([x], np.float32) for x in (4, 5)]
    assert error_and_allowance("lse", of[0], np.array([4.0]), of[1], _own(1))[1] == 2 + 1e-6


@pytest.mark.parametrize(
    ("result", "plain_error", "allowed", "allowance"),
    [
        ([3, 8], 0, True, 3 * (1 + 2.0**-11)),  # and it is rounded
        ([4, 8], 0, False, 3 * (1 + 2.0**-11)),
        ([0, 8.5], 0, True, 0.5 + 8.5 * 2.0**-11),
        ([0, 9], 0, False, 0.5 + 8.5 * 2.0**-11),  # the other's sums excuse nothing
        ([12, 8], 1000, True, 4 * 3 * (1 + 2.0**-11)),  # no more than four times its own
        ([0, 10], 1000, True, 4 * (0.5 + 8.5 * 2.0**-11)),
        ([0, 10.5], 1000, False, 4 * (0.5 + 8.5 * 2.0**-11)),
        ([0, 9], 0.5, True, 1),  # twice the plain formula's error
    ],
)
def test_an_element_may_lose_parts_of_its_own_sums(result, plain_error, allowed, allowance):
    plain = np.array([plain_error, 8], np.float16)
    found = error_and_allowance("out", np.array(result, np.float16), np.array([0.0, 8]), plain, _own(3, 0.5))
    assert (found[0] <= found[1]) == allowed and found[1] == pytest.approx(allowance, rel=1e-15)


def test_rows_with_nan_do_not_count():
    for x in (NAN, INF):
        k = np.array([1.0, 1, x, 1, 1]).reshape(1, 5, 1, 1)
        with np.errstate(invalid="ignore"):
            own = attention_float64(np.ones((1, 3, 1, 1)), k, np.ones((1, 5, 1, 1)), causal="top-left")[1]
        for name in ("out", "lse"):
            assert own(name, "float32").ravel()[1] > 0 and own(name, "float32").ravel()[2] == 0


LSE, DP = 4 * 16 + 8 * 15, 8 * 14
HALF_LSE = 4 * 21  # the sink has half of the weight
HALF_ERROR, HALF_OWN = HALF_LSE + 8 * 15, HALF_LSE + 8 * 15 / 2
HALF_DELTA = DP / 2 + (HALF_ERROR + HALF_OWN) / 2 * 7


@pytest.mark.parametrize(
    ("options", "own"),
    [
        (
            {},
            {
                "lse": LSE, "out": np.hypot(7, 7) + 4 * 7 + 7 / 2, "dv": np.hypot(2 * LSE, 2) + 4 * 2,
                "dq": np.hypot(DP, DP) * 5, "dk": (DP + DP) * 3,
            },
        ),
        ({"softmax_scale": 2.0}, {"lse": 4 * 31 + 8 * 30, "dq": 2 * np.hypot(DP, DP) * 5}),
        ({"softcap": 1.0}, {"lse": 4 * 2}),  # at the cap
        (
            {"bias": -5.0, "sink": -20.0},
            {
                "lse": HALF_OWN,
                "dbias": np.hypot(HALF_ERROR / 2 * 7 + DP / 2, HALF_DELTA / 2) + 4 * 3.5,
                "dsink": HALF_LSE / 2 * 7 + HALF_DELTA / 2 + 4 * 3.5,
            },
        ),
    ],
)  # fmt: skip
def test_own_are_the_terms_of_an_element(options, own):
    """One query and one key: the logit has the term 3 * -5, dP has 2 * -7, and delta the same. In units."""
    one = np.ones((1, 1, 1, 1))
    shapes = {"bias": (1, 1, 1, 1), "sink": (1,)}
    options = {name: np.full(shapes[name], x) if name in shapes else x for name, x in options.items()}
    of = attention_float64(3 * one, -5 * one, -7 * one, 2 * one, **options)[1]
    found = {name: of(name, "float32").item() / UNIT for name in own}
    assert found == pytest.approx(own, rel=1e-4)


def test_own_errors_of_rows_add_up_as_squares():
    """Two rows share an element of the bias, and a sink, and each has half of its weight there."""
    zero, dout = np.zeros((1, 2, 1, 1)), np.array([3.0, 4]).reshape(1, 2, 1, 1)
    k = np.full((1, 1, 1, 1), -5.0)
    options = {"bias": np.zeros((1, 1, 1, 1)), "sink": np.zeros(1), "out": zero - 3.5}
    own = attention_float64(zero, k, k - 2, dout, **options)[1]
    of_lse, terms = 4 * (1 + 2 * np.log(2)), 4 * 0.25 * 7 * (3 + 4)
    assert own("dsink", "float16")[0] / UNIT == pytest.approx((of_lse / 4 + 8 / 2) * 35 + terms, rel=1e-6)
    expected = np.hypot(of_lse / 4 + 8 / 2, 8 / 2) * 35 + terms
    assert own("dbias", "float16")[0, 0, 0, 0] / UNIT == pytest.approx(expected, rel=1e-6)


SPECIAL = 20  # the row of head 0 whose sums cancel


def _cancelling(kind):
    """fp32 arrays q, k, v, dout and options, where one row's sums cancel, or one head's."""
    rng = np.random.default_rng(1)
    q, k, v, dout = rng.standard_normal((4, 1, 64, 2, 64))
    options = {"causal": True, "sink": rng.standard_normal(2), "bias": rng.standard_normal((1, 2, 64, 64))}
    if kind == "cap":
        options["softcap"] = 5.0
        q[:, SPECIAL, 0] *= 2.0**12
    elif isinstance(kind, str) and kind.startswith("dout"):
        dout[:, SPECIAL, 0] *= float(kind[4:])
    elif kind == "sink":
        v[:, :, 0, 1::2] = v[:, :, 0, ::2]
        dout[:, :, 0] *= 2.0**12
        dout[:, :, 0, 1::2] = -dout[:, :, 0, ::2]
    else:
        size = 2.0 ** (kind - 3)
        q[:, SPECIAL, 0, 1::2] = q[:, SPECIAL, 0, ::2]
        q[:, SPECIAL, 0] *= size
        k[..., 1::2] = k[..., 1::2] / size - k[..., ::2]
    options |= {name: options[name].astype(np.float32) for name in ("sink", "bias")}
    return [x.astype(np.float32) for x in (q, k, v, dout)], options


def _good(x, change):
    """x, changed in rows and keys that no sum that cancels reaches."""
    changed, rows = x.copy(), [np.s_[:, SPECIAL + 1 :], np.s_[:, :, 1]]
    if x.ndim == 3 or x.shape[3] == x.shape[2]:  # lse and dbias
        rows = [np.s_[:, :, SPECIAL + 1 :], np.s_[:, 1]]
    for at in rows:
        changed[at] = change(x)[at]
    return changed


def _with_delta_off(plain, arrays, options, name):
    out = _good(plain["out"], lambda x: x * np.float32(1 + 2.0**-8))
    return _backward(arrays, options, out, plain["given lse"])[name]


def _with_weights_off(plain, arrays, options, name):
    lse = _good(plain["given lse"], lambda x: x - np.float32(2.0**-8))
    return _backward(arrays, options, plain["out"], lse)[name]


def _backward(arrays, options, out, lse):
    q, k, v, dout = arrays
    return rapt.attention_backward(dout, q, k, v, out, lse, backend="math", **options)._asdict()


def _exchanged(x):
    x = x.copy()
    x[:, [40, 41]] = x[:, [41, 40]]
    return x


FAULTS = [
    ("out", "P not renormalised", lambda plain, *_: _good(plain["out"], lambda x: x * np.float32(1 + 2.0**-8))),
    ("out", "of no key", lambda plain, *_: _good(plain["out"], np.zeros_like)),
    ("lse", "in bf16", lambda plain, *_: _good(plain["lse"], lambda x: torch.tensor(x).bfloat16().float().numpy())),
    ("lse", "off by 1e-4", lambda plain, *_: _good(plain["lse"], lambda x: x + np.float32(1e-4))),
    ("dq", "rows exchanged", lambda plain, *_: _exchanged(plain["dq"])),
    ("dk", "keys exchanged", lambda plain, *_: _exchanged(plain["dk"])),
    *((name, "delta off", _with_delta_off) for name in ("dq", "dk", "dbias")),
    *((name, "weights off", _with_weights_off) for name in ("dq", "dk", "dv", "dbias")),
    *((name, "zeros", lambda plain, _a, _o, name: _good(plain[name], np.zeros_like)) for name in ("dq", "dk", "dv")),
    ("dbias", "without a row", lambda plain, *_: np.where(np.arange(64)[:, None] == 50, np.float32(0), plain["dbias"])),
    ("dsink", "the wrong sign", lambda plain, *_: plain["dsink"] * np.array([1, -1], np.float32)),
]


@pytest.mark.parametrize("kind", [12, 16, 18, 24, "cap", "dout4e3", "dout1e6", "sink"])
def test_sums_that_cancel_do_not_hide_faults_in_others(kind):
    arrays, options = _cancelling(kind)
    exact, bounds = attention_float64(*arrays, **options)
    out, lse = rapt.attention(*arrays[:3], return_lse=True, backend="math", **options)
    given = exact["lse"].astype(np.float32)
    plain = {"out": out, "lse": lse, "given lse": given, **_backward(arrays, options, out, given)}
    for name, fault, plant in FAULTS:
        error, allowance = error_and_allowance(name, plain[name], exact[name], plain[name], bounds)
        assert error <= allowance, name
        wrong = plant(plain, arrays, options, name).astype(np.float32)
        error, allowance = error_and_allowance(name, wrong, exact[name], plain[name], bounds)
        assert error > allowance, f"{name}, {fault}"


HUGE = [("zeros", False), ("one key", False), ("mean", True)]


@pytest.mark.parametrize(("result", "allowed"), HUGE)
def test_equal_huge_logits_do_not_hide_a_wrong_result(result, allowed):
    q, v = np.full((1, 64, 1, 128), 133120.0), np.random.default_rng(1).standard_normal((1, 64, 1, 128))
    exact, bounds = attention_float64(q, q, v)
    assert (bounds("lse", "float32") > 1e4).all()
    right = exact["out"].astype(np.float32)
    out = {"zeros": 0 * right, "one key": 0 * right + v[:, :1].astype(np.float32), "mean": right}[result]
    error, allowance = error_and_allowance("out", out, exact["out"], right, bounds)
    assert (error <= allowance) == allowed


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
