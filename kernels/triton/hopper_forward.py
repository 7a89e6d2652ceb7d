"""Forward attention with options on Hopper: forward.py whose logits options.py makes."""

from hopper import (
    Tiles,
    addresses,
    await_copies,
    copy_first,
    copy_keys,
    copy_layout,
    copy_options,
    copy_rows,
    exclude,
    first_address,
    following,
    head_and_batch,
    keys_of,
    of_second_run,
    places_of,
    product_layout,
    swizzled,
    with_mask,
)  # fmt: skip
from not_finite import ABOVE, END, FINITE, infinity, replaced
from nvidia_tiles import AGAIN_K, unknown_zero
from options import EXCLUDED, capped, options_of, slope_of, with_alibi
from place import sequence, turn_of
from softmax import LN2, LOWEST, added, inverse
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    async_copy,
    fence_async_shared,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)  # fmt: skip

HUGE = gl.constexpr(2e38)  # of a natural logit: in log2 a float32 overflows


@gluon.jit
def with_scores(o, s, bias, mask, slope, distance, columns):
    """The products q k, which softcap may have capped, become logits in o.unit: natural ones where something is added
    to them. Keys are distance + columns from the queries."""
    if o.has_bias:
        s = s * o.factor + bias.load(s.type.layout).to(gl.float32)
    elif o.has_slope:
        s = s * o.factor
    s = with_alibi(o, s, slope, distance, columns)
    return with_mask(o, s, mask)


@gluon.jit
def in_log2(o, reference, P_EXPONENT: gl.constexpr):
    """The unit of each row, and the number that becomes P = 1. A bias may be the lowest float32: differences from a
    huge reference are 0 or huge in any unit, and in this one it does not overflow."""
    unit = gl.where(gl.abs(reference) > HUGE, 0.5, o.unit)
    return unit, reference * unit - P_EXPONENT


@gluon.jit
def step(o, s, reference, total, rest, P_EXPONENT: gl.constexpr):
    """softmax.step for logits in o.unit."""
    following = gl.maximum(reference, gl.max(s, 1))
    unit, one = in_log2(o, following, P_EXPONENT)
    factor = gl.exp2(reference * unit - (one + P_EXPONENT))
    p = gl.exp2(s * unit[:, None] - one[:, None])
    total, rest = added(p, factor, total, rest)
    return p, factor, following, total, rest


@gluon.jit
def replace_values(v, turn):
    """Makes V what a pass takes for it."""
    layout: gl.constexpr = copy_layout(v.shape[1], 2, gl.num_warps())
    v.store(replaced(v.load(layout), turn))
    fence_async_shared()
    gl.barrier()


