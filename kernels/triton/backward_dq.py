"""dq, and of each row what backward_dkv needs, its lse and delta, in Triton: the plain features of
kernels/amd/attention/backward_dq.hip, for rows of exactly HEAD_DIM elements, aligned to 16 bytes."""

import triton
import triton.language as tl
from gradients import LOG2E, make_statistics, score_gradients, weights
from place import end_key, first_key, row_address, sequence, tile_offsets, turn_of, within
from softmax import rounded
from tiles import is_finite


@triton.jit
def statistics_of(a, dout, batch, head, q_first, first_row, q_count, BLOCK_Q: tl.constexpr, HEAD_DIM: tl.constexpr,
                  AMD: tl.constexpr):  # fmt: skip
    row = tl.arange(0, BLOCK_Q)
    exists = first_row + row < q_count
    offsets, lowest = tile_offsets(a.out, BLOCK_Q, HEAD_DIM, 2, AMD)
    at = row_address(a.out, batch, q_first + first_row + lowest, head, 2)
    out = tl.load(at + offsets, mask=exists[:, None], other=0)
    # By the instruction that makes dP, whose sums have the same order: dP is delta where a row attends one key.
    delta = tl.sum(tl.where(row[:, None] == row[None, :], tl.dot(dout, out.T), 0.0), 1)
    return make_statistics(a, delta, batch, head, q_first + first_row + row, exists)


@triton.jit
def clear_sums(a, batch, head, q_first, first_row, q_count, BLOCK_Q: tl.constexpr):
    """Of the rows' dq, for backward_fused, which adds to them."""
    row = batch.to(tl.int64) * a.statistics.batch + head.to(tl.int64) * a.statistics.head + q_first + first_row
    at = a.dq_sum.data + row * a.dq_sum.dims
    count = tl.minimum(q_count - first_row, BLOCK_Q) * a.dq_sum.dims.to(tl.int32)
    for first in tl.range(0, count, 1024, num_stages=1):
        element = first + tl.arange(0, 1024)
        tl.store(at + element, tl.zeros([1024], tl.float32), mask=element < count)


@triton.jit
def edge_tiles(
    a, q, dout, lse_log2, delta, batch, head_k, k_first, k_count, low, high, begin, skip_begin, skip_end, end, dq,
    BLOCK_K: tl.constexpr, HEAD_DIM: tl.constexpr, BY_HAND: tl.constexpr, AMD: tl.constexpr, FINITE: tl.constexpr,
):  # fmt: skip
    """Tiles of keys [begin, skip_begin) and [skip_end, end), of which rows attend the keys low <= key < high. FINITE:
    Inf and NaN in K count as 0 in the last product."""
    k_offsets, k_lowest = tile_offsets(a.k, BLOCK_K, HEAD_DIM, 2, AMD)
    v_offsets, v_lowest = tile_offsets(a.v, BLOCK_K, HEAD_DIM, 2, AMD)
    before = skip_begin - begin
    for i in tl.range(0, before + end - skip_end, num_stages=1):
        first = tl.where(i < before, begin + i, skip_end + i - before) * BLOCK_K
        keys = first + tl.arange(0, BLOCK_K)
        inside = (keys < k_count)[:, None]
        attends = within(keys[None, :], low, high)
        k = tl.load(row_address(a.k, batch, k_first + first + k_lowest, head_k, 2) + k_offsets, mask=inside, other=0)
        v = tl.load(row_address(a.v, batch, k_first + first + v_lowest, head_k, 2) + v_offsets, mask=inside, other=0)
        p = weights(tl.dot(q, k.T), a.problem.scale_log2, lse_log2[:, None], attends, True)
        ds = score_gradients(p, tl.dot(dout, v.T), delta[:, None], attends, True)
        if FINITE:
            k = tl.where(is_finite(k), k, 0.0)
        dq = tl.dot(rounded(ds, k.dtype, BY_HAND), k, dq)
    return dq


