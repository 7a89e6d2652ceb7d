"""Which calls torch's own attention computes faster than Rapt on this kind of GPU, by a table of measurements.

measured/<architecture>.txt has the tables; `python -m rapt.bench takeover --write FILE` makes one. A call has the
verdict of the measured call most like it, but for a call that keeps the host busy for longer than the GPU: to leave it
to torch would cost more than a faster kernel gains. On a GPU without a table Rapt takes every call.
"""

import functools
import math
from pathlib import Path
from typing import NamedTuple

import torch

_FOLDER = Path(__file__).with_name("measured")
_WORTH_IT = 1.02  # Rapt's speed over torch's: measurements differ by less from run to run
_HOST_US = 18  # a call's microseconds of the host in stock torch (docs/log/2026-11-28-h200-takeover.md)


class Shape(NamedTuple):
    """What a call's speed depends on most."""

    kind: str
    """plain, bias or dropout, which may have a bias too"""
    causal: bool
    dtype: str
    head_dim: int
    seqlen_q: int
    seqlen_k: int
    heads: int
    """of query, in all sequences"""
    group: int
    """heads of query that share a head of key"""

    def __str__(self):
        causal = " causal" if self.causal else ""
        sizes = f"d{self.head_dim} sq{self.seqlen_q} sk{self.seqlen_k}, {self.heads} heads"
        return f"{self.kind}{causal} {self.dtype} {sizes}" + (f" in groups of {self.group}" if self.group > 1 else "")


class Measured(NamedTuple):
    shape: Shape
    forward: float
    """Rapt's speed over torch's"""
    backward: float
    both: float
    forward_us: float
    """Rapt's microseconds on the GPU"""
    backward_us: float

    @property
    def both_us(self) -> float:
        return self.forward_us + self.backward_us


def shape_of(query: torch.Size, key: torch.Size, dtype: torch.dtype, has_bias, has_dropout, is_causal) -> Shape:
    """query: [batch, heads, seqlen_q, head_dim]; key: [batch, heads_k, seqlen_k, head_dim]"""
    batch, heads, rows, head_dim = query
    kind = "dropout" if has_dropout else "bias" if has_bias else "plain"
    name = str(dtype).removeprefix("torch.")
    return Shape(kind, is_causal, name, head_dim, rows, key[2], batch * heads, heads // max(key[1], 1))


def why_torch(
    direction: str, device: torch.device, shape: Shape, alone: bool = False, captured: bool = False
) -> str | None:
    """Why the call is left to torch: a measurement; None if Rapt takes it.

    direction: "forward", "backward" or "both"
    alone: no backward will follow
    captured: a graph captures the call, whose replays cost the host nothing
    """
    found = nearest(_architecture(device), shape)
    if found is None:
        return None
    us = getattr(found, f"{direction}_us") * _work(shape) / _work(found.shape)
    if us < _HOST_US and not captured:
        return None
    # Without these, either backward can follow either forward, so that each pass takes the faster one.
    together = shape.kind != "plain" and not alone
    ratio = found.both if together else getattr(found, direction)
    if ratio >= _WORTH_IT:
        return None
    return f"torch's is faster: Rapt's speed was {ratio:.2f} of it with {found.shape}"


@functools.lru_cache(4096)
def nearest(architecture: str, shape: Shape) -> Measured | None:
    """The measurement with the same kind, mask and type whose sizes differ by the fewest factors of 2."""
    like = [m for m in table(architecture) if _class(m.shape) == _class(shape)]
    return min(like, key=lambda m: _distance(m.shape, shape), default=None)


@functools.cache
def table(architecture: str) -> list[Measured]:
    path = _FOLDER / f"{architecture}.txt"
    if not path.exists():
        return []
    lines = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [_parsed(words) for words in lines]


def line(measured: Measured) -> str:
    """A line of a table."""
    kind, causal, *rest = measured.shape
    ratios = (measured.forward, measured.backward, measured.both)
    times = (measured.forward_us, measured.backward_us)
    words = [kind, "causal" if causal else "full", *rest, *(f"{x:.3f}" for x in ratios), *(f"{x:.1f}" for x in times)]
    return " ".join(f"{word:<8}" for word in words).rstrip()


_COLUMNS = (
    "kind",
    "mask",
    "dtype",
    "head_dim",
    "seqlen_q",
    "seqlen_k",
    "heads",
    "group",
    "forward",
    "backward",
    "both",
    "forward_us",
    "backward_us",
)
HEADER = "# " + " ".join(f"{name:<8}" for name in _COLUMNS)


def _parsed(words):
    kind, mask, dtype, *sizes = words[:8]
    return Measured(Shape(kind, mask == "causal", dtype, *map(int, sizes)), *map(float, words[8:]))


def _work(shape):
    """A number that the time on a GPU is about proportional to."""
    return max(shape.seqlen_q * shape.seqlen_k * shape.heads * shape.head_dim, 1) / (1 + shape.causal)


def _class(shape):
    # fp16 and bf16 have the same instructions
    return shape.kind, shape.causal, shape.dtype == "float32"


def _distance(a, b):
    return sum(abs(math.log2(max(x, 1) / max(y, 1))) for x, y in zip(a[3:], b[3:], strict=True))


@functools.cache
def _architecture(device: torch.device) -> str:
    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip:
        return properties.gcnArchName.split(":")[0]
    return f"sm_{properties.major}{properties.minor}"
