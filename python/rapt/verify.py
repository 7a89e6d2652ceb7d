"""python -m rapt.verify: what PyTorch and Rapt find here, which kernel runs each problem, and if the results are right.

Forward and gradients of a list of problems are compared with float64 by the rule of docs/architecture.md.
Exit code 0: all is right; 1: a result is wrong, no backend takes a problem, or PyTorch's attention does not run in
Rapt; 2: wrong arguments.
"""

import argparse
import sys
from typing import NamedTuple

import numpy as np

import rapt
from rapt._files import json_of, path_to_write, write
from rapt._float64 import attention_float64, error_and_allowance

try:
    import torch
except ImportError:
    torch = None


class Problem(NamedTuple):
    batch: int
    heads: tuple[int, int]
    seqlens: tuple[int, int]
    head_dim: int
    options: dict = {}
    """rapt.attention's options; bias, mask, alibi_slopes and sink as the shapes of random tensors"""


PROBLEMS = [
    Problem(2, (4, 4), (128, 128), 64),
    Problem(1, (4, 4), (257, 257), 64, {"causal": True}),
    Problem(1, (8, 2), (200, 200), 128, {"causal": True}),
    Problem(2, (4, 1), (1, 300), 128),
    Problem(2, (4, 2), (70, 133), 80, {"causal": True}),
    Problem(1, (2, 2), (133, 70), 40, {"causal": "top-left"}),
    Problem(1, (2, 2), (129, 129), 256),
    Problem(1, (1, 1), (65, 90), 512, {"causal": True}),
    Problem(1, (4, 2), (150, 150), 64, {"window": (31, 0), "causal": True}),
    Problem(1, (4, 4), (96, 96), 64, {"softcap": 20.0, "softmax_scale": 0.3}),
    Problem(2, (4, 2), (80, 96), 64, {"bias": (1, 4, 80, 96)}),
    Problem(2, (4, 2), (80, 96), 64, {"mask": (2, 1, 1, 96)}),
    Problem(1, (4, 4), (96, 96), 64, {"alibi_slopes": (4,), "causal": True}),
    Problem(1, (4, 2), (96, 96), 64, {"sink": (4,), "causal": True}),
]


class Check(NamedTuple):
    """One result of one problem; backend is "" if none takes it."""

    problem: str
    op: str
    device: str
    backend: str
    kernel: str
    tensor: str
    error: float
    allowance: float
    ok: bool
    reasons: list[str]
    """why each other backend was not chosen"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m rapt.verify", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default=_default_device(), help="where PyTorch puts the tensors: cpu, cuda:0, ...")
    parser.add_argument("--backend", default="auto", help="auto, or a name that rapt.explain lists")
    parser.add_argument(
        "--json",
        metavar="FILE",
        type=path_to_write,
        help="a JSON object per result and line; an error that is not finite is null",
    )
    options = parser.parse_args(arguments)
    if torch is None and options.device != "cpu":
        parser.error(f"--device is {options.device}; without PyTorch it must be cpu")
    try:
        _array(_tensor(np.zeros(1), "fp32", options.device))
        rapt.explain("b1 hq1 hk1 sq1 sk1 d8 fp32", backend=options.backend)
    except (ValueError, RuntimeError, AssertionError) as error:  # a device without values, or a name that is none
        parser.error(str(error))

    print("PyTorch", *what_torch_sees(options.device), sep="\n  ")
    print(f"\n{rapt.doctor()}\n\nForward and gradients against float64 on {options.device}")
    checks, told = [], set()
    for problem in PROBLEMS:
        for dtype in _dtypes():
            found = list(check(problem, dtype, options.device, options.backend))
            checks += found
            _print(found, told)
    wrong = sum(not c.ok for c in checks)
    print(f"\n{len(checks)} results, {f'{wrong} wrong' if wrong else 'all within the allowance'}")
    taken = takeover_works(options.device)
    if options.json:
        write(options.json, "".join(json_of(c._asdict()) + "\n" for c in checks))
    return 0 if taken and not wrong else 1


def takeover_works(device: str = "cpu") -> bool:
    """True if torch's own attention runs in Rapt once it is enabled; prints the answer."""
    if torch is None:
        return True
    import rapt.torch

    dtype = torch.float32 if device == "cpu" else torch.float16  # the type of torch's flash attention there
    q, k, v = (torch.randn(1, 2, 16, 32, device=device, dtype=dtype, requires_grad=True) for _ in range(3))
    with rapt.torch.enabled(always=True):
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
        report = rapt.torch.report()
    taken = report.taken == {"forward": 1, "backward": 1}
    print(f"scaled_dot_product_attention with rapt.torch.enabled(): {'ok, in Rapt' if taken else 'WRONG, not in Rapt'}")
    if not taken:
        print(report)
    return taken


def what_torch_sees(device: str = "cpu") -> list[str]:
    if torch is None:
        return ["not installed: fp32 and fp16 of NumPy are checked, bf16 is not"]
    lines = [f"version {torch.__version__}, CUDA {torch.version.cuda}, ROCm {torch.version.hip}"]
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        arch = getattr(properties, "gcnArchName", None) or f"sm_{properties.major}{properties.minor}"
        lines.append(f"cuda:{index} {properties.name} ({arch}), {properties.total_memory / 2**30:.0f} GiB")
    if not torch.cuda.is_available():
        lines.append("no GPU")
    from rapt.torch import status

    enabled = [
        name
        for name in ("flash", "mem_efficient", "cudnn", "math")
        if getattr(torch.backends.cuda, f"{name}_sdp_enabled")()
    ]
    lines.append(f"scaled_dot_product_attention may use: {', '.join(enabled)}")
    return [*lines, *status.lines(), *status.backends(device)]


