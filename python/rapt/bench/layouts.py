"""Prints the tables: two as in the reports that they reproduce, each other one with a row per measurement."""

import math
from collections import defaultdict
from collections.abc import Iterator

import torch

import rapt
from rapt.bench.measure import probed_peak, time_model
from rapt.bench.rows import over_rivals
from rapt.bench.run import Row
from rapt.torch import status as torch_status

_WIDTH = 89


def box(title: str) -> str:
    return f"╔{'═' * _WIDTH}╗\n║{title:^{_WIDTH}}║\n╚{'═' * _WIDTH}╝"


def grid(header: list[str], rows: list[list[str]]) -> str:
    """A table in characters: the first column left-aligned, every other one right-aligned."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]

    def line(cells):
        aligned = (f"{c:<{w}}" if i == 0 else f"{c:>{w}}" for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
        return "| " + " | ".join(aligned) + " |"

    def rule(character):
        return "+" + "+".join(character * (w + 2) for w in widths) + "+"

    return "\n".join([rule("-"), line(header), rule("="), *(x for row in rows for x in (line(row), rule("-")))])


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table for a page."""
    rule = ["---"] * len(header)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def status(device: str) -> str:
    lines = [f"PyTorch version: {torch.__version__}", f"CUDA available: {torch.cuda.is_available()}"]
    lines += [f"ROCm version: {torch.version.hip}", f"Rapt version: {rapt.__version__}", f"Device: {device}"]
    if device != "cpu":
        lines.append(f"GPU: {torch.cuda.get_device_name()}")
        if model := time_model(device):
            lines.append(f"Times: simulated ({model}), not measured")
    else:
        lines.append(f"CPU threads: {torch.get_num_threads()}")
    lines += torch_status.lines()
    return "\n".join(lines)


def generic(measured: Iterator[list[Row]], device: str) -> Iterator[str]:
    yield status(device)
    seen = []
    for rows in measured:
        seen.append(rows)
        first = rows[0]
        ours = next((r for r in rows if r.backend == "rapt" and not r.error), None)
        threads = f", threads {first.threads}" if first.threads else ""
        kernel = f", rapt runs {ours.kernel}" if ours else ""
        yield f"{first.problem} {first.op}, {first.device}{threads}{kernel}"
        for r in rows:
            if r.error:
                yield f"  {r.backend:<16} {r.error}"
                continue
            memory = "      -" if r.extra_bytes is None else f"{r.extra_bytes / 2**20:7.1f}"
            ratio = f"rapt is {r.ms / ours.ms:.2f}x as fast" if ours and r is not ours else ""
            origin = f"simulated ({r.simulated})  " if r.simulated else ""
            yield f"  {r.backend:<16} {r.ms:10.4f} ms {r.tflops:9.4f} TFLOP/s {memory} MiB  {origin}{ratio}".rstrip()
    yield from _ratios(seen)


def _ratios(measured: list[list[Row]]) -> Iterator[str]:
    """Rapt's speed over each rival's, and over the best rival of each case: geometric means and least ratios."""
    found = over_rivals(
        (
            rows[0].case + (" causal" if rows[0].causal else ""),
            rows[0].op,
            {r.backend: r.ms for r in rows if not r.error},
        )
        for rows in measured
    )
    if any(ratio.cases > 1 for ratio in found.values()):
        yield "\nRapt's speed over each rival's: geometric mean, least"
        for (op, rival), ratio in found.items():
            yield f"  {op} {rival:<16} {ratio.mean:.3f}, {ratio.least:.3f} ({ratio.case}), {ratio.cases} cases"


_NAMES = {"torch": "Regular SDPA"}  # as the report says


def strix_halo(measured: Iterator[list[Row]], device: str) -> Iterator[str]:
    """A table per size, causal and full, forward and backward side by side; a summary; other dtypes."""
    yield box("Rapt Status Check")
    yield status(device)
    sizes = defaultdict(dict)
    for rows in measured:
        first = rows[0]
        of_size = sizes[first.case]
        for r in rows:
            of_size[r.causal, r.backend, r.op] = r
        if first.causal or first.op == "fwd":
            continue  # a size's last rows: full, backward
        batch, heads, _, seqlen, _, head_dim, *_ = first.problem.split()
        title = f"Testing {first.case}: B={batch[1:]}, H={heads[2:]}, S={seqlen[2:]}, D={head_dim[1:]}"
        yield f"\n{box(title)}"
        gigabytes = math.prod(int(x[n:]) for x, n in ((batch, 1), (heads, 2), (seqlen, 2), (head_dim, 1))) * 2 / 2**30
        yield f"Estimated memory per QKV tensor: {gigabytes:.2f} GB"
        yield f"Total QKV memory: {3 * gigabytes:.2f} GB"
        yield grid(
            ["Operation", "FW Time (ms)", "FW FLOPS (TF/s)", "BW Time (ms)", "BW FLOPS (TF/s)"],
            [
                [f"{'Causal' if causal else 'Full'} {_NAMES.get(backend, backend)}"]
                + [cell for op in ("fwd", "bwd") for cell in _time_and_rate(of_size[causal, backend, op])]
                for causal, backend in dict.fromkeys(key[:2] for key in of_size)
            ],
        )
    yield f"\n{box('Summary')}"
    for size, of_size in sizes.items():
        yield f"{size}:"
        for (causal, backend, op), r in of_size.items():
            if op == "fwd" and causal:
                took = f"{r.ms:.4f} ms" if not r.error else r.error
                yield f"  Causal {_NAMES.get(backend, backend)}: {took}"
    yield f"\n{box('Testing with different dtypes')}"
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        q = torch.randn(1, 2, 64, 64, device=device, dtype=dtype, requires_grad=True)
        yield f"\nTesting with {dtype}"
        try:
            rapt.torch.sdpa(q, q, q, is_causal=True).sum().backward()
        except RuntimeError as error:  # no backend here takes it
            yield f"Failure with {dtype}: {error}"
        else:
            yield f"Success with {dtype}"


