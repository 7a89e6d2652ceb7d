"""dk and dv, with options, on Hopper: nvidia_dkv.py whose logits options.py makes. The tiles of all heads of a group
are one loop."""

from collections import namedtuple

from arguments import Rows
from gradients import LOG2E, statistics_address
from hopper import (
    addresses,
    await_copies,
    copy_rows,
    copy_scores,
    exponents,
    first_address,
    head_and_batch,
    logits,
    product_layout,
    replace,
    score_address,
    swizzled,
)  # fmt: skip
from not_finite import ABOVE, END, FINITE, REST, begun, first_turn, in_range, infinity
from nvidia_tiles import AGAIN_K, unknown_zero
from options import EXCLUDED, capped_too, options_of, slope_of
from place import end_query, first_query, sequence, turn_of, within
from tiles import not_finite
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    async_copy,
    fence_async_shared,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)  # fmt: skip

Tiles = namedtuple("Tiles", "q dout lse delta bias mask")
Block = namedtuple("Block", "batch first_row q_first q_count k_count")  # a workgroup's sequence, and its first key


@gluon.jit
def of_second_run(tiles, BLOCK_Q: gl.constexpr, HEAD_DIM: gl.constexpr):
    """The same memory for tiles of few queries, so that the second run, which is rare, has few registers."""
    dtype: gl.constexpr = tiles.q.dtype
    rows: gl.constexpr = gl.NVMMASharedLayout.get_default_for([AGAIN_K, HEAD_DIM], dtype)
    return Tiles(
        tiles.q.reinterpret(dtype, [1, AGAIN_K, HEAD_DIM], rows),
        tiles.dout.reinterpret(dtype, [1, AGAIN_K, HEAD_DIM], rows),
        tiles.lse.reinterpret(gl.float32, [1, AGAIN_K], tiles.lse.layout),
        tiles.delta.reinterpret(gl.float32, [1, AGAIN_K], tiles.delta.layout),
        tiles.bias.reinterpret(dtype, [1, AGAIN_K, BLOCK_Q], swizzled(BLOCK_Q, 2)),
        tiles.mask.reinterpret(gl.int8, [1, AGAIN_K, BLOCK_Q], swizzled(BLOCK_Q, 1)),
    )


@gluon.jit
def copy_queries(
    a, tiles, at, block, head, first, exists, BLOCK_K: gl.constexpr, HEAD_DIM: gl.constexpr
):  # fmt: skip
    """Starts to copy a tile of queries, if it exists, while wgmma runs: before a branch it would end."""
    zero = unknown_zero()
    row = block.q_first + first
    rows = gl.where(exists, block.q_count - first, 0)
    copy_rows(tiles.q.index(at), a.q, first_address(a.q, block.batch, row, head), rows, zero, BLOCK_K, HEAD_DIM)
    dout_at = first_address(a.dout, block.batch, row, head)
    copy_rows(tiles.dout.index(at), a.dout, dout_at, rows, zero, BLOCK_K, HEAD_DIM)
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    i = gl.arange(0, BLOCK_K, layout) + zero
    statistics = statistics_address(a, block.batch, row + i, head).to(gl.pointer_type(gl.float32), bitcast=True)
    async_copy.async_load(tiles.lse.index(at), statistics, mask=i < rows)
    async_copy.async_load(tiles.delta.index(at), statistics + 1, mask=i < rows)


@gluon.jit
def copy_options(a, tiles, at, block, head, first, exists, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr):
    """Starts to copy the tile of bias and mask."""
    p = a.problem
    if exists & ((p.bias.data.to(gl.int64) != 0) | (p.mask.data.to(gl.int64) != 0)):
        zero = unknown_zero()
        batch = block.batch + zero
        head += zero
        first += zero
        rows = block.q_count - first
        keys = block.k_count - block.first_row
        if p.bias.data.to(gl.int64) != 0:
            bias_at = score_address(p.bias, batch, head, first, block.first_row, a.q.data.dtype.element_ty)
            copy_scores(tiles.bias.index(at), p.bias, bias_at, rows, keys, zero, BLOCK_K, BLOCK_Q)
        if p.mask.data.to(gl.int64) != 0:
            mask_at = score_address(p.mask, batch, head, first, block.first_row, gl.int8)
            copy_scores(tiles.mask.index(at), p.mask, mask_at, rows, keys, zero, BLOCK_K, BLOCK_Q)


