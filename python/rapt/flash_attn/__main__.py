"""python -m rapt.flash_attn: one screen that shows what flash_attn_func runs here, and that it runs.

Exit code 0: forward and backward ran, and are close to float64; 1: they are not, or no backend takes the call.
"""

import sys

import torch

import rapt
from rapt.flash_attn import __version__, flash_attn_func
from rapt.flash_attn._triton import honour_wish

_TOLERANCE = 2e-2  # of fp16, on values of about 1


def main() -> int:
    if why_not := honour_wish():
        print(why_not)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    q, k, v = (torch.randn(2, 256, 4, 64, device=device, dtype=torch.float16, requires_grad=True) for _ in range(3))
    print(f"flash_attn {__version__} by rapt {rapt.__version__}, torch {torch.__version__}")
    print(f"device        {_name(device)}")
    problem = "b2 hq4 hk4 sq256 sk256 d64 fp16 causal"
    kind = device if device == "cpu" else f"{'hip' if torch.version.hip else 'cuda'}:{torch.cuda.current_device()}"
    for op in ("forward", "backward"):
        chosen = rapt.explain(problem, op=op, device=kind).chosen
        print(f"{op:<13} {f'{chosen.backend}, {chosen.kernel}' if chosen else 'no backend takes it'}")
    out = flash_attn_func(q, k, v, causal=True)
    gradients = torch.autograd.grad(out.float().square().sum(), (q, k, v))
    wide = [x.detach().double().cpu().requires_grad_() for x in (q, k, v)]
    logits = torch.einsum("bihd,bjhd->bhij", *wide[:2]) / 8
    logits = logits.masked_fill(torch.ones(256, 256, dtype=torch.bool).triu(1), -torch.inf)
    exact = torch.einsum("bhij,bjhd->bihd", logits.softmax(-1), wide[2])
    expected = torch.autograd.grad(exact.square().sum(), wide)
    right = True
    for name, x, y in zip(("out", "dq", "dk", "dv"), (out, *gradients), (exact, *expected), strict=True):
        error = ((x.detach().double().cpu() - y).abs().max() / y.abs().max().clamp(min=1)).item()
        right &= error < _TOLERANCE
        print(f"{name:<13} {'ok' if error < _TOLERANCE else 'WRONG'}, largest error {error:.1e} of float64's values")
    return 0 if right else 1


def _name(device):
    if device == "cpu":
        return "cpu"
    properties = torch.cuda.get_device_properties(device)
    arch = getattr(properties, "gcnArchName", None) or f"sm_{properties.major}{properties.minor}"
    return f"{properties.name} ({arch})"


if __name__ == "__main__":
    sys.exit(main())
