"""dk and dv in Triton: the plain features of kernels/amd/attention/backward_dkv.hip, for rows of exactly HEAD_DIM
elements, aligned to 16 bytes. BLOCK_Q is the workgroup's rows of k, BLOCK_K the queries of a step."""

import triton
import triton.language as tl
from gradients import ATTENDS_NOTHING, score_gradients, statistics_address, unpacked, weights
from place import end_query, first_query, row_address, sequence, tile_offsets, turn_of, within
from softmax import rounded
from tiles import is_finite, not_finite


@triton.jit
def add_tile(q, dout, statistics, k, v, scale_log2, attends, dk, dv, BY_HAND: tl.constexpr, MASKED: tl.constexpr,
             FINITE: tl.constexpr):  # fmt: skip
    """What a tile of queries adds. FINITE: Inf and NaN in Q and dO count as 0 in the last two products."""
    lse_log2, delta = unpacked(statistics)
    p = weights(tl.dot(k, q.T), scale_log2, lse_log2[None, :], attends, MASKED)
    ds = score_gradients(p, tl.dot(v, dout.T), delta[None, :], attends, MASKED)
    if FINITE:
        q = tl.where(is_finite(q), q, 0.0)
        dout = tl.where(is_finite(dout), dout, 0.0)
    dv = tl.dot(rounded(p, q.dtype, BY_HAND), dout, dv)
    dk = tl.dot(rounded(ds, q.dtype, BY_HAND), q, dk)
    return dk, dv


@triton.jit
def edge_tiles(
    a, k, v, batch, head, q_first, q_count, low, high, begin, skip_begin, skip_end, end, dk, dv, BLOCK_K: tl.constexpr,
    HEAD_DIM: tl.constexpr, BY_HAND: tl.constexpr, AMD: tl.constexpr, FINITE: tl.constexpr,
):  # fmt: skip
    """Tiles of queries [begin, skip_begin) and [skip_end, end), of which those from low to high attend a key."""
    q_offsets, q_lowest = tile_offsets(a.q, BLOCK_K, HEAD_DIM, 2, AMD)
    dout_offsets, dout_lowest = tile_offsets(a.dout, BLOCK_K, HEAD_DIM, 2, AMD)
    before = skip_begin - begin
    for i in tl.range(0, before + end - skip_end, num_stages=1):
        first = tl.where(i < before, begin + i, skip_end + i - before) * BLOCK_K
        queries = first + tl.arange(0, BLOCK_K)
        exists = queries < q_count
        q_at = row_address(a.q, batch, q_first + first + q_lowest, head, 2)
        dout_at = row_address(a.dout, batch, q_first + first + dout_lowest, head, 2)
        q = tl.load(q_at + q_offsets, mask=exists[:, None], other=0)
        dout = tl.load(dout_at + dout_offsets, mask=exists[:, None], other=0)
        at = statistics_address(a, batch, q_first + queries, head)
        statistics = tl.load(at, mask=exists, other=ATTENDS_NOTHING)
        attends = within(queries[None, :], low, high)
        dk, dv = add_tile(q, dout, statistics, k, v, a.problem.scale_log2, attends, dk, dv, BY_HAND, True, FINITE)
    return dk, dv


@triton.jit
def store_rows(to, x, batch, row, head, exists, DTYPE: tl.constexpr, BLOCK_Q: tl.constexpr, HEAD_DIM: tl.constexpr,
               AMD: tl.constexpr):  # fmt: skip
    if to.data.to(tl.int64) != 0:
        offsets, lowest = tile_offsets(to, BLOCK_Q, HEAD_DIM, 2, AMD)
        tl.store(row_address(to, batch, row + lowest, head, 2) + offsets, x.to(DTYPE), mask=exists[:, None])


