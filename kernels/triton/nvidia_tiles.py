"""ptxas computes what it can before a loop, and spills it there. What depends on `unknown_zero` it computes where it is
used."""

import triton
import triton.language as tl
from triton.language.target_info import is_hip

AGAIN_K = tl.constexpr(16)  # keys, or queries, of a tile of the second run: it is rare, and has few registers


@triton.constexpr_function
def again_k(block_k):
    """The keys, or queries, of a tile of the second run. On AMD they are as many as in the first, where fewer took
    more registers."""
    return block_k if is_hip() else AGAIN_K.value


@triton.jit
def unknown_zero():
    """A 0 that ptxas does not know, the sign of the clock; for AMD's compiler a plain 0."""
    if is_hip():
        return tl.program_id(0) * 0
    else:
        asm: tl.constexpr = "{ .reg .b64 t; mov.u64 t, %clock64; shr.u64 t, t, 63; cvt.u32.u64 $0, t; }"
        return tl.inline_asm_elementwise(asm, "=r,r", [tl.program_id(0)], dtype=tl.int32, is_pure=False, pack=1)
