"""python -m rapt.bench takeover: F.scaled_dot_product_attention by stock torch, and with rapt.torch.enable()."""

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
    """One call of the table: of each pass, milliseconds and the bytes that it adds to the memory at its peak."""

    call: Call
    operator: str
    """torch's choice"""
    torch_ms: dict[str, float]
    rapt_ms: dict[str, float]
    torch_bytes: dict[str, int]
    rapt_bytes: dict[str, int]
    why: dict[str, str]
    """why Rapt did not take a pass"""
    cards: dict[str, dict[str, str]]
    """the GPU's name, driver and clocks, before and after"""

    def ratio(self, *passes: str) -> float:
        return sum(self.torch_ms[x] for x in passes) / sum(self.rapt_ms[x] for x in passes)


def measure(call: Call, seconds: float, always: bool = True) -> Cell:
    """Stock torch and Rapt in turn. always: Rapt also takes calls that its table of measurements leaves to torch."""
    inputs, options, dout = _inputs(call)
    times = {state: {x: [] for x in PASSES} for state in ("torch", "rapt")}
    peaks = {state: {} for state in times}
    why = {}
    cards = {"before": card("cuda")}
    spent, count = 0.0, 0
    while count < 3 or spent < seconds:
        start = time.perf_counter()
        for state, of_state in times.items():
            if state == "rapt":
                rapt.torch.enable(always=always)
            try:
                if not count:
                    peaks[state] = _peaks(inputs, options, dout)
                else:
                    for x, ms in zip(PASSES, _times(inputs, options, dout), strict=True):
                        of_state[x].append(ms)
                if state == "rapt" and not count:
                    why = _refusals()
            finally:
                rapt.torch.disable()
        spent += time.perf_counter() - start if count else 0
        count += 1
    cards["after"] = card("cuda")
    found = [{x: statistics.median(times[state][x]) for x in PASSES} for state in times]
    return Cell(call, _operator(inputs, options), *found, peaks["torch"], peaks["rapt"], why, cards)


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
    """Milliseconds of a forward and of a backward call by the device's clock, the mean of several calls."""
    start, middle, end = (torch.cuda.Event(enable_timing=True) for _ in range(3))
    _backward(_forward(inputs, options), inputs, dout)
    hide_host(8)  # eight calls of both passes need up to 4 ms of a slow host
    start.record()
    outs = [_forward(inputs, options) for _ in range(calls)]
    middle.record()
    for out in outs:
        _backward(out, inputs, dout)
    end.record()
    end.synchronize()
    return start.elapsed_time(middle) / calls, middle.elapsed_time(end) / calls


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
    ratios = cell.ratio("forward"), cell.ratio("backward"), cell.ratio(*PASSES)
    return measured.Measured(shape, *ratios, *(1e3 * cell.rapt_ms[x] for x in PASSES))


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
    print("\nms by torch / with Rapt (the first over the second); MiB that a call adds at its peak, torch / with Rapt")
    print(f"{'call':<56} {'torch takes':<10} {'forward':>22} {'backward':>22} {'MiB':>15}")
    cells = []
    for call in _calls():
        cell = measure(call, options.seconds, always=not options.enabled)
        cells.append(cell)
        print(_row(cell), flush=True)
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


def _row(cell):
    times = [f"{cell.torch_ms[x]:.3f} / {cell.rapt_ms[x]:.3f} ({cell.ratio(x):.2f})" for x in PASSES]
    most = [max(of.values()) / 2**20 for of in (cell.torch_bytes, cell.rapt_bytes)]
    return f"{_text(cell.call):<56} {cell.operator:<10} {times[0]:>22} {times[1]:>22} {most[0]:>7.0f} / {most[1]:.0f}"


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
        faster = sum(r >= 1 for r in ratios)
        print(f"{' and '.join(which)}: Rapt takes {taken} of {len(cells)}; torch's time over the time with Rapt "
              f"{mean:.2f} (geometric mean), least {min(ratios):.2f}; at least 1 in {faster}")  # fmt: skip
    more = [c for c in cells if max(c.rapt_bytes[x] - 1.05 * c.torch_bytes[x] for x in PASSES) > 0]
    print(f"calls with more than 5 % more memory: {len(more)}")


def _jsonable(cell):
    call = cell.call._asdict() | {"dtype": str(cell.call.dtype).removeprefix("torch.")}
    more = {"call": call, "torch": torch.__version__, "variables": variables(), "warnings": warnings()}
    return cell._asdict() | more
