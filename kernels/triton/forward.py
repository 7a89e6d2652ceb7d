"""Forward attention in Triton: the plain features of kernels/amd/attention/forward.hip, for rows of exactly HEAD_DIM
elements, aligned to 16 bytes. docs/design/triton.md says what is different from the C++ kernels, and why."""

import triton
import triton.language as tl
from place import end_key, first_key, row_address, rows_of, tile_offsets, with_head_k
from softmax import LN2, LOWEST, inverse, rounded, step
from tiles import Edges, Sums, add_not_finite, edge_tiles, not_finite


@triton.jit
def nothing(BLOCK_Q: tl.constexpr, HEAD_DIM: tl.constexpr):
    """The sums before the first key."""
    reference = tl.full([BLOCK_Q], LOWEST, tl.float32)
    total = tl.zeros([BLOCK_Q], tl.float32)
    rest = tl.zeros([BLOCK_Q], tl.float32)
    return Sums(reference, total, rest, tl.zeros([BLOCK_Q, HEAD_DIM], tl.float32))


@triton.jit
def tiles_of_keys(p, work, diagonal, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, EDGE_K: tl.constexpr):
    """Tiles of BLOCK_K keys from whole_begin to whole_end, where all rows attend all keys, and the tiles of EDGE_K with
    the other keys."""
    last_row = tl.minimum(work.first_row + BLOCK_Q, work.q_count) - 1
    begin = first_key(p.window_left, diagonal, work.k_count, work.first_row) // EDGE_K
    end = (end_key(p.window_right, diagonal, work.k_count, last_row) + EDGE_K - 1) // EDGE_K
    whole_begin = (first_key(p.window_left, diagonal, work.k_count, last_row) + BLOCK_K - 1) // BLOCK_K
    whole_end = end_key(p.window_right, diagonal, work.k_count, work.first_row) // BLOCK_K
    has_whole = whole_begin < whole_end
    skip_begin = tl.where(has_whole, whole_begin * (BLOCK_K // EDGE_K), end)
    skip_end = tl.where(has_whole, whole_end * (BLOCK_K // EDGE_K), end)
    return whole_begin, whole_end, Edges(begin, skip_begin, skip_end, end)


@triton.jit
def whole_tiles(
    a, q, work, begin, end, DTYPE: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr, P_EXPONENT: tl.constexpr,
):  # fmt: skip
    """The sums after the tiles of BLOCK_K keys from begin to end, without masks."""
    k_offsets, k_lowest = tile_offsets(a.k, BLOCK_K, HEAD_DIM, 2)
    v_offsets, v_lowest = tile_offsets(a.v, BLOCK_K, HEAD_DIM, 2)
    k_at = row_address(a.k, work.batch, work.k_first + k_lowest, work.head_k, 2)
    v_at = row_address(a.v, work.batch, work.k_first + v_lowest, work.head_k, 2)
    k_step = a.k.seq // 2 * BLOCK_K
    v_step = a.v.seq // 2 * BLOCK_K
    reference, total, rest, o = nothing(BLOCK_Q, HEAD_DIM)
    for n in range(begin, end):
        k = tl.load(k_at + tl.multiple_of(n * k_step, 8) + k_offsets)
        s = tl.dot(q, k.T)
        v = tl.load(v_at + tl.multiple_of(n * v_step, 8) + v_offsets)
        weights, factor, reference, total, rest = step(s, a.problem.scale_log2, reference, total, rest, P_EXPONENT)
        o = tl.dot(rounded(weights, DTYPE), v, o * factor[:, None])
    return Sums(reference, total, rest, o)


@triton.jit
def store_lse(to, work, rows, reference, total):
    if to.data.to(tl.int64) != 0:
        at = to.data + (work.batch.to(tl.int64) * to.batch + work.head.to(tl.int64) * to.head) // 4
        # In float64: of a reference of hundreds, float32's product would use up what lse may be wrong by.
        lse = (reference.to(tl.float64) * LN2 + (tl.log2(total) * LN2).to(tl.float64)).to(tl.float32)
        tl.store(at + (work.q_first + rows).to(tl.int64) * (to.query // 4), lse, mask=rows < work.q_count)


@triton.jit(repr=lambda specialization: specialization.constants["SYMBOL"])
def forward(
    a, SYMBOL: tl.constexpr, DTYPE: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    EDGE_K: tl.constexpr, P_EXPONENT: tl.constexpr,
):  # fmt: skip
    p = a.problem
    work = rows_of(p, a.q_tiles, BLOCK_Q)
    if work.first_row >= work.q_count:
        return

    diagonal = tl.where(p.top_left != 0, 0, work.k_count - work.q_count)
    whole_begin, whole_end, edges = tiles_of_keys(p, work, diagonal, BLOCK_Q, BLOCK_K, EDGE_K)
    rows = work.first_row + tl.arange(0, BLOCK_Q)
    exists = (rows < work.q_count)[:, None]
    q_offsets, q_lowest = tile_offsets(a.q, BLOCK_Q, HEAD_DIM, 2)
    q_at = row_address(a.q, work.batch, work.q_first + work.first_row + q_lowest, work.head, 2)
    q = tl.load(q_at + q_offsets, mask=exists, other=0)
    work = with_head_k(work, p.group)
    sums = whole_tiles(a, q, work, whole_begin, whole_end, DTYPE, HEAD_DIM, BLOCK_Q, BLOCK_K, P_EXPONENT)
    low = first_key(p.window_left, diagonal, work.k_count, rows)[:, None]
    high = end_key(p.window_right, diagonal, work.k_count, rows)[:, None]
    sums = edge_tiles(a, q, work, low, high, edges, sums, EDGE_K, HEAD_DIM, P_EXPONENT, False)

    total = sums.total + sums.rest
    store_lse(a.lse, work, rows, sums.reference, total)
    o = sums.o * inverse(total)[:, None]
    again = not_finite(o) & (total == total) & (rows < work.q_count)
    if tl.max(again.to(tl.int32), 0) != 0:
        sums = nothing(BLOCK_Q, HEAD_DIM)
        edges = Edges(edges.begin, edges.end, edges.end, edges.end)
        sums = edge_tiles(a, q, work, low, high, edges, sums, EDGE_K, HEAD_DIM, P_EXPONENT, True)
        o = sums.o * inverse(sums.total + sums.rest)[:, None]
        o = add_not_finite(o, a.v, work, low, high, edges.begin, edges.end, EDGE_K, HEAD_DIM)
    out_offsets, out_lowest = tile_offsets(a.out, BLOCK_Q, HEAD_DIM, 2)
    out_at = row_address(a.out, work.batch, work.q_first + work.first_row + out_lowest, work.head, 2)
    tl.store(out_at + out_offsets, o.to(DTYPE), mask=exists)
