"""The choice between torch and Rapt by a table of measurements."""

import pytest
import torch
from rapt.torch import gpu_call, measured
from rapt.torch.report import Counts

TABLE = """# a comment
plain   full   bfloat16 64  512  512  1024 1 1.100 0.800 0.900 130.0 300.0
plain   full   bfloat16 64  8192 8192 64   1 1.300 1.200 1.250 1e3   3e3
plain   causal bfloat16 128 512  512  512  1 0.700 1.100 0.950 64.0  150.0
bias    full   bfloat16 64  512  512  1024 1 0.900 1.500 1.300 130.0 300.0
dropout full   bfloat16 64  512  512  1024 1 1.500 0.500 0.800 130.0 300.0
plain   full   float32  64  512  512  1024 1 2.000 2.000 2.000 1e3   3e3
"""


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    (tmp_path / "made_up.txt").write_text(TABLE)
    monkeypatch.setattr(measured, "_FOLDER", tmp_path)
    monkeypatch.setattr(measured, "_architecture", lambda device: device)
    measured.table.cache_clear()
    measured.nearest.cache_clear()
    yield
    measured.table.cache_clear()
    measured.nearest.cache_clear()


def shape(kind="plain", causal=False, dtype="float16", head_dim=64, rows=512, heads=1024, group=1):
    return measured.Shape(kind, causal, dtype, head_dim, rows, rows, heads, group)


@pytest.mark.parametrize(
    "call, forward, backward",
    [
        (shape(), None, "0.80"),
        (shape(rows=600, heads=900), None, "0.80"),
        (shape(rows=4096, heads=64), None, None),
        (shape(causal=True), "0.70", None),
        (shape("bias"), None, None),  # both passes together
        (shape("dropout"), "0.80", "0.80"),
        (shape("dropout", causal=True), None, None),  # nothing like it was measured
        (shape(dtype="float32", rows=1, heads=1, group=8), None, None),
    ],
)
def test_the_most_similar_measurement_decides(call, forward, backward):
    for direction, ratio in (("forward", forward), ("backward", backward)):
        why = measured.why_torch(direction, "made_up", call)
        assert why is None if ratio is None else ratio in why


def test_a_forward_without_a_backward():
    assert measured.why_torch("forward", "made_up", shape("bias")) is None
    assert "0.90" in measured.why_torch("forward", "made_up", shape("bias"), alone=True)
    assert measured.why_torch("forward", "made_up", shape("dropout"), alone=True) is None


def test_a_call_that_keeps_the_host_busy_for_longer_than_the_gpu():
    small = shape(causal=True, head_dim=128, heads=128)  # 16 us forward, 37 us backward
    assert measured.why_torch("forward", "made_up", small) is None
    assert "0.70" in measured.why_torch("forward", "made_up", small, captured=True)
    assert "0.80" in measured.why_torch("backward", "made_up", shape(heads=64))  # 19 us
    assert measured.why_torch("backward", "made_up", shape(heads=56)) is None


def test_a_gpu_without_a_table():
    assert measured.why_torch("forward", "another", shape()) is None


def test_shapes_of_calls():
    call = (2, 8, 30, 64), (2, 2, 40, 64), torch.float16
    expected = measured.Shape("bias", True, "float16", 64, 30, 40, 16, 4)
    assert measured.shape_of(*call, True, False, True) == expected
    assert measured.shape_of(*call, False, True, True).kind == "dropout"
    assert str(expected) == "bias causal float16 d64 sq30 sk40, 16 heads in groups of 4"


def test_lines_of_a_table():
    rows = measured.table("made_up")
    assert [measured._parsed(measured.line(row).split()) for row in rows] == rows
    assert len(measured.HEADER.split()) - 1 == len(measured.line(rows[0]).split())


def test_the_tables_that_are_shipped(monkeypatch):
    monkeypatch.undo()
    measured.table.cache_clear()
    for path in measured._FOLDER.glob("*.txt"):
        assert measured.table(path.stem) and all(m.both > 0 for m in measured.table(path.stem))


class OnGpu:
    """A query of which only the properties that choose are known."""

    def __init__(self):
        self.shape, self.dtype, self.device = (64, 8, 512, 128), torch.bfloat16, self
        self.type = "cuda"


@pytest.mark.parametrize("captured", [False, True])
def test_calls_that_torch_computes_faster(monkeypatch, captured):
    monkeypatch.setattr(measured, "_architecture", lambda device: "made_up")
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: captured)
    counts, query = Counts(), OnGpu()
    with pytest.raises(NotImplementedError, match=r"Rapt's speed was 0.70 of it with plain causal bfloat16 d128"):
        gpu_call.check(counts, "forward", query, query, None, 0.0, True)
    gpu_call.check(counts, "backward", query, query, None, 0.0, True)
    with pytest.raises(NotImplementedError, match=r"Rapt's speed was 0.95"):
        gpu_call.check(counts, "both", query, query, None, 0.0, True)
    query.shape = (2, 8, 512, 128)
    if captured:
        with pytest.raises(NotImplementedError, match=r"Rapt's speed was 0.70"):
            gpu_call.check(counts, "forward", query, query, None, 0.0, True)
    else:
        gpu_call.check(counts, "forward", query, query, None, 0.0, True)
    counts.always = True
    gpu_call.check(counts, "forward", query, query, None, 0.0, True)