@gluon.jit
def copy_first(
    a, tiles, block, head, first, exists, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr, HEAD_DIM: gl.constexpr
):  # fmt: skip
    """Starts to copy a tile of everything, before the loop or in a second run."""
    copy_options(a, tiles, 0, block, head, first, exists, BLOCK_Q, BLOCK_K)
    copy_queries(a, tiles, 0, block, head, first, exists, BLOCK_K, HEAD_DIM)
    async_copy.commit_group()


QueryRange = namedtuple("QueryRange", "diagonal begin end whole_begin whole_end")


@gluon.jit
def queries_of(p, block, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr):
    """Tiles of queries that attend keys, from begin to end. Queries from whole_begin to whole_end attend all keys."""
    first_row, q_count = block.first_row, block.q_count
    diagonal = gl.where(p.top_left != 0, 0, block.k_count - q_count)
    last_row = gl.minimum(first_row + BLOCK_Q, block.k_count) - 1
    return QueryRange(
        diagonal,
        first_query(p.window_right, diagonal, q_count, first_row) // BLOCK_K,
        (end_query(p.window_left, diagonal, q_count, last_row) + BLOCK_K - 1) // BLOCK_K,
        first_query(p.window_right, diagonal, q_count, last_row),
        end_query(p.window_left, diagonal, q_count, first_row),
    )


Statistics = namedtuple("Statistics", "lse delta")  # of a tile's queries


@gluon.jit
def probabilities(
    p, o, s, dp, statistics, bias, mask, slope, attended, rows, columns, first, block,
    BLOCK_K: gl.constexpr, AGAIN: gl.constexpr,
):  # fmt: skip
    """The logits, P, and the factor that makes it dS, from the products of a tile of queries and dP."""
    of_query: gl.constexpr = gl.SliceLayout(0, s.type.layout)
    s, change = capped_too(o, s, dp - statistics.delta.load(of_query)[None, :])
    distance = (rows - (first + attended.diagonal))[:, None]
    if AGAIN:
        s = logits(o, s, bias.permute([1, 0]), mask.permute([1, 0]), slope, distance, -columns[None, :])
    else:
        s = exponents(
            o, s, (statistics.lse.load(of_query) * o.domain)[None, :], bias.permute([1, 0]), mask.permute([1, 0]),
            slope, distance, -columns[None, :],
        )  # fmt: skip
    # No whole tile has rows that do not exist.
    if (first < attended.whole_begin) | (first + BLOCK_K > attended.whole_end):
        zero = unknown_zero()
        low = first_query(p.window_right, attended.diagonal, block.q_count, rows + zero)[:, None]
        high = end_query(p.window_left, attended.diagonal, block.q_count, rows + zero)[:, None]
        s = gl.where(within(columns[None, :] + zero, low - first, high - first), s, EXCLUDED)
    return s, gl.exp2((s - statistics.lse.load(of_query)[None, :]) * LOG2E if AGAIN else s), change


@gluon.jit
def replace_operand(q, dout, turn):
    """Makes `q` what a pass multiplies by: of Q, or of dO."""
    if turn <= REST:
        replace(q, q, gl.maximum(turn, FINITE))
    else:
        replace(q, dout, gl.maximum(turn, FINITE))


@gluon.jit
def of_pass(s, weights, ds, turn, DTYPE: gl.constexpr):
    """What a pass multiplies: dS in the range of 16 bits, or P or 1 for dv."""
    of_dv = gl.where(turn == FINITE, weights, 1.0)
    return gl.where(s == EXCLUDED, 0.0, gl.where(turn <= REST, in_range(ds, turn, DTYPE), of_dv))


@gluon.jit
def following(attended, head, tile):
    """The next tile: the next head's first one behind a head's last one."""
    is_last = tile + 1 >= attended.end
    return gl.where(is_last, head + 1, head), gl.where(is_last, attended.begin, tile + 1)