@triton.jit(repr=lambda specialization: specialization.constants["SYMBOL"])
def backward_dkv(
    a, SYMBOL: tl.constexpr, DTYPE: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    BY_HAND: tl.constexpr, AMD: tl.constexpr,
):  # fmt: skip
    p = a.problem
    flat_head, tile = turn_of(a.tiles, p.heads_k * p.batch, p.xcds, p.heads_at_once, p.units, tl.program_id(0))
    head_k = flat_head % p.heads_k
    batch = flat_head // p.heads_k
    q_first, q_count = sequence(p.cu_seqlens_q, batch, p.total_q, p.seqlen_q)
    k_first, k_count = sequence(p.cu_seqlens_k, batch, p.total_k, p.seqlen_k)
    first_row = tile * BLOCK_Q
    if first_row >= k_count:
        return

    # Queries from begin to end in tiles, of which those from whole_begin to whole_end attend all keys.
    diagonal = tl.where(p.top_left != 0, 0, k_count - q_count)
    last_row = tl.minimum(first_row + BLOCK_Q, k_count) - 1
    begin = first_query(p.window_right, diagonal, q_count, first_row) // BLOCK_K
    end = (end_query(p.window_left, diagonal, q_count, last_row) + BLOCK_K - 1) // BLOCK_K
    whole_begin = (first_query(p.window_right, diagonal, q_count, last_row) + BLOCK_K - 1) // BLOCK_K
    whole_end = end_query(p.window_left, diagonal, q_count, first_row) // BLOCK_K
    has_whole = whole_begin < whole_end
    skip_begin = tl.where(has_whole, whole_begin, end)
    skip_end = tl.where(has_whole, whole_end, end)

    rows = first_row + tl.arange(0, BLOCK_Q)
    exists = rows < k_count
    k_offsets, k_lowest = tile_offsets(a.k, BLOCK_Q, HEAD_DIM, 2, AMD)
    v_offsets, v_lowest = tile_offsets(a.v, BLOCK_Q, HEAD_DIM, 2, AMD)
    k_at = row_address(a.k, batch, k_first + first_row + k_lowest, head_k, 2)
    v_at = row_address(a.v, batch, k_first + first_row + v_lowest, head_k, 2)
    k = tl.load(k_at + k_offsets, mask=exists[:, None], other=0)
    v = tl.load(v_at + v_offsets, mask=exists[:, None], other=0)
    low = first_query(p.window_right, diagonal, q_count, rows)[:, None]
    high = end_query(p.window_left, diagonal, q_count, rows)[:, None]

    q_offsets, q_lowest = tile_offsets(a.q, BLOCK_K, HEAD_DIM, 2, AMD)
    dout_offsets, dout_lowest = tile_offsets(a.dout, BLOCK_K, HEAD_DIM, 2, AMD)
    q_step = a.q.seq // 2 * BLOCK_K
    dout_step = a.dout.seq // 2 * BLOCK_K
    scale_log2 = p.scale_log2
    dk = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    dv = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    for g in tl.range(0, p.group, num_stages=1):
        head = head_k * p.group + g
        q_at = row_address(a.q, batch, q_first + q_lowest, head, 2)
        dout_at = row_address(a.dout, batch, q_first + dout_lowest, head, 2)
        statistics_at = statistics_address(a, batch, q_first, head)
        # The next tile is loaded before this one's products.
        q = tl.load(q_at + tl.multiple_of(whole_begin * q_step, 8) + q_offsets, mask=has_whole, other=0)
        dout = tl.load(dout_at + tl.multiple_of(whole_begin * dout_step, 8) + dout_offsets, mask=has_whole, other=0)
        statistics = tl.load(statistics_at + whole_begin * BLOCK_K + tl.arange(0, BLOCK_K), mask=has_whole, other=0)
        for n in tl.range(whole_begin, whole_end, num_stages=1):
            following = tl.minimum(n + 1, whole_end - 1)
            next_q = tl.load(q_at + tl.multiple_of(following * q_step, 8) + q_offsets)
            next_dout = tl.load(dout_at + tl.multiple_of(following * dout_step, 8) + dout_offsets)
            next_statistics = tl.load(statistics_at + following * BLOCK_K + tl.arange(0, BLOCK_K))
            dk, dv = add_tile(q, dout, statistics, k, v, scale_log2, None, dk, dv, BY_HAND, False, False)
            q = next_q
            dout = next_dout
            statistics = next_statistics
        dk, dv = edge_tiles(
            a, k, v, batch, head, q_first, q_count, low, high, begin, skip_begin, skip_end, end, dk, dv,
            BLOCK_K, HEAD_DIM, BY_HAND, AMD, False,
        )  # fmt: skip

    row = k_first + first_row
    store_rows(a.dk, dk * p.scale, batch, row, head_k, exists, DTYPE, BLOCK_Q, HEAD_DIM, AMD)
    store_rows(a.dv, dv, batch, row, head_k, exists, DTYPE, BLOCK_Q, HEAD_DIM, AMD)
    # An Inf or NaN in Q reaches the lse of its row, and so all keys that the row attends; for other keys it met only
    # zeros of dS. One in dO reaches dk of all keys that the row attends: their dv is that of the first time.
    again = (not_finite(dk) | not_finite(dv)) & exists
    if tl.max(again.to(tl.int32), 0) != 0:
        dk = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
        dv = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
        for g in tl.range(0, p.group, num_stages=1):
            dk, dv = edge_tiles(
                a, k, v, batch, head_k * p.group + g, q_first, q_count, low, high, begin, end, end, end, dk, dv,
                BLOCK_K, HEAD_DIM, BY_HAND, AMD, True,
            )  # fmt: skip
        store_rows(a.dk, dk * p.scale, batch, row, head_k, exists, DTYPE, BLOCK_Q, HEAD_DIM, AMD)
        keeps_dv = not_finite(dk)
        store_rows(a.dv, dv, batch, row, head_k, exists & ~keeps_dv, DTYPE, BLOCK_Q, HEAD_DIM, AMD)
