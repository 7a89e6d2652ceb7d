"""dq, and of each row what backward_dkv needs, its lse and delta, in Triton for NVIDIA: the plain features of
kernels/nvidia/attention/backward_dq.cu, for rows of exactly HEAD_DIM elements, aligned to 16 bytes. Tiles of keys are
in shared memory, of which the next ones are on their way."""

import triton
import triton.language as tl
from gradients import LOG2E, make_statistics, score_gradients, weights
from not_finite import FINITE, REST, begun, first_turn, in_range, replaced
from nvidia_tiles import AGAIN_K, addresses, unknown_zero
from options import EXCLUDED
from place import end_key, first_key, row_address, sequence, tile_offsets, tiles_of, turn_of, within
from tiles import not_finite


@triton.jit
def statistics_of(a, batch, head, row, exists, BLOCK_Q: tl.constexpr, HEAD_DIM: tl.constexpr):
    """By the instruction that makes dP, in the same parts of the head dimension: dP is delta where a row attends one
    key."""
    PART: tl.constexpr = min(HEAD_DIM, 64)
    i = tl.arange(0, BLOCK_Q)
    products = tl.zeros([BLOCK_Q, BLOCK_Q], tl.float32)
    for first in tl.range(0, HEAD_DIM, PART, num_stages=1):
        zero = unknown_zero()
        dout = tl.load(addresses(a.dout, batch, row, head, zero, BLOCK_Q, PART) + first, mask=exists[:, None], other=0)
        out = tl.load(addresses(a.out, batch, row, head, zero, BLOCK_Q, PART) + first, mask=exists[:, None], other=0)
        products = tl.dot(dout, out.T, products)
    delta = tl.sum(tl.where(i[:, None] == i[None, :], products, 0.0), 1)
    return make_statistics(a, delta, batch, head, row + i, exists)


@triton.jit
def add_edges(
    a, q, dout, lse_log2, delta, batch, head_k, q_count, k_first, k_count, first_row, dq, turn, BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr, HEAD_DIM: tl.constexpr, AGAIN: tl.constexpr,
):  # fmt: skip
    """What the tiles add that are not whole; AGAIN: what all tiles add in a pass of not_finite.py."""
    p = a.problem
    diagonal = tl.where(p.top_left != 0, 0, k_count - q_count)
    begin, end, skip_begin, skip_end = tiles_of(
        first_key, end_key, p.window_left, p.window_right, diagonal, q_count, k_count, first_row, BLOCK_Q, BLOCK_K
    )
    if AGAIN or skip_begin == skip_end:
        skip_begin = end
        skip_end = end
    zero = unknown_zero()
    rows = first_row + (tl.arange(0, BLOCK_Q) + zero)
    low = first_key(p.window_left, diagonal, k_count, rows)[:, None]
    high = end_key(p.window_right, diagonal, k_count, rows)[:, None]
    before = skip_begin - begin
    for i in tl.range(0, before + end - skip_end, num_stages=1 if AGAIN else None):
        first = tl.where(i < before, begin + i, skip_end + i - before) * BLOCK_K
        keys = first + (tl.arange(0, BLOCK_K) + zero)
        inside = (keys < k_count)[:, None]
        k = tl.load(addresses(a.k, batch, k_first + first, head_k, zero, BLOCK_K, HEAD_DIM), mask=inside, other=0)
        v = tl.load(addresses(a.v, batch, k_first + first, head_k, zero, BLOCK_K, HEAD_DIM), mask=inside, other=0)
        attends = within(keys[None, :], low, high)
        s = tl.dot(q, k.T)
        if AGAIN:
            attends = attends & (s * p.scale_log2 != EXCLUDED)
        of_keys = weights(s, p.scale_log2, lse_log2[:, None], attends, True)
        ds = score_gradients(of_keys, tl.dot(dout, v.T), delta[:, None], attends, True)
        if AGAIN:
            ds = in_range(ds, turn, k.dtype)
            k = replaced(k, FINITE)
        dq = tl.dot(ds.to(k.dtype), k, dq)
    return dq


