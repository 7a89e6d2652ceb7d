"""torch's attention of jagged nested tensors, which chooses no operator that takeover.py replaces, computed by Rapt."""

import torch
import torch.nested._internal.ops as jagged

from rapt.torch import math_attention, nested
from rapt.torch.operators import is_traced
from rapt.torch.report import Counts

NAME = "nested"
FUNCTION = "jagged_scaled_dot_product_attention"


def install(counts: Counts):
    """Puts Rapt's function in the place of torch's, which is returned."""
    original = getattr(jagged, FUNCTION)
    setattr(jagged, FUNCTION, _stand_in(original, counts))
    return original


def remove(original):
    setattr(jagged, FUNCTION, original)


def _stand_in(original, counts: Counts):
    def jagged_scaled_dot_product_attention(
        query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
    ):
        values = [x.values() if x.is_nested and x.layout == torch.jagged else x for x in (query, key, value)]
        traced = is_traced(values[0])
        with counts.attempt(NAME, "traced" if traced else "forward") as taken:
            math_attention.check(*values, attn_mask, is_causal)
            out = nested.sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale)
        if taken:
            if not traced:
                math_attention.count_backward(out, counts)
            return out
        more = {"enable_gqa": True} if enable_gqa else {}
        return original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, **more)

    return jagged_scaled_dot_product_attention
