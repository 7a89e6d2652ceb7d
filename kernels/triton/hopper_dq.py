"""dq and the statistics of rows, with options, on Hopper: nvidia_dq.py whose logits options.py makes."""

from gradients import LOG2E, make_statistics
from hopper import (
    Tiles,
    addresses,
    await_copies,
    copy_first,
    copy_keys,
    copy_options,
    copy_rows,
    exclude,
    exponents,
    first_address,
    following,
    head_and_batch,
    keys_of,
    logits,
    of_second_run,
    places_of,
    product_layout,
    replace,
    swizzled,
)  # fmt: skip
from not_finite import FINITE, REST, begun, first_turn, in_range
from nvidia_tiles import AGAIN_K, unknown_zero
from options import EXCLUDED, capped_too, options_of, slope_of
from place import sequence, turn_of
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


@gluon.jit
def statistics_of(a, dout, out, batch, head, row, first_row, q_count, BLOCK_Q: gl.constexpr):
    """As in nvidia_dq.py: delta is summed in the order of dP."""
    layout: gl.constexpr = product_layout(BLOCK_Q, gl.num_warps())
    of_row: gl.constexpr = gl.SliceLayout(1, layout)
    i = gl.arange(0, BLOCK_Q, of_row)
    j = gl.arange(0, BLOCK_Q, gl.SliceLayout(0, layout))
    products = warpgroup_mma(
        dout, out.permute([1, 0]), gl.zeros([BLOCK_Q, BLOCK_Q], gl.float32, layout), use_acc=False, is_async=True
    )
    products = warpgroup_mma_wait(0, deps=[products])
    delta = gl.sum(gl.where(i[:, None] == j[None, :], products, 0.0), 1)
    return make_statistics(a, delta, batch, head, row + i, first_row + i < q_count)


@gluon.jit
def copy_values(a, tiles, places, keys, BLOCK_K: gl.constexpr, HEAD_DIM: gl.constexpr):
    """Starts to copy the next tile of V, for which there is one place."""
    gl.barrier()
    if keys > 0:
        copy_rows(tiles.v.index(0), a.v, places.v, keys, unknown_zero(), BLOCK_K, HEAD_DIM)
    async_copy.commit_group()


@gluon.jit
def gradients(
    p, o, s, dp, reference, bias, mask, slope, attended, rows, first, columns, k_count, turn,
    DTYPE: gl.constexpr, BLOCK_K: gl.constexpr, AGAIN: gl.constexpr,
):  # fmt: skip
    """dS from the products of a tile of keys, and dP without delta."""
    s, change = capped_too(o, s, dp)
    distance = first - (rows + attended.diagonal)[:, None]
    if AGAIN:
        s = logits(o, s, bias, mask, slope, distance, columns)
    else:
        s = exponents(o, s, reference[:, None], bias, mask, slope, distance, columns)
    s = exclude(p, s, attended, rows, first, columns, k_count, BLOCK_K)
    weights = gl.exp2((s - reference[:, None]) * LOG2E if AGAIN else s)
    ds = weights * change
    if AGAIN:
        ds = gl.where(s == EXCLUDED, 0.0, in_range(ds, turn, DTYPE))
    return ds