@gluon.jit
def sum_gradients(
    a, k, v, tiles, block, head_k, sums, turn,
    BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr, HEAD_DIM: gl.constexpr, AGAIN: gl.constexpr,
):  # fmt: skip
    """Adds to dk without softmax_scale, and dv. AGAIN: to one of them, in a pass of not_finite.py."""
    s_layout: gl.constexpr = product_layout(BLOCK_K, gl.num_warps())
    sum_layout: gl.constexpr = product_layout(HEAD_DIM, gl.num_warps())
    operand: gl.constexpr = gl.DotOperandLayout(0, sum_layout, 2)
    rows = block.first_row + gl.arange(0, BLOCK_Q, gl.SliceLayout(1, s_layout))
    columns = gl.arange(0, BLOCK_K, gl.SliceLayout(0, s_layout))
    if AGAIN:
        columns += unknown_zero()
    attended = queries_of(a.problem, block, BLOCK_Q, BLOCK_K)

    dk_sum = warpgroup_mma_init(sums)
    dv_sum = warpgroup_mma_init(gl.zeros([BLOCK_Q, HEAD_DIM], gl.float32, sum_layout))
    all_tiles = gl.maximum(attended.end - attended.begin, 0) * a.problem.group
    head, tile = head_k * a.problem.group, attended.begin
    if not AGAIN:
        copy_first(a, tiles, block, head, tile * BLOCK_K, all_tiles > 0, BLOCK_Q, BLOCK_K, HEAD_DIM)
    o = options_of(a.problem)
    at = 0
    for n in range(0, all_tiles):
        first = tile * BLOCK_K
        dk, dv = warpgroup_mma_wait(0, deps=[dk_sum, dv_sum])
        if AGAIN:
            gl.barrier()
            copy_first(a, tiles, block, head, first, True, BLOCK_Q, BLOCK_K, HEAD_DIM)
        await_copies()
        slope = slope_of(a.problem, block.batch, head)
        q, dout = tiles.q.index(at), tiles.dout.index(at)
        statistics = Statistics(tiles.lse.index(at), tiles.delta.index(at))
        bias, mask = tiles.bias.index(at), tiles.mask.index(at)
        head, tile = following(attended, head, tile)
        if not AGAIN:
            at = 1 - at
            copy_options(a, tiles, at, block, head, tile * BLOCK_K, n + 1 < all_tiles, BLOCK_Q, BLOCK_K)
        zeros = gl.zeros([BLOCK_Q, BLOCK_K], gl.float32, s_layout)
        products = warpgroup_mma(k, q.permute([1, 0]), zeros, use_acc=False, is_async=True)
        dp_products = warpgroup_mma(v, dout.permute([1, 0]), zeros, use_acc=False, is_async=True)
        if not AGAIN:
            copy_queries(a, tiles, at, block, head, tile * BLOCK_K, n + 1 < all_tiles, BLOCK_K, HEAD_DIM)
            async_copy.commit_group()
        s = warpgroup_mma_wait(1, deps=[products])
        dp = warpgroup_mma_wait(0, deps=[dp_products])
        if AGAIN:
            replace_operand(q, dout, turn)
        s, weights, change = probabilities(
            a.problem, o, s, dp, statistics, bias, mask, slope, attended, rows, columns, first, block, BLOCK_K, AGAIN
        )  # fmt: skip
        if AGAIN:
            ds = of_pass(s, weights, weights * change, turn, k.dtype)
            of_products = gl.convert_layout(ds.to(k.dtype), operand)
            fence_async_shared()
            gl.barrier()
        else:
            of_values = gl.convert_layout(weights.to(k.dtype), operand)
            of_products = gl.convert_layout((weights * change).to(k.dtype), operand)
            dv_sum = warpgroup_mma(of_values, dout, dv, is_async=True)
        dk_sum = warpgroup_mma(of_products, q, dk, is_async=True)
    return warpgroup_mma_wait(0, deps=[dk_sum, dv_sum])


@gluon.jit
def store(to, x, turn, batch, row, head, exists, BLOCK_Q: gl.constexpr, HEAD_DIM: gl.constexpr):
    """In ABOVE and BELOW an infinity is added where x is not 0."""
    if to.data.to(gl.int64) != 0:
        if turn >= ABOVE:
            at, _ = addresses(to, batch, row, head, x.type.layout, BLOCK_Q, HEAD_DIM)
            stored = gl.load(at, mask=exists[:, None], other=0).to(gl.float32)
            x = stored + gl.where(x > 0, infinity(turn), 0.0)
        at, _ = addresses(to, batch, row, head, x.type.layout, BLOCK_Q, HEAD_DIM)
        gl.store(at, x.to(at.dtype.element_ty), mask=exists[:, None])


@gluon.jit
def of_turn(a, turn):
    """Where a pass's result is."""
    dk, dv = a.dk, a.dv
    return Rows(
        gl.where(turn <= REST, dk.data, dv.data), gl.where(turn <= REST, dk.batch, dv.batch),
        gl.where(turn <= REST, dk.seq, dv.seq), gl.where(turn <= REST, dk.head, dv.head),
    )  # fmt: skip


