"""python -m rapt.bench takeover: F.scaled_dot_product_attention by stock torch, and with rapt.torch.enable().

A program that issues calls one after another waits for the GPU or for the host, whichever takes longer. So both are
measured. Where the host takes longer, its time is the call's.
"""

import argparse
import gc
import math
import statistics
import time
from typing import NamedTuple

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend

import rapt.torch
from rapt._files import json_of, path_to_write, write
from rapt.bench.arguments import seconds
from rapt.bench.layouts import status
from rapt.bench.measure import card, hide_host
from rapt.torch import measured
from rapt.torch.status import variables, warnings

PASSES = ("forward", "backward")
STATES = ("torch", "rapt")
_AS_FAST = 0.98  # times differ by less from run to run


class Call(NamedTuple):
    name: str
    batch: int
    heads: int
    heads_k: int
    seqlen_q: int
    seqlen_k: int
    head_dim: int
    dtype: torch.dtype = torch.bfloat16
    causal: bool = False
    mask: str = ""
    """bool or bias"""
    dropout: float = 0.0


def _calls() -> list[Call]:
    calls = []
    for head_dim in (64, 128, 256):
        for seqlen in (512, 1024, 2048, 4096, 8192):
            heads = 2048 // head_dim
            sizes = (16384 // seqlen, heads, heads, seqlen, seqlen, head_dim)
            calls += [Call("full", *sizes), Call("causal", *sizes, causal=True)]
    for head_dim in (64, 128):
        for seqlen in (512, 2048, 4096):
            heads = 1024 // head_dim
            sizes = (8192 // seqlen, heads, heads, seqlen, seqlen, head_dim)
            calls += [Call("mask", *sizes, mask="bool"), Call("bias", *sizes, mask="bias")]
            calls += [Call("dropout", *sizes, dropout=0.1), Call("causal dropout", *sizes, causal=True, dropout=0.1)]
    for head_dim in (64, 128):
        calls.append(Call("grouped causal", 4, 32, 8, 4096, 4096, head_dim, causal=True))
        calls.append(Call("few queries", 4, 16, 16, 512, 4096, head_dim))
        calls.append(Call("short", 64, 16, 16, 128, 128, head_dim))
        calls.append(Call("decode", 8, 32, 8, 1, 16384, head_dim))
        calls.append(Call("cross", 8, 16, 16, 1024, 77, head_dim))
    for seqlen, head_dim in ((4096, 40), (1024, 80), (256, 160), (64, 160)):  # those of `bench models unet`
        calls.append(Call("U-Net", 2, 8, 8, seqlen, seqlen, head_dim, torch.float16))
        calls.append(Call("U-Net cross", 2, 8, 8, seqlen, 77, head_dim, torch.float16))
    calls.append(Call("wide", 2, 8, 8, 2048, 2048, 512, causal=True))
    for batch, head_dim in ((4, 96), (4, 192), (2, 512)):
        calls.append(Call("wide", batch, 16, 16, 4096, 4096, head_dim))
    calls += [
        Call("fp32", 4, 8, 8, 2048, 2048, 256, torch.float32),
        Call("fp32", 1, 16, 16, 2048, 2048, 512, torch.float32),
    ]
    for causal in (False, True):
        calls.append(Call("fp32", 2, 16, 16, 2048, 2048, 64, torch.float32, causal))
        calls.append(Call("fp32", 2, 8, 8, 2048, 2048, 128, torch.float32, causal))
    return calls


class Cell(NamedTuple):
    """One call of the table, by stock torch and by Rapt."""

    call: Call
    operator: str
    """torch's choice"""
    ms: dict[str, dict[str, float]]
    """of each state: the GPU's milliseconds of each pass"""
    host_ms: dict[str, dict[str, float]]
    """of each state: the host's of each pass, and "inference", a forward call without gradients"""
    peak_bytes: dict[str, dict[str, int]]
    """of each state: what each pass adds to the memory at its peak"""
    why: dict[str, str]
    """why Rapt did not take a pass"""
    cards: dict[str, dict[str, str]]
    """the GPU's name, driver and clocks, before and after"""

    def gpu_ratio(self, *passes: str) -> float:
        stock, enabled = (sum(self.ms[state][x] for x in passes) for state in STATES)
        return stock / enabled

    def ratio(self, *passes: str) -> float:
        """Of what a program waits for. A forward alone is inference."""
        stock, enabled = (max(sum(self.ms[x][y] for y in passes), self.host_of(x, passes)) for x in STATES)
        return stock / enabled

    def host_is_slower(self, *passes: str) -> bool:
        return any(self.host_of(state, passes) > sum(self.ms[state][x] for x in passes) for state in STATES)

    def host_of(self, state, passes):
        return sum(self.host_ms[state][x] for x in (("inference",) if passes == ("forward",) else passes))


def measure(call: Call, seconds: float, always: bool = True) -> Cell:
    """Stock torch and Rapt in turn. always: Rapt also takes calls that its table of measurements leaves to torch."""
    inputs, options, dout = _inputs(call)
    times = {state: [] for state in STATES}
    peaks, why = {}, {}
    cards = {"before": card("cuda")}
    spent, count = 0.0, 0
    while count < 3 or spent < seconds:
        start = time.perf_counter()
        for state in STATES:
            if state == "rapt":
                rapt.torch.enable(always=always)
            try:
                if not count:
                    peaks[state] = _peaks(inputs, options, dout)
                else:
                    times[state].append(_times(inputs, options, dout))
                if state == "rapt" and not count:
                    why = _refusals()
            finally:
                rapt.torch.disable()
        spent += time.perf_counter() - start if count else 0
        count += 1
    cards["after"] = card("cuda")
    ms, host_ms = ({state: _medians([of[i] for of in times[state]]) for state in STATES} for i in range(2))
    return Cell(call, _operator(inputs, options), ms, host_ms, peaks, why, cards)


def _medians(found):
    return {name: statistics.median(of[name] for of in found) for name in found[0]}


def _inputs(call):
    of_q = (call.batch, call.heads, call.seqlen_q, call.head_dim)
    of_k = (call.batch, call.heads_k, call.seqlen_k, call.head_dim)
    made = {"device": "cuda", "dtype": call.dtype}
    inputs = [torch.randn(shape, **made).requires_grad_() for shape in (of_q, of_k, of_k)]
    options = {"is_causal": call.causal, "dropout_p": call.dropout, "enable_gqa": call.heads != call.heads_k}
    if call.mask:
        scores = (call.batch, 1, call.seqlen_q, call.seqlen_k)
        is_bool = call.mask == "bool"
        options["attn_mask"] = torch.rand(scores, device="cuda") < 0.5 if is_bool else torch.randn(scores, **made)
    return inputs, options, torch.randn(of_q, **made)


def _forward(inputs, options):
    return functional.scaled_dot_product_attention(*inputs, **options)  # in an old torch, Rapt replaces it there


def _backward(out, inputs, dout):
    return torch.autograd.grad(out, inputs, dout)


def _peaks(inputs, options, dout):
    gc.collect()  # else what an earlier call left may be freed meanwhile

    def peak(function, *arguments):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = function(*arguments)
        torch.cuda.synchronize()
        return result, torch.cuda.max_memory_allocated() - before

    _backward(_forward(inputs, options), inputs, dout)  # which may load kernels
    out, forward = peak(_forward, inputs, options)
    _, backward = peak(_backward, out, inputs, dout)
    return dict(zip(PASSES, (forward, backward), strict=True))


def _times(inputs, options, dout, calls=8):
    """Milliseconds of a call by the device's clock and by the host's, the mean of several calls.

    The GPU is busy until the host has queued them, so that neither waits for the other.
    """
    start, middle, end = (torch.cuda.Event(enable_timing=True) for _ in range(3))
    _backward(_forward(inputs, options), inputs, dout)
    hide_host(8)  # eight calls of both passes need up to 4 ms of a slow host
    host = [time.perf_counter()]
    start.record()
    outs = [_forward(inputs, options) for _ in range(calls)]
    middle.record()
    host.append(time.perf_counter())
    for out in outs:
        _backward(out, inputs, dout)
    end.record()
    host.append(time.perf_counter())
    end.synchronize()
    hide_host(4)
    with torch.no_grad():
        host.append(time.perf_counter())
        for _ in range(calls):
            _forward(inputs, options)
        host.append(time.perf_counter())
    torch.cuda.synchronize()
    gpu = {"forward": start.elapsed_time(middle) / calls, "backward": middle.elapsed_time(end) / calls}
    spans = {"forward": (0, 1), "backward": (1, 2), "inference": (3, 4)}
    return gpu, {name: 1e3 * (host[last] - host[first]) / calls for name, (first, last) in spans.items()}


def _refusals():
    """Why Rapt took no forward call, or no backward call, since it was enabled."""
    report = rapt.torch.report()
    reasons = "; ".join(report.refused) or "no operator of torch's was called that Rapt replaces"
    return {x: reasons for x in PASSES if not report.taken.get(x)}


def _operator(inputs, options):
    q, k, v = inputs
    chosen = torch._fused_sdp_choice(
        q, k, v, options.get("attn_mask"), options["dropout_p"], options["is_causal"], enable_gqa=options["enable_gqa"]
    )
    names = {backend.value: name for name, backend in SDPBackend.__members__.items()}
    return names[chosen].removesuffix("_ATTENTION").lower()


def as_measured(cell: Cell) -> measured.Measured:
    call = cell.call
    kind = "dropout" if call.dropout else "bias" if call.mask else "plain"
    shape = measured.Shape(
        kind, call.causal, str(call.dtype).removeprefix("torch."), call.head_dim, call.seqlen_q, call.seqlen_k,
        call.batch * call.heads, call.heads // call.heads_k,
    )  # fmt: skip
    ratios = cell.gpu_ratio("forward"), cell.gpu_ratio("backward"), cell.gpu_ratio(*PASSES)
    return measured.Measured(shape, *ratios, *(1e3 * cell.ms["rapt"][x] for x in PASSES))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m rapt.bench takeover", description=__doc__)
    parser.add_argument("--seconds", type=seconds, default=1.0, help="for each call (default 1)")
    parser.add_argument("--json", metavar="FILE", type=path_to_write, help="a JSON object per call")
    parser.add_argument("--enabled", action="store_true", help="leave calls to torch as rapt.torch.enable() does")
    parser.add_argument("--write", metavar="FILE", type=path_to_write, help="the table that rapt.torch.enable() reads")
    options = parser.parse_args(arguments)
    if options.enabled and options.write:
        parser.error("--write needs times of every call by Rapt, so it cannot stand beside --enabled")
    if not torch.cuda.is_available():
        parser.error("PyTorch has no GPU here")
    print(status("cuda"))
    print("\nms of the GPU by torch / with Rapt (the first over the second); MiB that a call adds at its peak, by both")
    print(f"{'call':<56} {'torch takes':<10} {'forward':>22} {'backward':>22} {'MiB':>15}")
    cells = []
    for call in _calls():
        cell = measure(call, options.seconds, always=not options.enabled)
        cells.append(cell)
        print("\n".join(_rows(cell)), flush=True)
        for x, reasons in cell.why.items():
            print(f"    {x} left to torch: {reasons}")
    _summary(cells)
    if options.json:
        write(options.json, "".join(json_of(_jsonable(c)) + "\n" for c in cells))
    if options.write:
        lines = [f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, rapt {rapt.__version__}."]
        lines += ["# Rapt's speed over torch's, of each pass and of both, and Rapt's microseconds on the GPU:"]
        lines += ["# python -m rapt.bench takeover --write FILE."]
        lines += [measured.HEADER, *(measured.line(as_measured(c)) for c in cells if not c.why)]
        write(options.write, "\n".join(lines) + "\n")
    return 0


def _rows(cell):
    times = [" / ".join(f"{cell.ms[state][x]:.3f}" for state in STATES) + f" ({cell.gpu_ratio(x):.2f})" for x in PASSES]
    most = [max(cell.peak_bytes[state].values()) / 2**20 for state in STATES]
    yield f"{_text(cell.call):<56} {cell.operator:<10} {times[0]:>22} {times[1]:>22} {most[0]:>7.0f} / {most[1]:.0f}"
    for name, passes in (("inference", ("forward",)), ("training", PASSES)):
        if cell.host_is_slower(*passes):
            stock, enabled = (cell.host_of(state, passes) for state in STATES)
            yield f"    {name} waits for the host: {stock:.3f} / {enabled:.3f} ms ({cell.ratio(*passes):.2f})"


def _text(call):
    heads = f"h{call.heads}" if call.heads == call.heads_k else f"h{call.heads}/{call.heads_k}"
    dtype = str(call.dtype).removeprefix("torch.")
    return f"{call.name} {dtype} b{call.batch} {heads} sq{call.seqlen_q} sk{call.seqlen_k} d{call.head_dim}" + (
        " causal" if call.causal and "causal" not in call.name else ""
    )


def _summary(cells):
    for which in (*((x,) for x in PASSES), PASSES):
        ratios = [c.ratio(*which) for c in cells]
        taken = sum(not set(which) & set(c.why) for c in cells)
        mean = math.exp(statistics.mean(map(math.log, ratios)))
        print(
            f"{' and '.join(which)}: Rapt takes {taken} of {len(cells)}; torch's time over the time with Rapt, of the "
            f"GPU or the host, {mean:.2f} (geometric mean), least {min(ratios):.2f}"
        )
        for cell, ratio in zip(cells, ratios, strict=True):
            if ratio < _AS_FAST:
                print(f"    slower: {_text(cell.call)} {ratio:.2f}")
    more = [c for c in cells if max(c.peak_bytes["rapt"][x] - 1.05 * c.peak_bytes["torch"][x] for x in PASSES) > 0]
    print(f"calls with more than 5 % more memory: {len(more)}")


def _jsonable(cell):
    call = cell.call._asdict() | {"dtype": str(cell.call.dtype).removeprefix("torch.")}
    more = {"call": call, "torch": torch.__version__, "variables": variables(), "warnings": warnings()}
    return cell._asdict() | more
