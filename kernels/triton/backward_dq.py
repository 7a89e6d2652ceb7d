"""dq, and each row's lse and delta for backward_dkv, in Triton: the plain features of backward_dq of kernels/amd and
kernels/nvidia, for rows of exactly HEAD_DIM elements, aligned to 16 bytes. Tiles of keys are in shared memory, and the
next ones on their way."""

from collections import namedtuple

import triton
import triton.language as tl
from gradients import LOG2E, make_statistics, score_gradients, weights
from not_finite import FINITE, REST, begun, first_turn, in_range, replaced
from nvidia_tiles import again_k, unknown_zero
from place import (
    addresses,
    end_key,
    first_key,
    later,
    row_address,
    rows_of,
    tile_offsets,
    tiles_of,
    with_head_k,
    within,
)
from softmax import rounded
from tiles import not_finite

Queries = namedtuple("Queries", "q dout lse_log2 delta")


@triton.jit
def statistics_of(a, work, BLOCK_Q: tl.constexpr, HEAD_DIM: tl.constexpr):
    """lse and delta of the workgroup's rows. delta is made by the instruction that makes dP, in the same parts of the
    head dimension, so the two are equal where a row attends one key."""
    PART: tl.constexpr = min(HEAD_DIM, 64)
    row = work.q_first + work.first_row
    i = tl.arange(0, BLOCK_Q)
    exists = work.first_row + i < work.q_count
    products = tl.zeros([BLOCK_Q, BLOCK_Q], tl.float32)
    for first in tl.range(0, HEAD_DIM, PART, num_stages=1):
        zero = unknown_zero()
        dout_at = addresses(a.dout, work.batch, row, work.head, zero, BLOCK_Q, PART)
        dout = tl.load(dout_at + first, mask=exists[:, None], other=0)
        out_at = addresses(a.out, work.batch, row, work.head, zero, BLOCK_Q, PART)
        out = tl.load(out_at + first, mask=exists[:, None], other=0)
        products = tl.dot(dout, out.T, products)
    delta = tl.sum(tl.where(i[:, None] == i[None, :], products, 0.0), 1)
    return make_statistics(a, delta, work.batch, work.head, row + i, exists)


@triton.jit
def load_queries(rows, work, BLOCK_Q: tl.constexpr, HEAD_DIM: tl.constexpr):
    """The workgroup's rows of q or dout."""
    zero = unknown_zero()
    exists = (work.first_row + (tl.arange(0, BLOCK_Q) + zero) < work.q_count)[:, None]
    row = work.q_first + work.first_row
    return tl.load(addresses(rows, work.batch, row, work.head, zero, BLOCK_Q, HEAD_DIM), mask=exists, other=0)


@triton.jit
def tiles_of_keys(p, work, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr):
    """The diagonal of the mask, and place.py's tiles_of."""
    diagonal = tl.where(p.top_left != 0, 0, work.k_count - work.q_count)
    tiles = tiles_of(
        first_key, end_key, p.window_left, p.window_right, diagonal, work.q_count, work.k_count, work.first_row,
        BLOCK_Q, BLOCK_K,
    )  # fmt: skip
    return diagonal, tiles