@gluon.jit
def sum_dq(
    a, o, q, dout, tiles, lse, delta, batch, head, first_row, q_count, k_first,
    k_count, sums, turn, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr, HEAD_DIM: gl.constexpr, AGAIN: gl.constexpr,
):  # fmt: skip
    """Adds to dq, without softmax_scale. AGAIN: in a pass of not_finite.py."""
    warps: gl.constexpr = gl.num_warps()
    s_layout: gl.constexpr = product_layout(BLOCK_K, warps)
    dq_layout: gl.constexpr = product_layout(HEAD_DIM, warps)
    of_row: gl.constexpr = gl.SliceLayout(1, s_layout)
    rows = first_row + gl.arange(0, BLOCK_Q, of_row)
    zero = 0
    if AGAIN:
        zero = unknown_zero()
    columns = gl.arange(0, BLOCK_K, gl.SliceLayout(0, s_layout))[None, :] + zero
    attended = keys_of(a.problem, first_row, q_count, k_count, BLOCK_Q, BLOCK_K)

    dq_sum = warpgroup_mma_init(sums)
    first = attended.begin * BLOCK_K
    keys = gl.where(attended.begin < attended.end, k_count - first, 0)
    places = places_of(a, batch, head, first_row, k_first, first, q.dtype)
    slope = slope_of(a.problem, batch, head)
    reference = gl.convert_layout(lse if AGAIN else lse * o.domain, of_row)
    delta = gl.convert_layout(delta, of_row)
    if not AGAIN:
        copy_first(a, o, tiles, places, q_count - first_row, keys, zero, BLOCK_Q, BLOCK_K, HEAD_DIM)
    at = 0
    for n in range(attended.begin, attended.end):
        first = n * BLOCK_K
        dq = warpgroup_mma_wait(0, deps=[dq_sum])
        if AGAIN:
            gl.barrier()
            copy_first(a, o, tiles, places, q_count - first_row, keys, zero, BLOCK_Q, BLOCK_K, HEAD_DIM)
        await_copies()
        k, v = tiles.k.index(at), tiles.v.index(0)
        bias, mask = tiles.bias.index(at), tiles.mask.index(at)
        places = following(a, places, BLOCK_K)
        keys = gl.where(n + 1 < attended.end, keys - BLOCK_K, 0)
        if not AGAIN:
            at = 1 - at
            copy_options(a, o, tiles, at, places, q_count - first_row, keys, zero, BLOCK_Q, BLOCK_K)
        zeros = gl.zeros([BLOCK_Q, BLOCK_K], gl.float32, s_layout)
        products = warpgroup_mma(q, k.permute([1, 0]), zeros, use_acc=False, is_async=True)
        dp_products = warpgroup_mma(dout, v.permute([1, 0]), zeros, use_acc=False, is_async=True)
        if not AGAIN:
            copy_keys(a, tiles, at, places, keys, zero, BLOCK_K, HEAD_DIM, False)
        s = warpgroup_mma_wait(1, deps=[products])
        dp = warpgroup_mma_wait(0, deps=[dp_products])
        if AGAIN:
            replace(k, k, FINITE)
        else:
            copy_values(a, tiles, places, keys, BLOCK_K, HEAD_DIM)
        ds = gradients(
            a.problem, o, s, dp - delta[:, None], reference, bias, mask, slope, attended, rows, first, columns, k_count,
            turn, q.dtype, BLOCK_K, AGAIN,
        )  # fmt: skip
        ds = gl.convert_layout(ds.to(q.dtype), gl.DotOperandLayout(0, dq_layout, 2))
        if AGAIN:
            fence_async_shared()
            gl.barrier()
        dq_sum = warpgroup_mma(ds, k, dq, is_async=True)
    return warpgroup_mma_wait(0, deps=[dq_sum])


@gluon.jit
def store(a, dq, batch, q_first, first_row, head, q_count, BLOCK_Q: gl.constexpr, HEAD_DIM: gl.constexpr):
    dq = dq * a.problem.scale
    at, row = addresses(a.dq, batch, q_first + first_row, head, dq.type.layout, BLOCK_Q, HEAD_DIM)
    gl.store(at, dq.to(at.dtype.element_ty), mask=(first_row + row < q_count)[:, None])