@triton.jit(repr=lambda specialization: specialization.constants["SYMBOL"])
def backward_dq(
    a, SYMBOL: tl.constexpr, DTYPE: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr
):
    p = a.problem
    flat_head, tile = turn_of(a.tiles, p.heads_q * p.batch, p.xcds, p.heads_at_once, p.units, tl.program_id(0))
    head = flat_head % p.heads_q
    batch = flat_head // p.heads_q
    q_first, q_count = sequence(p.cu_seqlens_q, batch, p.total_q, p.seqlen_q)
    k_first, k_count = sequence(p.cu_seqlens_k, batch, p.total_k, p.seqlen_k)
    first_row = tl.where(p.heads_at_once > 0, a.tiles - 1 - tile, tile) * BLOCK_Q
    if first_row >= q_count:
        return

    row = q_first + first_row
    lse, delta = statistics_of(
        a, batch, head, row, first_row + tl.arange(0, BLOCK_Q) < q_count, BLOCK_Q, HEAD_DIM
    )  # fmt: skip
    lse_log2 = lse * LOG2E
    if a.dq.data.to(tl.int64) == 0:
        return

    zero = unknown_zero()
    exists = (first_row + (tl.arange(0, BLOCK_Q) + zero) < q_count)[:, None]
    q = tl.load(addresses(a.q, batch, row, head, zero, BLOCK_Q, HEAD_DIM), mask=exists, other=0)
    zero = unknown_zero()
    exists = (first_row + (tl.arange(0, BLOCK_Q) + zero) < q_count)[:, None]
    dout = tl.load(addresses(a.dout, batch, row, head, zero, BLOCK_Q, HEAD_DIM), mask=exists, other=0)
    diagonal = tl.where(p.top_left != 0, 0, k_count - q_count)
    _, _, begin, end = tiles_of(
        first_key, end_key, p.window_left, p.window_right, diagonal, q_count, k_count, first_row, BLOCK_Q, BLOCK_K
    )
    head_k = head // p.group
    k_offsets, _ = tile_offsets(a.k, BLOCK_K, HEAD_DIM, 2, False)
    v_offsets, _ = tile_offsets(a.v, BLOCK_K, HEAD_DIM, 2, False)
    k_at = row_address(a.k, batch, k_first + begin * BLOCK_K, head_k, 2)
    v_at = row_address(a.v, batch, k_first + begin * BLOCK_K, head_k, 2)
    k_step = tl.multiple_of(a.k.seq // 2 * BLOCK_K, 8)
    v_step = tl.multiple_of(a.v.seq // 2 * BLOCK_K, 8)
    dq = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    for _ in range(begin, end):
        k = tl.load(k_at + k_offsets)
        v = tl.load(v_at + v_offsets)
        of_keys = weights(tl.dot(q, k.T), p.scale_log2, lse_log2[:, None], None, False)
        ds = score_gradients(of_keys, tl.dot(dout, v.T), delta[:, None], None, False)
        dq = tl.dot(ds.to(DTYPE), k, dq)
        k_at += k_step
        v_at += v_step

    zero = unknown_zero()
    batch += zero
    head += zero
    head_k += zero
    q_first += zero
    q_count += zero
    k_first += zero
    k_count += zero
    first_row += zero
    dq = add_edges(
        a, q, dout, lse_log2, delta, batch, head_k, q_count, k_first, k_count, first_row, dq, REST, BLOCK_Q, BLOCK_K,
        HEAD_DIM, False,
    )  # fmt: skip
    # An Inf or NaN in K reaches the lse of each row that attends the key. In other rows it met only zeros of dS.
    again = not_finite(dq) & (lse_log2 == lse_log2) & (first_row + (tl.arange(0, BLOCK_Q) + unknown_zero()) < q_count)
    if tl.max(again.to(tl.int32), 0) != 0:
        dq = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
        for turn in tl.range(first_turn(DTYPE), FINITE, num_stages=1):
            dq = add_edges(
                a, q, dout, lse_log2, delta, batch, head_k, q_count, k_first, k_count, first_row, begun(dq, turn), turn,
                BLOCK_Q, AGAIN_K, HEAD_DIM, True,
            )  # fmt: skip
    zero = unknown_zero()
    exists = (first_row + (tl.arange(0, BLOCK_Q) + zero) < q_count)[:, None]
    at = addresses(a.dq, batch, q_first + first_row, head, zero, BLOCK_Q, HEAD_DIM)
    tl.store(at, (dq * p.scale).to(DTYPE), mask=exists)
