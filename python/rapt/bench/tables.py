"""The named tables: lists of cases to measure."""

import os
from typing import NamedTuple

from rapt import _core
from rapt.bench import options

DTYPES = ("fp32", "bf16", "fp16")


class Case(NamedTuple):
    name: str
    batch: int
    heads: int
    seqlen: int
    head_dim: int
    dtype: str
    causal: bool
    threads: int | None = None
    """CPU threads, pinned; None: PyTorch's number"""
    seqlen_q: int | None = None
    """None: as many as keys, seqlen"""
    heads_k: int | None = None
    """None: heads"""
    option: str = ""
    """of options.py; it says what is causal too"""

    @property
    def queries(self) -> int:
        return self.seqlen_q or self.seqlen

    @property
    def problem(self) -> str:
        """The problem as text, by the grammar of docs/naming.md."""
        heads = f"hq{self.heads} hk{self.heads_k or self.heads}"
        if lengths := options.lengths(self.option, self.seqlen):
            sizes = f"b{len(lengths)} {heads} sq{max(lengths)} sk{max(lengths)} d{self.head_dim} {self.dtype} causal"
            return f"{sizes} varlen={','.join(f'{n}:{n}' for n in lengths)}"
        sizes = f"b{self.batch} {heads} sq{self.queries} sk{self.seqlen} d{self.head_dim} {self.dtype}"
        return sizes + (options.WORDS[self.option] if self.option else " causal" if self.causal else "")

    def flops(self, op: str) -> float:
        """Floating-point operations as the library counts them (rapt_problem_flops in rapt.h)."""
        return _core.problem_flops(self.problem, op == "bwd")


class Table(NamedTuple):
    cases: list[Case]
    rivals: list[str] | None
    """the rivals that the table compares; None: all"""
    ops: tuple[str, ...]
    device: str | None = None
    """where the table is always measured; None: where the user asks"""
    graphs: bool = False
    """on a GPU each call is a captured graph, so that the host's time does not count"""


def _strix_halo():
    """The attention bench for gfx1151."""
    sizes = {
        "Tiny": (1, 1, 128),
        "Small": (2, 4, 512),
        "Medium": (4, 8, 1024),
        "Large": (8, 16, 2048),
        "XLarge": (16, 16, 4096),
    }
    return Table(
        [Case(name, *size, 64, "fp16", causal) for name, size in sizes.items() for causal in (True, False)],
        None,
        ("fwd", "bwd"),
    )


def _mi300x_d256():
    """CK, Triton and native PyTorch at head_dim 256, and one comparison at 64."""
    cases = [Case(f"s{seqlen}", 4, 8, seqlen, 256, "fp16", True) for seqlen in (512, 1024, 2048, 4096)]
    cases.append(Case("s1024-d64", 4, 8, 1024, 64, "fp16", True))
    return Table(cases, ["rapt", "native", "aiter ck", "aiter triton"], ("fwd",))


