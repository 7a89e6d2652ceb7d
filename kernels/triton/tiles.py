"""What a tile of rows does with tiles of keys."""

import triton
import triton.language as tl
from place import row_address, tile_offsets, within
from softmax import rounded, step


@triton.jit
def is_finite(x):
    wide = x.to(tl.float32)
    return wide - wide == 0


@triton.jit
def not_finite(x):
    """Of each row, whether an element is."""
    zeros = tl.sum(x * 0, 1)
    return zeros != zeros


@triton.jit
def edge_tiles(
    a, q, batch, head_k, k_first, k_count, low, high, begin, skip_begin, skip_end, end, scale_log2,
    reference, total, rest, o, BLOCK_K: tl.constexpr, HEAD_DIM: tl.constexpr, P_EXPONENT: tl.constexpr,
    BY_HAND: tl.constexpr, AMD: tl.constexpr, FINITE: tl.constexpr,
):  # fmt: skip
    """Tiles of keys [begin, skip_begin) and [skip_end, end), of which rows attend the keys low <= key < high. FINITE:
    Inf and NaN in V count as 0."""
    key = tl.arange(0, BLOCK_K)
    k_offsets, k_lowest = tile_offsets(a.k, BLOCK_K, HEAD_DIM, 2, AMD)
    v_offsets, v_lowest = tile_offsets(a.v, BLOCK_K, HEAD_DIM, 2, AMD)
    before = skip_begin - begin
    for i in tl.range(0, before + end - skip_end, num_stages=1):
        first = tl.where(i < before, begin + i, skip_end + i - before) * BLOCK_K
        keys = first + key
        inside = (keys < k_count)[:, None]
        k = tl.load(row_address(a.k, batch, k_first + first + k_lowest, head_k, 2) + k_offsets, mask=inside, other=0)
        s = tl.dot(q, k.T)
        v = tl.load(row_address(a.v, batch, k_first + first + v_lowest, head_k, 2) + v_offsets, mask=inside, other=0)
        if FINITE:
            v = tl.where(is_finite(v), v, 0.0)
        s = tl.where(within(keys[None, :], low, high), s, float("-inf"))
        p, factor, reference, total, rest = step(s, scale_log2, reference, total, rest, P_EXPONENT)
        o = tl.dot(rounded(p, v.dtype, BY_HAND), v, o * factor[:, None])
    return reference, total, rest, o


@triton.jit
def add_not_finite(
    o, v_rows, batch, head_k, k_first, k_count, low, high, begin, end, BLOCK_K: tl.constexpr, HEAD_DIM: tl.constexpr,
    AMD: tl.constexpr,
):  # fmt: skip
    """Adds Inf and NaN of V to the rows that attend their keys, key by key in the tiles that have any."""
    key = tl.arange(0, BLOCK_K)
    dims = tl.arange(0, HEAD_DIM)
    offsets, lowest = tile_offsets(v_rows, BLOCK_K, HEAD_DIM, 2, AMD)
    for n in tl.range(begin, end, num_stages=1):
        first = n * BLOCK_K
        at = row_address(v_rows, batch, k_first + first + lowest, head_k, 2)
        v = tl.load(at + offsets, mask=(first + key < k_count)[:, None], other=0)
        if tl.min(tl.min(is_finite(v).to(tl.int32), 1), 0) == 0:
            for i in tl.range(0, tl.minimum(BLOCK_K, k_count - first), num_stages=1):
                x = tl.load(row_address(v_rows, batch, k_first + first + i, head_k, 2) + dims).to(tl.float32)
                o += tl.where(within(first + i, low, high), tl.where(is_finite(x), 0.0, x)[None, :], 0.0)
    return o