@gluon.jit(repr=lambda specialization: specialization.constants["SYMBOL"])
def backward_dq(
    a, SYMBOL: gl.constexpr, DTYPE: gl.constexpr, HEAD_DIM: gl.constexpr, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr,
):  # fmt: skip
    p = a.problem
    flat_head, tile = turn_of(a.tiles, p.heads_q * p.batch, p.xcds, p.heads_at_once, p.units, gl.program_id(0))
    head, batch = head_and_batch(p, flat_head, p.heads_q)
    q_first, q_count = sequence(p.cu_seqlens_q, batch, p.total_q, p.seqlen_q)
    k_first, k_count = sequence(p.cu_seqlens_k, batch, p.total_k, p.seqlen_k)
    first_row = gl.where(p.heads_at_once > 0, a.tiles - 1 - tile, tile) * BLOCK_Q
    if first_row < q_count:
        warps: gl.constexpr = gl.num_warps()
        dq_layout: gl.constexpr = product_layout(HEAD_DIM, warps)
        k_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_K, HEAD_DIM], DTYPE)
        q_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_Q, HEAD_DIM], DTYPE)
        q = gl.allocate_shared_memory(DTYPE, [BLOCK_Q, HEAD_DIM], q_layout)
        dout = gl.allocate_shared_memory(DTYPE, [BLOCK_Q, HEAD_DIM], q_layout)
        tiles = Tiles(
            gl.allocate_shared_memory(DTYPE, [2, BLOCK_K, HEAD_DIM], k_layout),
            gl.allocate_shared_memory(DTYPE, [1, BLOCK_K, HEAD_DIM], k_layout),
            gl.allocate_shared_memory(DTYPE, [2, BLOCK_Q, BLOCK_K], swizzled(BLOCK_K, 2)),
            gl.allocate_shared_memory(gl.int8, [2, BLOCK_Q, BLOCK_K], swizzled(BLOCK_K, 1)),
        )  # fmt: skip
        o = options_of(p)
        row = q_first + first_row
        out = tiles.k.reinterpret(DTYPE, [BLOCK_Q, HEAD_DIM], q_layout)
        copy_rows(q, a.q, first_address(a.q, batch, row, head), q_count - first_row, 0, BLOCK_Q, HEAD_DIM)
        copy_rows(dout, a.dout, first_address(a.dout, batch, row, head), q_count - first_row, 0, BLOCK_Q, HEAD_DIM)
        copy_rows(out, a.out, first_address(a.out, batch, row, head), q_count - first_row, 0, BLOCK_Q, HEAD_DIM)
        async_copy.commit_group()
        async_copy.wait_group(0)
        gl.barrier()
        fence_async_shared()
        lse, delta = statistics_of(a, dout, out, batch, head, row, first_row, q_count, BLOCK_Q)
        gl.barrier()
        if a.dq.data.to(gl.int64) != 0:
            dq = sum_dq(
                a, o, q, dout, tiles, lse, delta, batch, head, first_row, q_count,
                k_first, k_count, gl.zeros([BLOCK_Q, HEAD_DIM], gl.float32, dq_layout), REST,
                BLOCK_Q, BLOCK_K, HEAD_DIM, False,
            )  # fmt: skip
            # An Inf or NaN in K reaches the lse of each row that attends the key. In other rows it met only zeros.
            of_dq: gl.constexpr = gl.SliceLayout(1, dq_layout)
            exists = first_row + (gl.arange(0, BLOCK_Q, of_dq) + unknown_zero()) < q_count
            again = not_finite(dq) & gl.convert_layout(lse == lse, of_dq) & exists
            any_again = gl.max(again.to(gl.int32), 0) != 0
            store(a, dq, batch, q_first, first_row, head, q_count, BLOCK_Q, HEAD_DIM)
            if any_again:
                async_copy.wait_group(0)  # the zeros of a tile behind the last one
                sums = gl.zeros([BLOCK_Q, HEAD_DIM], gl.float32, dq_layout)
                for turn in range(first_turn(DTYPE), FINITE):
                    zero = unknown_zero()
                    gl.barrier()
                    sums = sum_dq(
                        a, o, q, dout, of_second_run(tiles, BLOCK_Q, HEAD_DIM), lse, delta, batch + zero, head + zero,
                        first_row + zero, q_count + zero, k_first + zero, k_count + zero, begun(sums, turn), turn,
                        BLOCK_Q, AGAIN_K, HEAD_DIM, True,
                    )  # fmt: skip
                store(a, sums, batch, q_first, first_row, head, q_count, BLOCK_Q, HEAD_DIM)
