"""torch.nn.functional.scaled_dot_product_attention replaced as a whole, for a torch whose operators cannot be.

torch.library.get_kernel, which keeps torch's own kernels within reach, is missing before torch 2.9. Programs that
imported the function itself before enable() keep torch's.
"""

import torch

from rapt.torch import gpu_call, math_attention
from rapt.torch.report import Counts
from rapt.torch.sdpa import sdpa

NAME = "scaled_dot_product_attention"


def stand_in(original, counts: Counts):
    """The function; `original` is torch's, for calls that Rapt does not take."""

    def scaled_dot_product_attention(
        query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
    ):
        def ours():
            return sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)

        more = {"enable_gqa": True} if enable_gqa else {}  # torch 2.4 does not know it
        if query.is_nested:  # torch calls another function, which is replaced too
            return original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, **more)
        if torch.compiler.is_compiling():
            return ours()
        with counts.attempt(NAME, "forward") as taken:
            math_attention.check(query, key, value, attn_mask, is_causal)
            if query.dim() == key.dim() == 4:
                gpu_call.check(counts, "both", query, key, attn_mask, dropout_p, is_causal)
            out = ours()
        if taken:
            math_attention.count_backward(out, counts)
            return out
        return original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, **more)

    return scaled_dot_product_attention
