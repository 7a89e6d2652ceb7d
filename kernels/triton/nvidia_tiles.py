"""What the backward kernels for NVIDIA have in common. ptxas computes what it can before a loop, and spills it there;
what depends on `unknown_zero` it computes where it is used."""

import triton
import triton.language as tl

AGAIN_K = tl.constexpr(16)  # keys, or queries, of a tile of the second run: it is rare, and has few registers


@triton.jit
def unknown_zero():
    """A 0 that no compiler knows: the sign of the clock."""
    asm: tl.constexpr = "{ .reg .b64 t; mov.u64 t, %clock64; shr.u64 t, t, 63; cvt.u32.u64 $0, t; }"
    return tl.inline_asm_elementwise(asm, "=r,r", [tl.program_id(0)], dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def addresses(rows, batch, row, head, zero, ROWS: tl.constexpr, HEAD_DIM: tl.constexpr):
    """Of a tile's elements, of which the first are in this row."""
    seq = tl.multiple_of((rows.seq + zero) // 2, 8)
    first = rows.data + (
        batch.to(tl.int64) * tl.multiple_of((rows.batch + zero) // 2, 8)
        + row.to(tl.int64) * seq
        + head.to(tl.int64) * tl.multiple_of((rows.head + zero) // 2, 8)
    )
    return first + ((tl.arange(0, ROWS) + zero)[:, None] * seq.to(tl.int32) + tl.arange(0, HEAD_DIM)[None, :])