def _fa3():
    """FlashAttention-3's grid: 16k tokens, hidden size 2048."""
    return Table(
        [
            Case(f"d{d}-s{s}", 16384 // s, 2048 // d, s, d, dtype, causal)
            for dtype in ("fp16", "bf16")
            for d in (64, 128, 256)
            for s in (512, 1024, 2048, 4096, 8192, 16384)
            for causal in (False, True)
        ],
        None,
        ("fwd", "bwd"),
    )


def _decode():
    """One query per head against 64 MiB of keys and values, 1 to 8 query heads per key head."""
    heads_k, head_dim = 8, 128
    return Table(
        [
            Case(f"g{group}", 1, heads_k * group, keys, head_dim, dtype, False, None, 1, heads_k)
            for dtype, keys in (("fp32", 8192), ("bf16", 16384), ("fp16", 16384))
            for group in (1, 2, 4, 8)
        ],
        None,
        ("fwd",),
    )


def _decode_gpu():
    """One query per head: caches of 512 MiB to 1 GiB, and below 150 MB, which a GPU's L2 cache holds in part."""
    sizes = [  # batch, heads of k, group, keys
        (1, 8, 8, 131072),
        (16, 8, 4, 8192),
        (64, 8, 8, 4096),
        (128, 8, 8, 2048),
        (32, 8, 1, 8192),
        (1, 8, 4, 8192),
        (1, 8, 8, 32768),
        (1, 1, 16, 65536),
    ]
    cases = [
        Case(f"b{b}-h{heads}-g{group}-s{keys}", b, heads * group, keys, 128, "bf16", False, None, 1, heads)
        for b, heads, group, keys in sizes
    ]
    return Table(cases, ["rapt", "torch", "torch flash", "torch cudnn"], ("fwd",), "cuda", graphs=True)


def _short():
    """Short sequences: 16k tokens, hidden size 2048, as the table fa3."""
    cases = [
        Case(f"d{d}-s{s}", 16384 // s, 2048 // d, s, d, "bf16", causal)
        for d in (64, 128)
        for s in (64, 128, 256)
        for causal in (False, True)
    ]
    return Table(cases, _ON_A_GPU, ("fwd", "bwd"), "cuda")


def _wide():
    """fp32, and head dims of which most libraries have no kernel of their own."""
    sizes = [  # batch, heads, keys, head_dim, type
        (8, 32, 2048, 64, "fp32"),
        (8, 16, 2048, 128, "fp32"),
        (4, 8, 2048, 256, "fp32"),
        (1, 16, 2048, 512, "fp32"),
        (4, 16, 4096, 96, "bf16"),
        (4, 16, 4096, 192, "bf16"),
        (2, 16, 4096, 512, "bf16"),
    ]
    return Table([Case(f"d{x[3]}-{x[4]}", *x, False) for x in sizes], _ON_A_GPU, ("fwd", "bwd"), "cuda")


_ON_A_GPU = ["rapt", "torch", "torch flash", "torch efficient", "torch cudnn"]


def _options():
    """Options of attention, hidden size 2048: bias and mask of 4096 keys, every other one of 8192, packed or not."""
    cases = []
    for head_dim in (64, 128):
        for name in options.NAMES:
            packed = bool(options.lengths(name, 16384))
            batch, seqlen = (1, 16384) if packed else (2, 4096 if name in ("bias", "mask") else 8192)
            causal = name not in ("bias", "mask")
            cases.append(
                Case(f"{name}-d{head_dim}", batch, 2048 // head_dim, seqlen, head_dim, "bf16", causal, option=name)
            )
    rivals = ["rapt", "torch", "torch flash", "torch efficient", "torch cudnn", "torch varlen", "torch flex"]
    return Table(cases, rivals, ("fwd", "bwd"), "cuda")


def _cpu():
    """Rapt against torch's CPU attention, on two threads and on one."""
    sizes = [
        (1, 4, 256, 64),
        (2, 8, 512, 64),
        (1, 12, 1024, 64),
        (1, 4, 2048, 64),
        (1, 4, 2048, 128),
        (1, 2, 2048, 256),
        (2, 4, 512, 128),
    ]
    return Table(
        [
            Case(",".join(map(str, size)), *size, dtype, causal, threads)
            for threads in (2, 1)
            for dtype in DTYPES
            for size in sizes
            for causal in (False, True)
        ],
        ["rapt", "torch flash"],
        ("fwd", "bwd"),
        "cpu",
    )


def _xeon():
    """For CPUs of servers, on all cores and on one: few heads and many, short sequences and long."""
    cores = len(os.sched_getaffinity(0))
    return Table(
        [
            Case(f"1,{heads},{seqlen},{d}", 1, heads, seqlen, d, dtype, causal, threads)
            for threads in dict.fromkeys((cores, 1))
            for dtype in ("bf16", "fp32", "fp16")
            for d in (64, 128)
            for heads in (4, 16)
            for seqlen in (512, 2048, 8192)
            for causal in (False, True)
        ],
        ["rapt", "torch flash"],
        ("fwd", "bwd"),
        "cpu",
    )


TABLES = {
    "strix-halo": _strix_halo,
    "mi300x-d256": _mi300x_d256,
    "fa3": _fa3,
    "decode": _decode,
    "decode-gpu": _decode_gpu,
    "short": _short,
    "wide": _wide,
    "options": _options,
    "cpu": _cpu,
    "xeon": _xeon,
}