@triton.jit
def whole_tiles(
    a, own, work, begin, end, DTYPE: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The sums of the tiles from begin to end, whose keys all rows attend."""
    p = a.problem
    k_offsets, k_lowest = tile_offsets(a.k, BLOCK_K, HEAD_DIM, 2)
    v_offsets, v_lowest = tile_offsets(a.v, BLOCK_K, HEAD_DIM, 2)
    k_at = row_address(a.k, work.batch, work.k_first + begin * BLOCK_K + k_lowest, work.head_k, 2)
    v_at = row_address(a.v, work.batch, work.k_first + begin * BLOCK_K + v_lowest, work.head_k, 2)
    k_step = tl.multiple_of(a.k.seq // 2 * BLOCK_K, 8)
    v_step = tl.multiple_of(a.v.seq // 2 * BLOCK_K, 8)
    dq = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    for _ in range(begin, end):
        k = tl.load(k_at + k_offsets)
        v = tl.load(v_at + v_offsets)
        of_keys = weights(tl.dot(own.q, k.T), p.scale_log2, own.lse_log2[:, None], None, False)
        ds = score_gradients(of_keys, tl.dot(own.dout, v.T), own.delta[:, None], None, False)
        dq = tl.dot(rounded(ds, DTYPE), k, dq)
        k_at += k_step
        v_at += v_step
    return dq


@triton.jit
def add_edges(
    a, own, work, dq, turn, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, HEAD_DIM: tl.constexpr,
    AGAIN: tl.constexpr,
):  # fmt: skip
    """dq with the tiles that are not whole added. AGAIN: with all tiles, as a pass of not_finite.py adds them."""
    p = a.problem
    diagonal, tiles = tiles_of_keys(p, work, BLOCK_Q, BLOCK_K)
    begin, end, skip_begin, skip_end = tiles
    if AGAIN or skip_begin == skip_end:
        skip_begin = end
        skip_end = end
    zero = unknown_zero()
    rows = work.first_row + (tl.arange(0, BLOCK_Q) + zero)
    low = first_key(p.window_left, diagonal, work.k_count, rows)[:, None]
    high = end_key(p.window_right, diagonal, work.k_count, rows)[:, None]
    before = skip_begin - begin
    for i in tl.range(0, before + end - skip_end, num_stages=1 if AGAIN else None):
        first = tl.where(i < before, begin + i, skip_end + i - before) * BLOCK_K
        keys = first + (tl.arange(0, BLOCK_K) + zero)
        inside = (keys < work.k_count)[:, None]
        row = work.k_first + first
        k = tl.load(addresses(a.k, work.batch, row, work.head_k, zero, BLOCK_K, HEAD_DIM), mask=inside, other=0)
        v = tl.load(addresses(a.v, work.batch, row, work.head_k, zero, BLOCK_K, HEAD_DIM), mask=inside, other=0)
        attends = within(keys[None, :], low, high)
        s = tl.dot(own.q, k.T)
        if AGAIN:
            attends = attends & (s * p.scale_log2 != float("-inf"))
        of_keys = weights(s, p.scale_log2, own.lse_log2[:, None], attends, True)
        ds = score_gradients(of_keys, tl.dot(own.dout, v.T), own.delta[:, None], attends, True)
        if AGAIN:
            ds = in_range(ds, turn, k.dtype)
            k = replaced(k, FINITE)
        dq = tl.dot(rounded(ds, k.dtype), k, dq)
    return dq


@triton.jit(repr=lambda specialization: specialization.constants["SYMBOL"])
def backward_dq(
    a, SYMBOL: tl.constexpr, DTYPE: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr
):
    work = rows_of(a.problem, a.tiles, BLOCK_Q)
    if work.first_row >= work.q_count:
        return
    lse, delta = statistics_of(a, work, BLOCK_Q, HEAD_DIM)
    lse_log2 = lse * LOG2E
    if a.dq.data.to(tl.int64) == 0:
        return

    q = load_queries(a.q, work, BLOCK_Q, HEAD_DIM)
    own = Queries(q, load_queries(a.dout, work, BLOCK_Q, HEAD_DIM), lse_log2, delta)
    _, (_, _, begin, end) = tiles_of_keys(a.problem, work, BLOCK_Q, BLOCK_K)
    work = with_head_k(work, a.problem.group)
    dq = whole_tiles(a, own, work, begin, end, DTYPE, HEAD_DIM, BLOCK_Q, BLOCK_K)
    work = later(work, unknown_zero())
    dq = add_edges(a, own, work, dq, REST, BLOCK_Q, BLOCK_K, HEAD_DIM, False)
    # An Inf or NaN in K reaches the lse of each row that attends the key. In other rows it met only zeros of dS.
    again = not_finite(dq) & (lse_log2 == lse_log2)
    exists = work.first_row + (tl.arange(0, BLOCK_Q) + unknown_zero()) < work.q_count
    if tl.max((again & exists).to(tl.int32), 0) != 0:
        dq = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
        for turn in tl.range(first_turn(DTYPE), FINITE, num_stages=1):
            dq = add_edges(a, own, work, begun(dq, turn), turn, BLOCK_Q, again_k(BLOCK_K), HEAD_DIM, True)
    zero = unknown_zero()
    exists = (work.first_row + (tl.arange(0, BLOCK_Q) + zero) < work.q_count)[:, None]
    at = addresses(a.dq, work.batch, work.q_first + work.first_row, work.head, zero, BLOCK_Q, HEAD_DIM)
    tl.store(at, (dq * a.problem.scale).to(DTYPE), mask=exists)
