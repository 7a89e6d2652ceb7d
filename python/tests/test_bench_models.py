"""python -m rapt.bench models."""

import json

import pytest
import torch
from rapt.bench import models
from rapt.bench.__main__ import main
from torch.nn import functional


@pytest.fixture
def tiny(monkeypatch):
    def make(device, size):
        q = torch.randn(1, 2, size, 32, device=device)
        return models.Model("tiny", lambda: functional.scaled_dot_product_attention(q, q, q))

    monkeypatch.setattr(models, "MODELS", {"tiny": make})


@pytest.fixture(autouse=True)
def no_warm_up(monkeypatch):
    monkeypatch.setattr(models, "_WARM_UP_S", 0)


def test_both_states_are_measured_and_compared(tiny, tmp_path, capsys):
    file = tmp_path / "models.json"
    assert main(["models", "--device", "cpu", "--steps", "2", "--size", "256", "--json", str(file)]) == 0
    out = capsys.readouterr().out
    assert "tiny: tiny" in out and "calls that Rapt took: 1 forward" in out
    (found,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert found["taken"] == {"forward": 1} and found["left"] == {} and 0 <= found["difference"] < 1e-5
    assert set(found["ms"]) == {"stock", "enabled"} and min(found["ms"].values()) > 0
    assert [len(of) for of in found["turns"].values()] == [1, 1] and "turns of 4 steps" in out
    stock, enabled = (found["turns"][state][0] for state in ("stock", "enabled"))
    assert found["speedup"] == dict.fromkeys(("median", "low", "high"), pytest.approx(stock / enabled))


def test_the_interval_of_the_median():
    # of 100 values, the median is between the 41st and the 60th with 95 % confidence (binomial tables)
    assert models._median(range(100)) == {"median": 49.5, "low": 40, "high": 59}
    assert models._median([3, 1, 2]) == {"median": 2, "low": 1, "high": 3}


def test_results_that_differ_are_an_error(monkeypatch, capsys):
    def make(device, size):
        values = iter(range(1, 100))
        return models.Model("other each time", lambda: torch.tensor([float(next(values))]))

    monkeypatch.setattr(models, "MODELS", {"tiny": make})
    assert main(["models", "--device", "cpu", "--steps", "1"]) == 1
    assert "calls that Rapt took: none" in capsys.readouterr().out


def test_a_package_that_is_not_here_is_named(monkeypatch, capsys):
    def make(device, size):
        raise ImportError("No module named 'diffusers'")

    monkeypatch.setattr(models, "MODELS", {"tiny": make})
    assert main(["models", "--device", "cpu"]) == 1
    assert "tiny: not measured: No module named 'diffusers'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["none"], "there is no model 'none'"),
        (["--steps", "0"], "--steps: 0 must be at least 1"),
        (["--device", "no"], "invalid choice: 'no'"),
        (["--size", "100"], "--size is 100; it must be a multiple of 256"),
    ],
)
def test_wrong_arguments(tiny, arguments, error, capsys):
    with pytest.raises(SystemExit) as exit:
        main(["models", *arguments])
    assert exit.value.code == 2 and error in capsys.readouterr().err
