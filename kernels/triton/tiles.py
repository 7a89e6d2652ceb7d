"""What a tile of rows does with tiles of keys."""

from collections import namedtuple

import triton
import triton.language as tl
from place import row_address, tile_offsets, within
from softmax import rounded, step

Edges = namedtuple("Edges", "begin skip_begin skip_end end")  # tiles of keys from begin to end, except the skipped ones
Sums = namedtuple("Sums", "reference total rest o")


@triton.jit
def is_finite(x):
    wide = x.to(tl.float32)
    return wide - wide == 0


@triton.jit
def not_finite(x):
    """For each row, whether one of its elements is Inf or NaN."""
    zeros = tl.sum(x * 0, 1)
    return zeros != zeros


@triton.jit
def edge_tiles(
    a, q, work, low, high, edges, sums, BLOCK_K: tl.constexpr, HEAD_DIM: tl.constexpr,
    P_EXPONENT: tl.constexpr, FINITE: tl.constexpr,
):  # fmt: skip
    """The sums after the tiles of `edges`, where rows attend the keys low <= key < high. FINITE: Inf and NaN in V count
    as 0."""
    key = tl.arange(0, BLOCK_K)
    k_offsets, k_lowest = tile_offsets(a.k, BLOCK_K, HEAD_DIM, 2)
    v_offsets, v_lowest = tile_offsets(a.v, BLOCK_K, HEAD_DIM, 2)
    reference, total, rest, o = sums
    before = edges.skip_begin - edges.begin
    for i in tl.range(0, before + edges.end - edges.skip_end, num_stages=1):
        first = tl.where(i < before, edges.begin + i, edges.skip_end + i - before) * BLOCK_K
        keys = first + key
        inside = (keys < work.k_count)[:, None]
        k_at = row_address(a.k, work.batch, work.k_first + first + k_lowest, work.head_k, 2)
        k = tl.load(k_at + k_offsets, mask=inside, other=0)
        s = tl.dot(q, k.T)
        v_at = row_address(a.v, work.batch, work.k_first + first + v_lowest, work.head_k, 2)
        v = tl.load(v_at + v_offsets, mask=inside, other=0)
        if FINITE:
            v = tl.where(is_finite(v), v, 0.0)
        s = tl.where(within(keys[None, :], low, high), s, float("-inf"))
        p, factor, reference, total, rest = step(s, a.problem.scale_log2, reference, total, rest, P_EXPONENT)
        o = tl.dot(rounded(p, v.dtype), v, o * factor[:, None])
    return Sums(reference, total, rest, o)


@triton.jit
def add_not_finite(o, v_rows, work, low, high, begin, end, BLOCK_K: tl.constexpr, HEAD_DIM: tl.constexpr):
    """Adds Inf and NaN of V to the rows that attend their keys, key by key in the tiles that have any."""
    key = tl.arange(0, BLOCK_K)
    dims = tl.arange(0, HEAD_DIM)
    offsets, lowest = tile_offsets(v_rows, BLOCK_K, HEAD_DIM, 2)
    for n in tl.range(begin, end, num_stages=1):
        first = n * BLOCK_K
        at = row_address(v_rows, work.batch, work.k_first + first + lowest, work.head_k, 2)
        v = tl.load(at + offsets, mask=(first + key < work.k_count)[:, None], other=0)
        if tl.min(tl.min(is_finite(v).to(tl.int32), 1), 0) == 0:
            for i in tl.range(0, tl.minimum(BLOCK_K, work.k_count - first), num_stages=1):
                at = row_address(v_rows, work.batch, work.k_first + first + i, work.head_k, 2)
                x = tl.load(at + dims).to(tl.float32)
                o += tl.where(within(first + i, low, high), tl.where(is_finite(x), 0.0, x)[None, :], 0.0)
    return o
