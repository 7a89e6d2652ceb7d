"""dk and dv in Triton: the plain features of backward_dkv of kernels/amd and kernels/nvidia, for rows of exactly
HEAD_DIM elements, aligned to 16 bytes. BLOCK_Q is the workgroup's rows of k, BLOCK_K the queries of a step. Tiles of
queries are in shared memory, and the next ones on their way. The whole tiles of all heads of a group are one loop."""

import triton
import triton.language as tl
from gradients import LOG2E, score_gradients, statistics_address, weights
from not_finite import ABOVE, END, FINITE, REST, begun, first_turn, in_range, infinity, replaced
from nvidia_tiles import again_k, unknown_zero
from place import (
    Work,
    addresses,
    end_query,
    first_query,
    later,
    row_address,
    sequence,
    tile_offsets,
    tiles_of,
    turn_of,
    within,
)
from softmax import rounded
from tiles import not_finite


@triton.jit
def whole_tiles(
    a, k, v, work, DTYPE: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr
):
    """The sums of the tiles whose queries attend all keys. A pointer behind a head's last tile steps to the next
    head."""
    p = a.problem
    diagonal = tl.where(p.top_left != 0, 0, work.k_count - work.q_count)
    _, _, begin, end = tiles_of(
        first_query, end_query, p.window_right, p.window_left, diagonal, work.k_count, work.q_count, work.first_row,
        BLOCK_Q, BLOCK_K,
    )  # fmt: skip
    tiles = end - begin
    first = work.q_first + begin * BLOCK_K
    q_offsets, q_lowest = tile_offsets(a.q, BLOCK_K, HEAD_DIM, 2)
    dout_offsets, dout_lowest = tile_offsets(a.dout, BLOCK_K, HEAD_DIM, 2)
    q_at = row_address(a.q, work.batch, first + q_lowest, work.head_k * p.group, 2)
    dout_at = row_address(a.dout, work.batch, first + dout_lowest, work.head_k * p.group, 2)
    statistics_at = statistics_address(a, work.batch, first, work.head_k * p.group).to(tl.pointer_type(tl.float32))
    q_step = tl.multiple_of(a.q.seq // 2 * BLOCK_K, 8)
    dout_step = tl.multiple_of(a.dout.seq // 2 * BLOCK_K, 8)
    q_next_head = tl.multiple_of(a.q.head // 2 - q_step * (tiles - 1), 8)
    dout_next_head = tl.multiple_of(a.dout.head // 2 - dout_step * (tiles - 1), 8)
    statistics_next_head = 2 * (a.statistics.head - (tiles - 1) * BLOCK_K)
    dk = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    dv = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    of_head = 0
    for _ in range(0, tiles * p.group):
        q = tl.load(q_at + q_offsets)
        dout = tl.load(dout_at + dout_offsets)
        lse_log2 = tl.load(statistics_at + 2 * tl.arange(0, BLOCK_K)) * LOG2E
        delta = tl.load(statistics_at + 2 * tl.arange(0, BLOCK_K) + 1)
        of_keys = weights(tl.dot(k, q.T), p.scale_log2, lse_log2[None, :], None, False)
        ds = score_gradients(of_keys, tl.dot(v, dout.T), delta[None, :], None, False)
        dv = tl.dot(rounded(of_keys, DTYPE), dout, dv)
        dk = tl.dot(rounded(ds, DTYPE), q, dk)
        of_head += 1
        is_last = of_head == tiles
        q_at += tl.multiple_of(tl.where(is_last, q_next_head, q_step), 8)
        dout_at += tl.multiple_of(tl.where(is_last, dout_next_head, dout_step), 8)
        statistics_at += tl.where(is_last, statistics_next_head, 2 * BLOCK_K)
        of_head = tl.where(is_last, 0, of_head)
    return dk, dv


@triton.jit
def add_edges(
    a, k, v, work, dk, dv, turn, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, HEAD_DIM: tl.constexpr,
    AGAIN: tl.constexpr,
):  # fmt: skip
    """dk and dv with the tiles that are not whole added. AGAIN: with all tiles, as a pass of not_finite.py adds them;
    dk then has what the pass sums, be it for dv."""
    p = a.problem
    diagonal = tl.where(p.top_left != 0, 0, work.k_count - work.q_count)
    begin, end, skip_begin, skip_end = tiles_of(
        first_query, end_query, p.window_right, p.window_left, diagonal, work.k_count, work.q_count, work.first_row,
        BLOCK_Q, BLOCK_K,
    )  # fmt: skip
    if AGAIN or skip_begin == skip_end:
        skip_begin = end
        skip_end = end
    zero = unknown_zero()
    rows = work.first_row + (tl.arange(0, BLOCK_Q) + zero)
    low = first_query(p.window_right, diagonal, work.q_count, rows)[:, None]
    high = end_query(p.window_left, diagonal, work.q_count, rows)[:, None]
    before = skip_begin - begin
    of_head = before + end - skip_end
    for i in tl.range(0, of_head * p.group, num_stages=1 if AGAIN else None):
        head = work.head_k * p.group + i // of_head
        tile = i % of_head
        first = tl.where(tile < before, begin + tile, skip_end + tile - before) * BLOCK_K
        queries = first + (tl.arange(0, BLOCK_K) + zero)
        exists = queries < work.q_count
        row = work.q_first + first
        q = tl.load(addresses(a.q, work.batch, row, head, zero, BLOCK_K, HEAD_DIM), mask=exists[:, None], other=0)
        dout = tl.load(addresses(a.dout, work.batch, row, head, zero, BLOCK_K, HEAD_DIM), mask=exists[:, None], other=0)
        at = statistics_address(a, work.batch, row, head).to(tl.pointer_type(tl.float32)) + 2 * tl.arange(0, BLOCK_K)
        lse_log2 = tl.load(at, mask=exists, other=float("inf")) * LOG2E  # a row that does not exist attends nothing
        delta = tl.load(at + 1, mask=exists, other=0)
        attends = within(queries[None, :], low, high)
        s = tl.dot(k, q.T)
        if AGAIN:
            attends = attends & (s * p.scale_log2 != float("-inf"))
        of_keys = weights(s, p.scale_log2, lse_log2[None, :], attends, True)
        if AGAIN:
            x = tl.where(turn <= FINITE, of_keys, attends.to(tl.float32))
            ds = score_gradients(of_keys, tl.dot(v, dout.T), delta[None, :], attends, True)
            x = tl.where(turn <= REST, in_range(ds, turn, q.dtype), x)
            with_x = tl.where(turn <= REST, q, dout)
            dk = tl.dot(rounded(x, q.dtype), replaced(with_x, tl.maximum(turn, FINITE)), dk)
        else:
            ds = score_gradients(of_keys, tl.dot(v, dout.T), delta[None, :], attends, True)
            dk = tl.dot(rounded(ds, q.dtype), q, dk)
            dv = tl.dot(rounded(of_keys, dout.dtype), dout, dv)
    return dk, dv


@triton.jit
def store(to, x, batch, row, head, exists, zero, DTYPE: tl.constexpr, BLOCK_Q: tl.constexpr, HEAD_DIM: tl.constexpr):
    if to.data.to(tl.int64) != 0:
        tl.store(addresses(to, batch, row, head, zero, BLOCK_Q, HEAD_DIM), x.to(DTYPE), mask=exists[:, None])


@triton.jit
def store_again(
    a, sums, turn, batch, row, head, exists, zero, DTYPE: tl.constexpr, BLOCK_Q: tl.constexpr, HEAD_DIM: tl.constexpr
):
    """What a pass summed: an infinity is added where ABOVE or BELOW have no 0."""
    if turn == REST:
        store(a.dk, sums * a.problem.scale, batch, row, head, exists, zero, DTYPE, BLOCK_Q, HEAD_DIM)
    if turn >= FINITE:
        at = addresses(a.dv, batch, row, head, zero, BLOCK_Q, HEAD_DIM)
        if turn >= ABOVE:
            stored = tl.load(at, mask=exists[:, None], other=0).to(tl.float32)
            sums = stored + tl.where(sums > 0, infinity(turn), 0.0)
        tl.store(at, sums.to(DTYPE), mask=exists[:, None])


@triton.jit
def sum_again(a, k, v, work, DTYPE: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr):
    """The passes of not_finite.py, each of which stores what it summed."""
    row = work.k_first + work.first_row
    sums = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    begin = tl.where(a.dk.data.to(tl.int64) != 0, first_turn(DTYPE), FINITE)
    end = tl.where(a.dv.data.to(tl.int64) != 0, END, FINITE)
    for turn in tl.range(begin, end, num_stages=1):
        zero = unknown_zero()
        tl.debug_barrier()  # what another pass stored may be another thread's
        again = Work(
            work.batch, work.head, work.head_k, work.q_first + zero, work.q_count, work.k_first, work.k_count,
            work.first_row,
        )  # fmt: skip
        sums, _ = add_edges(a, k, v, again, begun(sums, turn), sums, turn, BLOCK_Q, again_k(BLOCK_K), HEAD_DIM, True)
        zero = unknown_zero()
        exists = work.first_row + (tl.arange(0, BLOCK_Q) + zero) < work.k_count
        store_again(a, sums, turn, work.batch, row, work.head_k, exists, zero, DTYPE, BLOCK_Q, HEAD_DIM)


@triton.jit
def gradients_of_keys(
    a, work, DTYPE: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr
):
    exists = (work.first_row + tl.arange(0, BLOCK_Q) < work.k_count)[:, None]
    row = work.k_first + work.first_row
    k = tl.load(addresses(a.k, work.batch, row, work.head_k, 0, BLOCK_Q, HEAD_DIM), mask=exists, other=0)
    v = tl.load(addresses(a.v, work.batch, row, work.head_k, 0, BLOCK_Q, HEAD_DIM), mask=exists, other=0)
    dk, dv = whole_tiles(a, k, v, work, DTYPE, HEAD_DIM, BLOCK_Q, BLOCK_K)
    dk, dv = add_edges(a, k, v, later(work, unknown_zero()), dk, dv, REST, BLOCK_Q, BLOCK_K, HEAD_DIM, False)

    zero = unknown_zero()
    work = Work(
        work.batch + zero, work.head, work.head_k + zero, work.q_first, work.q_count, work.k_first, work.k_count + zero,
        work.first_row + zero,
    )  # fmt: skip
    row = work.k_first + work.first_row
    exists = work.first_row + (tl.arange(0, BLOCK_Q) + zero) < work.k_count
    store(a.dk, dk * a.problem.scale, work.batch, row, work.head_k, exists, zero, DTYPE, BLOCK_Q, HEAD_DIM)
    store(a.dv, dv, work.batch, row, work.head_k, exists, zero, DTYPE, BLOCK_Q, HEAD_DIM)
    # An Inf or NaN in Q reaches the lse of its row, and so all keys that the row attends. For other keys it met only
    # zeros, as one in dO did.
    again = not_finite(dk) | not_finite(dv)
    if tl.max((again & exists).to(tl.int32), 0) != 0:
        sum_again(a, k, v, work, DTYPE, HEAD_DIM, BLOCK_Q, BLOCK_K)


@triton.jit(repr=lambda specialization: specialization.constants["SYMBOL"])
def backward_dkv(
    a, SYMBOL: tl.constexpr, DTYPE: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr
):
    p = a.problem
    flat_head, tile = turn_of(a.tiles, p.heads_k * p.batch, p.xcds, p.heads_at_once, p.units, tl.program_id(0))
    head_k = flat_head % p.heads_k
    batch = flat_head // p.heads_k
    q_first, q_count = sequence(p.cu_seqlens_q, batch, p.total_q, p.seqlen_q)
    k_first, k_count = sequence(p.cu_seqlens_k, batch, p.total_k, p.seqlen_k)
    first_row = tile * BLOCK_Q
    work = Work(batch, head_k, head_k, q_first, q_count, k_first, k_count, first_row)
    if first_row < k_count:
        gradients_of_keys(a, work, DTYPE, HEAD_DIM, BLOCK_Q, BLOCK_K)
