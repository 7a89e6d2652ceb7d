"""Measures the cases of a table."""

from collections.abc import Iterator
from typing import NamedTuple

import torch

import rapt
from rapt.bench import options
from rapt.bench.measure import alternate, captured, card, forecast, free_bytes, peak_bytes, pinned, time_model
from rapt.bench.rivals import Rival, rivals
from rapt.bench.tables import Case, Table
from rapt.torch.status import variables, warnings

TORCH_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Row(NamedTuple):
    """One measurement; also a line of --json."""

    table: str
    case: str
    problem: str
    op: str
    """fwd or bwd"""
    device: str
    backend: str
    """rapt, or a rival's name"""
    kernel: str
    """Rapt's"""
    dtype: str
    causal: bool
    threads: int | None
    ms: float | None
    ms_p20: float | None
    runs: int
    tflops: float | None
    extra_bytes: int | None
    error: str
    """why it was not measured; ms is then None"""
    simulated: str = ""
    """the model of a simulated GPU that forecast the time; empty if it was measured"""
    variables: dict[str, str] = {}
    """the environment variables that change what runs or how fast"""
    card: dict[str, str] = {}
    """the GPU's name, driver and clocks before the measurement; empty on a CPU"""
    card_after: dict[str, str] = {}
    """the same behind it"""
    warnings: list[str] = []
    """why those variables make times mislead"""


def measure_table(name: str, table: Table, device: str, seconds: float, found: dict) -> Iterator[list[Row]]:
    """The rows of each case and direction, as they are measured. found[device, dtype] becomes what rivals() says."""
    for case in table.cases:
        key = device, case.dtype, bool(case.option)
        if key not in found:
            found[key] = rivals(device, TORCH_DTYPES[case.dtype], bool(case.option))
        chosen = [r for r in found[key][0] if table.rivals is None or r.name in table.rivals]
        with pinned(case.threads if device == "cpu" else None):
            for op in table.ops:
                yield _measure(name, case, op, chosen, device, seconds, table.graphs)


def _measure(table: str, case: Case, op: str, chosen: list[Rival], device: str, seconds: float, graphs: bool):
    q, k, v, dout = _inputs(case, device, op == "bwd")
    option = options.option(case.option, q, k) if case.option else None
    functions, peaks, errors, ours = {}, {}, {}, None
    simulated = time_model(device)
    for rival in chosen:
        try:
            _check_memory(rival, case, op, device)
            function = _forward(rival, q, k, v, case.causal, option)
            if op == "bwd":
                function = _backward(function(), (q, k, v), dout)
            results = function() if op == "bwd" else (function(),)
            ours = results if ours is None else _same(results, ours, chosen[0].name)
            del results
            peaks[rival.name] = None if simulated else peak_bytes(function, device)
            if graphs and device != "cpu" and not simulated:
                function = captured(function)
        except (RuntimeError, MemoryError) as error:  # out of memory, or a size that the rival does not take
            errors[rival.name] = str(error).strip().splitlines()[0]
        else:
            functions[rival.name] = function
    before = card(device)
    times = forecast(functions) if simulated else alternate(functions, device, seconds)
    cards = {"card": before, "card_after": card(device)}
    kernel = _kernel(case, op, device)
    rows = []
    for rival in chosen:
        name, measured = rival.name, times.get(rival.name)
        rows.append(
            Row(
                table,
                case.name,
                case.problem,
                op,
                device,
                name,
                kernel if name == "rapt" else "",
                case.dtype,
                case.causal,
                torch.get_num_threads() if device == "cpu" else None,
                measured.ms if measured else None,
                measured.ms_p20 if measured else None,
                measured.runs if measured else 0,
                case.flops(op) / measured.ms / 1e9 if measured else None,
                peaks.get(name),
                errors.get(name, ""),
                simulated,
                variables(),
                warnings=warnings(),
                **cards,
            )
        )
    return rows


def _check_memory(rival, case, op, device):
    """Raises before the system kills the process; counts the fp32 logits and copies, twice as many for a backward."""
    if not rival.quadratic:
        return
    needed = (6 if op == "bwd" else 3) * 4 * case.batch * case.heads * case.queries * case.seqlen
    free = free_bytes(device)
    if needed > free:
        raise MemoryError(f"needs about {needed / 2**30:.0f} GiB, {free / 2**30:.0f} are free")


def _inputs(case, device, gradients):
    generator = torch.Generator(device).manual_seed(1)
    of_q = (case.batch, case.heads, case.queries, case.head_dim)
    of_k = (case.batch, case.heads_k or case.heads, case.seqlen, case.head_dim)
    q, k, v, dout = (
        torch.randn(shape, generator=generator, device=device, dtype=torch.float32).to(TORCH_DTYPES[case.dtype])
        for shape in (of_q, of_k, of_k, of_q)
    )
    return *(x.requires_grad_(gradients) for x in (q, k, v)), dout


def _forward(rival, q, k, v, causal, option):
    return lambda: rival.attention(q, k, v, causal, option) if option else rival.attention(q, k, v, causal)


def _same(results, first, name):
    """Raises if results differ from the first rival's by more than rounding; returns the first's."""
    for result, expected in zip(results, first, strict=True):
        norm = expected.float().norm()
        difference = ((result.float() - expected.float()).norm() / norm).item() if norm else result.abs().max().item()
        if not difference < 2e-2:
            raise RuntimeError(f"its result differs from {name}'s by {difference:.2g} of it")
    return first


def _backward(out, inputs, dout):
    return lambda: torch.autograd.grad(out, inputs, dout, retain_graph=True)


def _kernel(case, op, device):
    kind = "cpu" if device == "cpu" else f"{'hip' if torch.version.hip else 'cuda'}:{torch.cuda.current_device()}"
    explanation = rapt.explain(case.problem, op="forward" if op == "fwd" else "backward", device=kind)
    return explanation.chosen.kernel if explanation.chosen else ""
