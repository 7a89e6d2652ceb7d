"""What a tile of rows does with tiles of keys."""

import triton
import triton.language as tl

from place import within
from softmax import rounded, step


@triton.jit
def is_finite(x):
    wide = x.to(tl.float32)
    return wide - wide == 0


@triton.jit
def edge_tiles(
    q, k_at, v_at, k_stride, v_stride, k_count, low, high, begin, skip_begin, skip_end, end, scale_log2,
    reference, total, rest, o, BLOCK_K: tl.constexpr, HEAD_DIM: tl.constexpr, P_EXPONENT: tl.constexpr, BY_HAND: tl.constexpr, FINITE: tl.constexpr,
):  # fmt: skip
    """Tiles of keys [begin, skip_begin) and [skip_end, end), of which rows attend the keys low <= key < high. FINITE:
    Inf and NaN in V count as 0."""
    key = tl.arange(0, BLOCK_K)
    dims = tl.arange(0, HEAD_DIM)
    k_offsets = key[:, None] * k_stride + dims[None, :]
    v_offsets = key[:, None] * v_stride + dims[None, :]
    before = skip_begin - begin
    for i in tl.range(0, before + end - skip_end, num_stages=1):
        first = tl.where(i < before, begin + i, skip_end + i - before) * BLOCK_K
        keys = first + key
        inside = (keys < k_count)[:, None]
        k = tl.load(k_at + first.to(tl.int64) * k_stride + k_offsets, mask=inside, other=0)
        s = tl.dot(q, k.T)
        v = tl.load(v_at + first.to(tl.int64) * v_stride + v_offsets, mask=inside, other=0)
        if FINITE:
            v = tl.where(is_finite(v), v, 0.0)
        s = tl.where(within(keys[None, :], low, high), s, float("-inf"))
        p, factor, reference, total, rest = step(s, scale_log2, reference, total, rest, P_EXPONENT)
        o = tl.dot(rounded(p, v.dtype, BY_HAND), v, o * factor[:, None])
    return reference, total, rest, o


@triton.jit
def add_not_finite(
    o, v_at, v_stride, k_count, low, high, begin, end, BLOCK_K: tl.constexpr, HEAD_DIM: tl.constexpr
):  # fmt: skip
    """Adds Inf and NaN of V to the rows that attend their keys, key by key in the tiles that have any."""
    key = tl.arange(0, BLOCK_K)
    dims = tl.arange(0, HEAD_DIM)
    for n in tl.range(begin, end, num_stages=1):
        first = n * BLOCK_K
        at = v_at + first.to(tl.int64) * v_stride
        v = tl.load(at + (key[:, None] * v_stride + dims[None, :]), mask=(first + key < k_count)[:, None], other=0)
        if tl.min(tl.min(is_finite(v).to(tl.int32), 1), 0) == 0:
            for i in tl.range(0, tl.minimum(BLOCK_K, k_count - first), num_stages=1):
                x = tl.load(at + i.to(tl.int64) * v_stride + dims).to(tl.float32)
                o += tl.where(within(first + i, low, high), tl.where(is_finite(x), 0.0, x)[None, :], 0.0)
    return o