def mi300x_d256(measured: Iterator[list[Row]], device: str) -> Iterator[str]:
    """Native PyTorch, CK, Triton and Rapt, and their speed-up over native."""
    names = {"native": "Native", "aiter ck": "CK", "aiter triton": "Triton", "rapt": "Rapt"}
    faster = [name for name in names if name != "native"]
    yield status(device)
    yield "=" * 120
    yield (
        f"{'Config (B,S,H,D)':<21}"
        + "".join(f"{f'{names[n]} (ms)':<16}" for n in names)
        + "".join(f"{f'{names[n]} Speedup':<16}" for n in faster)
    )
    yield "=" * 120
    for rows in measured:
        ms = {r.backend: r.ms for r in rows if not r.error}
        native, (first, *_) = ms.get("native", math.nan), rows
        batch, heads, _, seqlen, _, head_dim, *_ = first.problem.split()
        if first.case.endswith("-d64"):
            yield "=" * 120
            yield f"\nComparison (seq={seqlen[2:]}, d_k={head_dim[1:]}):"
            yield from (f"  {names[n] + ':':<8} {_or_dash(ms.get(n), '.3f')} ms" for n in names)
            continue
        config = f"({batch[1:]}, {seqlen[2:]}, {heads[2:]}, {head_dim[1:]})"
        speedups = ((native / ms[n] if n in ms else math.nan) for n in faster)
        yield (
            f"{config:<21}"
            + "".join(f"{_or_dash(ms.get(n), '.3f'):<16}" for n in names)
            + "".join(f"{_or_dash(x, '.2f', 'x'):<16}" for x in speedups)
        )


def cpu(measured: Iterator[list[Row]], device: str) -> Iterator[str]:
    """Ratios by type, direction and threads; their geometric means; the rows below 1.05x."""
    yield status(device)
    ratios, slow = defaultdict(list), []
    yield f"{'B,H,S,D':<14} {'mask':<7} {'dtype':<5} {'op':<4} threads {'rapt ms':>10} {'torch ms':>10}   ratio  kernel"
    threads = None
    for rows in measured:
        ours, *others = rows
        if ours.threads != threads:
            threads = ours.threads
            yield f"threads {threads}: {probed_peak(threads)}"
        if ours.error or not others or others[0].error:
            yield f"{ours.problem} {ours.op}: {ours.error or (others[0].error if others else 'no rival')}"
            continue
        ratio = others[0].ms / ours.ms
        ratios[ours.threads, ours.op, ours.dtype].append(ratio)
        line = (
            f"{ours.case:<14} {'causal' if ours.causal else 'full':<7} {ours.dtype:<5} {ours.op:<4} {ours.threads:>7} "
            f"{ours.ms:>10.4f} {others[0].ms:>10.4f} {ratio:>6.2f}x  {ours.kernel}"
        )
        if ratio < 1.05:
            slow.append(line)
        yield line
    yield "\nGeometric means over all shapes, full and causal together"
    for threads, op, dtype in ratios:
        of_all = ratios[threads, op, dtype]
        mean = math.exp(sum(map(math.log, of_all)) / len(of_all))
        yield f"  {op} {dtype} threads {threads}: {mean:.2f}x, least {min(of_all):.2f}x ({len(of_all)} rows)"
    yield "\nRows below 1.05x" + (":" if slow else ": none")
    yield from slow


_LAYOUTS = {"strix-halo": strix_halo, "mi300x-d256": mi300x_d256, "cpu": cpu, "xeon": cpu}


def layout(table: str, device: str):
    """The table's own layout, or the generic one, which says where each row comes from."""
    return generic if time_model(device) else _LAYOUTS.get(table, generic)


def _time_and_rate(row):
    return ["-", "-"] if row.error else [f"{row.ms:.4f}", f"{row.tflops:.4g}"]


def _or_dash(number, spec, unit=""):
    return "-" if number is None or math.isnan(number) else f"{number:{spec}}{unit}"