@gluon.jit
def attend(
    a, o, q, tiles, batch, head, first_row, q_count, k_first, k_count, turn, P_EXPONENT: gl.constexpr,
    BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr, HEAD_DIM: gl.constexpr, AGAIN: gl.constexpr,
):  # fmt: skip
    """The rows' softmax and O, not divided by the sum. AGAIN: a pass of not_finite.py."""
    p = a.problem
    warps: gl.constexpr = gl.num_warps()
    s_layout: gl.constexpr = product_layout(BLOCK_K, warps)
    o_layout: gl.constexpr = product_layout(HEAD_DIM, warps)
    of_row: gl.constexpr = gl.SliceLayout(1, s_layout)
    rows = first_row + gl.arange(0, BLOCK_Q, of_row)
    zero = 0
    if AGAIN:
        zero = unknown_zero()
    columns = gl.arange(0, BLOCK_K, gl.SliceLayout(0, s_layout))[None, :] + zero
    attended = keys_of(p, first_row, q_count, k_count, BLOCK_Q, BLOCK_K)

    reference = gl.full([BLOCK_Q], LOWEST, gl.float32, of_row)
    total = gl.zeros([BLOCK_Q], gl.float32, of_row)
    rest = gl.zeros([BLOCK_Q], gl.float32, of_row)
    out_sum = warpgroup_mma_init(gl.zeros([BLOCK_Q, HEAD_DIM], gl.float32, o_layout))
    first = attended.begin * BLOCK_K
    keys = gl.where(attended.begin < attended.end, k_count - first, 0)
    places = places_of(a, batch, head, first_row, k_first, first, q.dtype)
    slope = slope_of(p, batch, head)
    if not AGAIN:
        copy_first(a, o, tiles, places, q_count - first_row, keys, zero, BLOCK_Q, BLOCK_K, HEAD_DIM)
    at = 0
    for n in range(attended.begin, attended.end):
        first = n * BLOCK_K
        out = warpgroup_mma_wait(0, deps=[out_sum])
        if AGAIN:
            gl.barrier()
            copy_first(a, o, tiles, places, q_count - first_row, keys, zero, BLOCK_Q, BLOCK_K, HEAD_DIM)
        await_copies()
        k, v = tiles.k.index(at), tiles.v.index(at)
        bias, mask = tiles.bias.index(at), tiles.mask.index(at)
        places = following(a, places, BLOCK_K)
        keys = gl.where(n + 1 < attended.end, keys - BLOCK_K, 0)
        if AGAIN:
            replace_values(v, turn)
        else:
            at = 1 - at
            copy_options(a, o, tiles, at, places, q_count - first_row, keys, zero, BLOCK_Q, BLOCK_K)
        no_products = gl.zeros([BLOCK_Q, BLOCK_K], gl.float32, s_layout)
        products = warpgroup_mma(q, k.permute([1, 0]), no_products, use_acc=False, is_async=True)
        if not AGAIN:
            copy_keys(a, tiles, at, places, keys, zero, BLOCK_K, HEAD_DIM, True)
            async_copy.commit_group()
        s = warpgroup_mma_wait(0, deps=[products])
        s = capped(o, s)
        s = with_scores(o, s, bias, mask, slope, first - (rows + attended.diagonal)[:, None], columns)
        s = exclude(p, s, attended, rows, first, columns, k_count, BLOCK_K)
        weights, factor, reference, total, rest = step(o, s, reference, total, rest, P_EXPONENT)
        if AGAIN:
            weights = gl.where((turn >= ABOVE) & (s != EXCLUDED), 1.0, weights)
        weights = gl.convert_layout(weights.to(q.dtype), gl.DotOperandLayout(0, o_layout, 2))
        factor = gl.convert_layout(factor, gl.SliceLayout(1, o_layout))
        out_sum = warpgroup_mma(weights, v, out * factor[:, None], is_async=True)
    return reference, total, rest, warpgroup_mma_wait(0, deps=[out_sum])


@gluon.jit
def store(a, out, batch, q_first, first_row, head, q_count, turn, BLOCK_Q: gl.constexpr, HEAD_DIM: gl.constexpr):
    """In ABOVE and BELOW an infinity is added where `out` is not 0."""
    at, row = addresses(a.out, batch, q_first + first_row, head, out.type.layout, BLOCK_Q, HEAD_DIM)
    exists = (first_row + row < q_count)[:, None]
    out = out.to(at.dtype.element_ty)
    if turn >= ABOVE:
        added = gl.where(out.to(gl.float32) > 0, infinity(turn), 0.0)
        out = (gl.load(at, mask=exists, other=0).to(gl.float32) + added).to(out.dtype)
    gl.store(at, out, mask=exists)


