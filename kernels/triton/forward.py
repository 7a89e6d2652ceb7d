"""Forward attention in Triton: the plain features of kernels/amd/attention/forward.hip, for rows of exactly HEAD_DIM
elements, aligned to 16 bytes. docs/design/triton.md says what is different from the C++ kernels, and why."""

import triton
import triton.language as tl
from place import end_key, first_key, row_address, sequence, tile_offsets, turn_of
from softmax import LN2, LOWEST, inverse, rounded, step
from tiles import add_not_finite, edge_tiles


@triton.jit(repr=lambda specialization: specialization.constants["SYMBOL"])
def forward(
    a, SYMBOL: tl.constexpr, DTYPE: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    EDGE_K: tl.constexpr, P_EXPONENT: tl.constexpr, BY_HAND: tl.constexpr, AMD: tl.constexpr,
):  # fmt: skip
    p = a.problem
    flat_head, tile = turn_of(a.q_tiles, p.heads_q * p.batch, p.xcds, p.heads_at_once, p.units, tl.program_id(0))
    head = flat_head % p.heads_q
    batch = flat_head // p.heads_q
    q_first, q_count = sequence(p.cu_seqlens_q, batch, p.total_q, p.seqlen_q)
    k_first, k_count = sequence(p.cu_seqlens_k, batch, p.total_k, p.seqlen_k)
    first_row = tl.where(p.heads_at_once > 0, a.q_tiles - 1 - tile, tile) * BLOCK_Q
    if first_row >= q_count:
        return

    # Keys from begin to end in tiles of EDGE_K. In tiles of BLOCK_K between whole_begin and whole_end, all rows attend
    # all keys.
    diagonal = tl.where(p.top_left != 0, 0, k_count - q_count)
    last_row = tl.minimum(first_row + BLOCK_Q, q_count) - 1
    begin = first_key(p.window_left, diagonal, k_count, first_row) // EDGE_K
    end = (end_key(p.window_right, diagonal, k_count, last_row) + EDGE_K - 1) // EDGE_K
    whole_begin = (first_key(p.window_left, diagonal, k_count, last_row) + BLOCK_K - 1) // BLOCK_K
    whole_end = end_key(p.window_right, diagonal, k_count, first_row) // BLOCK_K
    has_whole = whole_begin < whole_end
    skip_begin = tl.where(has_whole, whole_begin * (BLOCK_K // EDGE_K), end)
    skip_end = tl.where(has_whole, whole_end * (BLOCK_K // EDGE_K), end)

    rows = first_row + tl.arange(0, BLOCK_Q)
    exists = (rows < q_count)[:, None]
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
    reference = tl.full([BLOCK_Q], LOWEST, tl.float32)
    total = tl.zeros([BLOCK_Q], tl.float32)
    rest = tl.zeros([BLOCK_Q], tl.float32)
    o = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
    for n in range(whole_begin, whole_end):
        k = tl.load(k_at + tl.multiple_of(n * k_step, 8) + k_offsets)
        s = tl.dot(q, k.T)
        v = tl.load(v_at + tl.multiple_of(n * v_step, 8) + v_offsets)
        weights, factor, reference, total, rest = step(s, scale_log2, reference, total, rest, P_EXPONENT)
        o = tl.dot(rounded(weights, DTYPE, BY_HAND), v, o * factor[:, None])

    low = first_key(p.window_left, diagonal, k_count, rows)[:, None]
    high = end_key(p.window_right, diagonal, k_count, rows)[:, None]
    reference, total, rest, o = edge_tiles(
        a, q, batch, head_k, k_first, k_count, low, high, begin, skip_begin, skip_end, end, scale_log2,
        reference, total, rest, o, EDGE_K, HEAD_DIM, P_EXPONENT, BY_HAND, AMD, False,
    )  # fmt: skip

    total += rest
    if a.lse.data.to(tl.int64) != 0:
        lse_at = a.lse.data + (batch.to(tl.int64) * a.lse.batch + head.to(tl.int64) * a.lse.head) // 4
        # In float64: of a reference of hundreds, float32's product would use up what lse may be wrong by.
        lse = (reference.to(tl.float64) * LN2 + (tl.log2(total) * LN2).to(tl.float64)).to(tl.float32)
        tl.store(lse_at + (q_first + rows).to(tl.int64) * (a.lse.query // 4), lse, mask=rows < q_count)
    o = o * inverse(total)[:, None]
    zeros = tl.sum(o * 0, 1)  # NaN where an element is not finite
    again = (zeros != zeros) & (total == total) & (rows < q_count)
    if tl.max(again.to(tl.int32), 0) != 0:
        reference = tl.full([BLOCK_Q], LOWEST, tl.float32)
        total = tl.zeros([BLOCK_Q], tl.float32)
        rest = tl.zeros([BLOCK_Q], tl.float32)
        o = tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32)
        reference, total, rest, o = edge_tiles(
            a, q, batch, head_k, k_first, k_count, low, high, begin, end, end, end, scale_log2,
            reference, total, rest, o, EDGE_K, HEAD_DIM, P_EXPONENT, BY_HAND, AMD, True,
        )  # fmt: skip
        o = o * inverse(total + rest)[:, None]
        o = add_not_finite(o, a.v, batch, head_k, k_first, k_count, low, high, begin, end, EDGE_K, HEAD_DIM, AMD)
    out_offsets, out_lowest = tile_offsets(a.out, BLOCK_Q, HEAD_DIM, 2, AMD)
    out_at = row_address(a.out, batch, q_first + first_row + out_lowest, head, 2)
    tl.store(out_at + out_offsets, o.to(DTYPE), mask=exists)