@triton.jit(repr=lambda specialization: specialization.constants["SYMBOL"])
def backward_dq(
    a, SYMBOL: tl.constexpr, DTYPE: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    BY_HAND: tl.constexpr, AMD: tl.constexpr,
):  # fmt: skip
    p = a.problem
    flat_head, tile = turn_of(a.tiles, p.heads_q * p.batch, p.xcds, p.heads_at_once, p.units, tl.program_id(0))
    head = flat_head % p.heads_q
    batch = flat_head // p.heads_q
    q_first, q_count = sequence(p.cu_seqlens_q, batch, p.total_q, p.seqlen_q)
    k_first, k_count = sequence(p.cu_seqlens_k, batch, p.total_k, p.seqlen_k)
    first_row = tl.where(p.heads_at_once > 0, a.tiles - 1 - tile, tile) * BLOCK_Q
    if first_row >= q_count:
        return

    rows = first_row + tl.arange(0, BLOCK_Q)
    exists = (rows < q_count)[:, None]
    dout_offsets, dout_lowest = tile_offsets(a.dout, BLOCK_Q, HEAD_DIM, 2, AMD)
    dout_at = row_address(a.dout, batch, q_first + first_row + dout_lowest, head, 2)
    dout = tl.load(dout_at + dout_offsets, mask=exists, other=0)
    lse, delta = statistics_of(a, dout, batch, head, q_first, first_row, q_count, BLOCK_Q, HEAD_DIM, AMD)
    if a.dq_sum.data.to(tl.int64) != 0:
        clear_sums(a, batch, head, q_first, first_row, q_count, BLOCK_Q)
    if a.dq.data.to(tl.int64) == 0:
        return

    # Keys from begin to end in tiles, of which those from whole_begin to whole_end are attended by all rows.
    diagonal = tl.where(p.top_left != 0, 0, k_count - q_count)
    last_row = tl.minimum(first_row + BLOCK_Q, q_count) - 1
    begin = first_key(p.window_left, diagonal, k_count, first_row) // BLOCK_K
    end = (end_key(p.window_right, diagonal, k_count, last_row) + BLOCK_K - 1) // BLOCK_K
    whole_begin = (first_key(p.window_left, diagonal, k_count, last_row) + BLOCK_K - 1) // BLOCK_K
    whole_end = end_key(p.window_right, diagonal, k_count, first_row) // BLOCK_K
    has_whole = whole_begin < whole_end

    q_offsets, q_lowest = tile_offsets(a.q, BLOCK_Q, HEAD_DIM, 2, AMD)
    q = tl.load(row_address(a.q, batch, q_first + first_row + q_lowest, head, 2) + q_offsets, mask=exists, other=0)
    head_k = head // p.group
    k_offsets, k_lowest = tile_offsets(a.k, BLOCK_K, HEAD_DIM, 2, AMD)
    v_offsets, v_lowest = tile_offsets(a.v, BLOCK_K, HEAD_DIM, 2, AMD)
    k_at = row_address(a.k, batch, k_first + k_lowest, head_k, 2)
    v_at = row_address(a.v, batch, k_first + v_lowest, head_k, 2)
    k_step = a.k.seq // 2 * BLOCK_K
    v_step = a.v.seq // 2 * BLOCK_K
    scale_log2 = p.scale_log2
    lse_log2 = lse * LOG2E
    dq = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    # The next tile is loaded before this one's products.
    k = tl.load(k_at + tl.multiple_of(whole_begin * k_step, 8) + k_offsets, mask=has_whole, other=0)
    v = tl.load(v_at + tl.multiple_of(whole_begin * v_step, 8) + v_offsets, mask=has_whole, other=0)
    for n in tl.range(whole_begin, whole_end, num_stages=1):
        following = tl.minimum(n + 1, whole_end - 1)
        next_k = tl.load(k_at + tl.multiple_of(following * k_step, 8) + k_offsets)
        next_v = tl.load(v_at + tl.multiple_of(following * v_step, 8) + v_offsets)
        of_keys = weights(tl.dot(q, k.T), scale_log2, lse_log2[:, None], None, False)
        ds = score_gradients(of_keys, tl.dot(dout, v.T), delta[:, None], None, False)
        dq = tl.dot(rounded(ds, DTYPE, BY_HAND), k, dq)
        k = next_k
        v = next_v

    low = first_key(p.window_left, diagonal, k_count, rows)[:, None]
    high = end_key(p.window_right, diagonal, k_count, rows)[:, None]
    skip_begin = tl.where(has_whole, whole_begin, end)
    skip_end = tl.where(has_whole, whole_end, end)
    dq = edge_tiles(
        a, q, dout, lse_log2, delta, batch, head_k, k_first, k_count, low, high, begin, skip_begin, skip_end, end, dq,
        BLOCK_K, HEAD_DIM, BY_HAND, AMD, False,
    )  # fmt: skip

    # An Inf or NaN in K reaches the lse of each row that attends the key. In other rows it met only zeros of dS.
    zeros = tl.sum(dq * 0, 1)  # NaN where an element is not finite
    again = (zeros != zeros) & (lse == lse) & (rows < q_count)
    if tl.max(again.to(tl.int32), 0) != 0:
        dq = edge_tiles(
            a, q, dout, lse_log2, delta, batch, head_k, k_first, k_count, low, high, begin, end, end, end,
            tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32), BLOCK_K, HEAD_DIM, BY_HAND, AMD, True,
        )  # fmt: skip
    dq_offsets, dq_lowest = tile_offsets(a.dq, BLOCK_Q, HEAD_DIM, 2, AMD)
    dq_at = row_address(a.dq, batch, q_first + first_row + dq_lowest, head, 2)
    tl.store(dq_at + dq_offsets, (dq * p.scale).to(DTYPE), mask=exists)