@gluon.jit(repr=lambda specialization: specialization.constants["SYMBOL"])
def forward(
    a, SYMBOL: gl.constexpr, DTYPE: gl.constexpr, HEAD_DIM: gl.constexpr, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr,
    P_EXPONENT: gl.constexpr,
):  # fmt: skip
    p = a.problem
    flat_head, tile = turn_of(a.q_tiles, p.heads_q * p.batch, p.xcds, p.heads_at_once, p.units, gl.program_id(0))
    head, batch = head_and_batch(p, flat_head, p.heads_q)
    q_first, q_count = sequence(p.cu_seqlens_q, batch, p.total_q, p.seqlen_q)
    k_first, k_count = sequence(p.cu_seqlens_k, batch, p.total_k, p.seqlen_k)
    first_row = gl.where(p.heads_at_once > 0, a.q_tiles - 1 - tile, tile) * BLOCK_Q
    if first_row < q_count:
        warps: gl.constexpr = gl.num_warps()
        s_layout: gl.constexpr = product_layout(BLOCK_K, warps)
        o_layout: gl.constexpr = product_layout(HEAD_DIM, warps)
        of_out: gl.constexpr = gl.SliceLayout(1, o_layout)
        k_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_K, HEAD_DIM], DTYPE)
        q_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_Q, HEAD_DIM], DTYPE)
        q = gl.allocate_shared_memory(DTYPE, [BLOCK_Q, HEAD_DIM], q_layout)
        tiles = Tiles(
            gl.allocate_shared_memory(DTYPE, [2, BLOCK_K, HEAD_DIM], k_layout),
            gl.allocate_shared_memory(DTYPE, [2, BLOCK_K, HEAD_DIM], k_layout),
            gl.allocate_shared_memory(DTYPE, [2, BLOCK_Q, BLOCK_K], swizzled(BLOCK_K, 2)),
            gl.allocate_shared_memory(gl.int8, [2, BLOCK_Q, BLOCK_K], swizzled(BLOCK_K, 1)),
        )  # fmt: skip
        o = options_of(p)
        q_at = first_address(a.q, batch, q_first + first_row, head)
        copy_rows(q, a.q, q_at, q_count - first_row, 0, BLOCK_Q, HEAD_DIM)
        reference, total, rest, out = attend(
            a, o, q, tiles, batch, head, first_row, q_count, k_first, k_count, FINITE,
            P_EXPONENT, BLOCK_Q, BLOCK_K, HEAD_DIM, False,
        )  # fmt: skip
        total += rest
        if a.lse.data.to(gl.int64) != 0:
            rows = first_row + gl.arange(0, BLOCK_Q, gl.SliceLayout(1, s_layout))
            lse_at = a.lse.data + (batch.to(gl.int64) * a.lse.batch + head.to(gl.int64) * a.lse.head) // 4
            lse_at += (q_first + rows).to(gl.int64) * (a.lse.query // 4)
            _, one = in_log2(o, reference, P_EXPONENT)
            natural = gl.where(gl.abs(reference) > HUGE, reference, one * LN2)
            gl.store(lse_at, natural + gl.log2(total) * LN2, mask=rows < q_count)
        out = out * gl.convert_layout(inverse(total), of_out)[:, None]
        zeros = gl.sum(out * 0, 1)  # NaN where an element is not finite
        has_total = gl.convert_layout(total == total, of_out)
        exists = first_row + gl.arange(0, BLOCK_Q, of_out) < q_count
        again = (zeros != zeros) & has_total & exists
        any_again = gl.max(again.to(gl.int32), 0) != 0
        store(a, out, batch, q_first, first_row, head, q_count, FINITE, BLOCK_Q, HEAD_DIM)
        if any_again:
            async_copy.wait_group(0)  # the first run's last one, to tiles that the next one fills
            for turn in range(FINITE, END):
                zero = unknown_zero()
                _, new_total, new_rest, sums = attend(
                    a, o, q, of_second_run(tiles, BLOCK_Q, HEAD_DIM), batch + zero, head + zero, first_row + zero,
                    q_count + zero, k_first + zero, k_count + zero, turn, P_EXPONENT, BLOCK_Q, AGAIN_K, HEAD_DIM, True,
                )  # fmt: skip
                sums = sums * gl.convert_layout(inverse(new_total + new_rest), of_out)[:, None]
                store(a, sums, batch, q_first, first_row, head, q_count, turn, BLOCK_Q, HEAD_DIM)