@gluon.jit(repr=lambda specialization: specialization.constants["SYMBOL"])
def backward_dkv(
    a, SYMBOL: gl.constexpr, DTYPE: gl.constexpr, HEAD_DIM: gl.constexpr, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr,
):  # fmt: skip
    p = a.problem
    flat_head, tile = turn_of(a.tiles, p.heads_k * p.batch, p.xcds, p.heads_at_once, p.units, gl.program_id(0))
    head_k, batch = head_and_batch(p, flat_head, p.heads_k)
    q_first, q_count = sequence(p.cu_seqlens_q, batch, p.total_q, p.seqlen_q)
    k_first, k_count = sequence(p.cu_seqlens_k, batch, p.total_k, p.seqlen_k)
    first_row = tile * BLOCK_Q
    if first_row < k_count:
        warps: gl.constexpr = gl.num_warps()
        sum_layout: gl.constexpr = product_layout(HEAD_DIM, warps)
        k_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_Q, HEAD_DIM], DTYPE)
        q_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_K, HEAD_DIM], DTYPE)
        k = gl.allocate_shared_memory(DTYPE, [BLOCK_Q, HEAD_DIM], k_layout)
        v = gl.allocate_shared_memory(DTYPE, [BLOCK_Q, HEAD_DIM], k_layout)
        plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
        tiles = Tiles(
            gl.allocate_shared_memory(DTYPE, [2, BLOCK_K, HEAD_DIM], q_layout),
            gl.allocate_shared_memory(DTYPE, [2, BLOCK_K, HEAD_DIM], q_layout),
            gl.allocate_shared_memory(gl.float32, [2, BLOCK_K], plain),
            gl.allocate_shared_memory(gl.float32, [2, BLOCK_K], plain),
            gl.allocate_shared_memory(DTYPE, [2, BLOCK_K, BLOCK_Q], swizzled(BLOCK_Q, 2)),
            gl.allocate_shared_memory(gl.int8, [2, BLOCK_K, BLOCK_Q], swizzled(BLOCK_Q, 1)),
        )  # fmt: skip
        row = k_first + first_row
        copy_rows(k, a.k, first_address(a.k, batch, row, head_k), k_count - first_row, 0, BLOCK_Q, HEAD_DIM)
        copy_rows(v, a.v, first_address(a.v, batch, row, head_k), k_count - first_row, 0, BLOCK_Q, HEAD_DIM)
        dk, dv = sum_gradients(
            a, k, v, tiles, Block(batch, first_row, q_first, q_count, k_count), head_k,
            gl.zeros([BLOCK_Q, HEAD_DIM], gl.float32, sum_layout), REST, BLOCK_Q, BLOCK_K, HEAD_DIM, False,
        )  # fmt: skip
        dk = dk * p.scale
        i = gl.arange(0, BLOCK_Q, gl.SliceLayout(1, sum_layout))
        exists = first_row + (i + unknown_zero()) < k_count
        # An Inf or NaN in Q reaches the lse of its row, and so all keys that the row attends. For other keys it met
        # only zeros, as one in dO did.
        again = (not_finite(dk) | not_finite(dv)) & exists
        any_again = gl.max(again.to(gl.int32), 0) != 0
        store(a.dk, dk, REST, batch, row, head_k, exists, BLOCK_Q, HEAD_DIM)
        store(a.dv, dv, FINITE, batch, row, head_k, exists, BLOCK_Q, HEAD_DIM)
        if any_again:
            async_copy.wait_group(0)  # the zeros of a tile behind the last one
            sums = gl.zeros([BLOCK_Q, HEAD_DIM], gl.float32, sum_layout)
            begin = gl.where(a.dk.data.to(gl.int64) != 0, first_turn(DTYPE), FINITE)
            end = gl.where(a.dv.data.to(gl.int64) != 0, END, FINITE)
            for turn in range(begin, end):
                zero = unknown_zero()
                gl.barrier()
                block = Block(batch + zero, first_row + zero, q_first + zero, q_count + zero, k_count + zero)
                sums, _ = sum_gradients(
                    a, k, v, of_second_run(tiles, BLOCK_Q, HEAD_DIM), block, head_k + zero, begun(sums, turn), turn,
                    BLOCK_Q, AGAIN_K, HEAD_DIM, True,
                )  # fmt: skip
                stored = (first_row + (i + zero) < k_count) & (turn >= REST)
                scaled = sums * gl.where(turn == REST, p.scale, 1.0)
                store(of_turn(a, turn), scaled, turn, batch, row, head_k, stored, BLOCK_Q, HEAD_DIM)
