"""python -m rapt.bench takeover: which time is a call's, and what goes into the table that enable() reads."""

import pytest
import torch
from rapt.bench import takeover


def cell(gpu, host):
    """Each is (forward, backward) of stock torch, then of Rapt; host also has inference first."""
    ms = {state: dict(zip(takeover.PASSES, of, strict=True)) for state, of in zip(takeover.STATES, gpu, strict=True)}
    names = ("inference", *takeover.PASSES)
    host_ms = {state: dict(zip(names, of, strict=True)) for state, of in zip(takeover.STATES, host, strict=True)}
    call = takeover.Call("tiny", 1, 2, 2, 8, 8, 64)
    peaks = {"torch": {"forward": 100, "backward": 200}, "rapt": {"forward": 104, "backward": 220}}
    return takeover.Cell(call, "cudnn", ms, host_ms, peaks, {}, {})


def test_a_call_takes_as_long_as_the_slower_of_gpu_and_host():
    found = cell(gpu=((0.010, 0.020), (0.012, 0.025)), host=((0.018, 0.040, 0.060), (0.012, 0.040, 0.085)))
    assert found.ratio("forward") == pytest.approx(18 / 12) and found.host_is_slower("forward")
    assert found.ratio(*takeover.PASSES) == pytest.approx(100 / 125)
    assert found.gpu_ratio(*takeover.PASSES) == pytest.approx(30 / 37)
    large = cell(gpu=((1.0, 2.0), (0.5, 2.5)), host=((0.018, 0.040, 0.060), (0.012, 0.040, 0.085)))
    assert large.ratio("forward") == 2 and large.ratio("backward") == 0.8 and not large.host_is_slower("forward")


def test_the_report_names_what_is_slower(capsys):
    found = cell(gpu=((0.010, 0.020), (0.012, 0.025)), host=((0.018, 0.040, 0.060), (0.012, 0.040, 0.085)))
    rows = list(takeover._rows(found))
    assert "0.010 / 0.012 (0.83)" in rows[0]
    assert rows[1] == "    inference waits for the host: 0.018 / 0.012 ms (1.50)"
    assert rows[2] == "    training waits for the host: 0.100 / 0.125 ms (0.80)"
    takeover._summary([found])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("forward: Rapt takes 1 of 1") and lines[0].endswith("least 1.50")
    assert "    slower: tiny bfloat16 b1 h2 sq8 sk8 d64 0.80" in lines
    assert lines[-1] == "calls with more than 5 % more memory: 1"


def test_the_table_of_enable_has_the_gpus_times():
    found = takeover.as_measured(cell(gpu=((0.010, 0.020), (0.008, 0.025)), host=((1, 2, 3), (4, 5, 6))))
    assert (found.forward, found.backward, found.both) == pytest.approx((1.25, 0.8, 30 / 33))
    assert (found.forward_us, found.backward_us) == pytest.approx((8, 25))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, which the table would be measured on")
def test_without_a_gpu_it_ends_in_one_sentence(capsys):
    with pytest.raises(SystemExit):
        takeover.main([])
    assert "PyTorch has no GPU here" in capsys.readouterr().err