def check(problem: Problem, dtype: str, device: str = "cpu", backend: str = "auto"):
    """A Check for out, lse and every gradient of a problem with random inputs."""
    arrays, given = _inputs(problem, dtype)
    # X_plain is the math backend's, on the CPU: the plain formula in the tensors' own precision.
    at_home = [_tensor(x, dtype, "cpu") for x in arrays]
    options = {name: _option(name, value, "cpu") for name, value in given.items()}
    out, plain_lse = rapt.attention(*at_home[:3], return_lse=True, backend="math", **options)
    # Rounding out to 16 bits changes every backend's gradients in the same way: it is no backend's error.
    rounded = None if dtype == "fp32" else _array(out)
    exact, bounds = attention_float64(*arrays, **given, out=rounded)
    lse = _tensor(exact["lse"], "fp32", "cpu")  # every backward pass gets this lse
    gradients = rapt.attention_backward(at_home[3], *at_home[:3], out, lse, backend="math", **options)
    plain = {"out": out, "lse": plain_lse, **gradients._asdict()}

    q, k, v, dout, out, lse = (_moved(x, device) for x in (*at_home, out, lse))
    backward = (dout, q, k, v, out, lse)
    options = {name: _option(name, value, device) for name, value in given.items()}
    for op in ("forward", "backward"):
        explanation = rapt.explain(q, k, v, op=op, backend=backend, **options)
        reasons = [f"{c.backend}: {c.reason}" for c in explanation.candidates if not c.chosen]
        chosen = explanation.chosen
        if chosen is None:
            yield Check(explanation.problem, op, device, "", "", "", float("inf"), 0.0, False, reasons)
            continue
        if op == "forward":
            values = rapt.attention(q, k, v, return_lse=True, backend=backend, **options)
            results = dict(zip(("out", "lse"), values, strict=True))
        else:
            results = rapt.attention_backward(*backward, backend=backend, **options)._asdict()
        for name, result in results.items():
            if result is not None:
                numbers = error_and_allowance(name, result, exact[name], plain[name], bounds)
                error, allowance = map(float, numbers)
                yield Check(
                    explanation.problem, op, device, chosen.backend, chosen.kernel, name, error, allowance,
                    error <= allowance, reasons,
                )  # fmt: skip


def _inputs(problem, dtype):
    """q, k, v and dout, and the options, as float64 arrays of values that dtype has."""
    generator = np.random.default_rng(7)

    def normal(shape, of=dtype):
        return _array(_tensor(generator.standard_normal(shape), of, "cpu"))

    (heads_q, heads_k), (seqlen_q, seqlen_k) = problem.heads, problem.seqlens
    to_q = (problem.batch, seqlen_q, heads_q, problem.head_dim)
    to_k = (problem.batch, seqlen_k, heads_k, problem.head_dim)
    options = dict(problem.options)
    for name in options.keys() & {"bias", "sink"}:
        options[name] = normal(options[name], "fp32")
    if "mask" in options:
        options["mask"] = generator.random(options["mask"]) < 0.7
    if "alibi_slopes" in options:
        options["alibi_slopes"] = 2.0 ** -np.arange(1, 1 + options["alibi_slopes"][0])
    return [normal(to_q), normal(to_k), normal(to_k), normal(to_q)], options


def _tensor(array, dtype, device):
    if torch is None:
        return array.astype({"fp32": np.float32, "fp16": np.float16}[dtype])
    types = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
    return torch.from_numpy(array).to(device, types[dtype])


def _moved(tensor, device):
    return tensor if torch is None else tensor.to(device)


def _option(name, value, device):
    if not isinstance(value, np.ndarray):
        return value
    value = value if name == "mask" else value.astype(np.float32)
    return value if torch is None else torch.from_numpy(value).to(device)


def _array(tensor):
    return np.asarray(tensor if torch is None else tensor.double().cpu(), np.float64)


def _dtypes():
    return ["fp32", "fp16"] if torch is None else ["fp32", "bf16", "fp16"]


def _default_device():
    return "cuda:0" if torch is not None and torch.cuda.is_available() else "cpu"


def _print(checks, told):
    """A line per direction, and why the other backends were not used, unless already printed."""
    for op in ("forward", "backward"):
        of_op = [c for c in checks if c.op == op]
        first = of_op[0]
        state = "ok   " if all(c.ok for c in of_op) else "WRONG"
        if first.backend:
            results = " ".join(f"{c.tensor} {c.error / c.allowance:.0%}" for c in of_op)
            print(f"  {state} {op:8} {first.problem}: {first.backend} {first.kernel}: {results} of the allowance")
        else:
            print(f"  {state} {op:8} {first.problem}: no backend takes it")
        for reason in first.reasons:
            if reason not in told:
                print(f"{'':17}not {reason}")
                told.add(reason)


if __name__ == "__main__":
    sys.exit(main())
