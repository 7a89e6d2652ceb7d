"""The gradients of a tile's logits, and what they need of each row: kernels/common/score_gradients.hpp and
rapt_abi_row_statistics in Triton."""

import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def statistics_address(a, batch, row, head):
    at = batch.to(tl.int64) * a.statistics.batch + head.to(tl.int64) * a.statistics.head + row.to(tl.int64)
    return a.statistics.data + at


@triton.jit
def store_statistics(at, lse, delta, exists):
    low = lse.to(tl.uint32, bitcast=True).to(tl.int64)
    tl.store(at, low | (delta.to(tl.int32, bitcast=True).to(tl.int64) << 32), mask=exists)


@triton.jit
def make_statistics(a, delta, batch, head, rows, exists):
    """lse and delta of rows, also in the workspace. A row without keys has an lse of +Inf, and what its dout has counts
    for nothing."""
    lse_at = a.lse.data + (batch.to(tl.int64) * a.lse.batch + head.to(tl.int64) * a.lse.head) // 4
    lse = tl.load(lse_at + rows.to(tl.int64) * (a.lse.query // 4), mask=exists, other=float("-inf"))
    attends = lse != float("-inf")
    lse = tl.where(attends, lse, float("inf"))
    delta = tl.where(attends, delta, 0.0)
    store_statistics(statistics_address(a, batch, rows, head), lse, delta, exists)
    return lse, delta


@triton.jit
def weights(s, scale_log2, lse_log2, attends, MASKED: tl.constexpr):
    p = tl.exp2(tl.fma(s, tl.full(s.shape, scale_log2, tl.float32), tl.broadcast_to(-lse_log2, s.shape)))
    if MASKED:  # Inf and NaN of a row or a key reach no other that does not attend it
        p = tl.where(attends, p, 0.0)
    return p


@triton.jit
def score_gradients(p, dp, delta, attends, MASKED: tl.constexpr):
    ds = p * (dp - delta)
    if MASKED:
        ds = tl.where(attends, ds, 0.0)
    return ds
