"""What attention can do besides causality, in the words of each library that the table `options` compares."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Option(NamedTuple):
    rapt: dict
    """keyword arguments of rapt.torch.attention"""
    mask: Tensor | None = None
    """attn_mask of torch's scaled_dot_product_attention"""
    score_mod: Callable | None = None
    """of FlexAttention"""
    mask_mod: Callable | None = None
    """of FlexAttention; None: the option has a tensor of all scores, which FlexAttention is not for"""


SOFTCAP = 30.0
WINDOW = 1024
_LENGTHS = {"documents": (1024,), "mixed": (64, 2048, 331, 1024, 129, 4000, 512, 77)}


def option(name: str, q: Tensor, k: Tensor) -> Option:
    """q: [batch, heads, seqlen_q, head_dim]; k: [batch, heads_k, seqlen_k, head_dim]."""
    return _OPTIONS[name](q, k)


WORDS = {
    "bias": " bias=b1hN",
    "mask": " mask=bNh1",
    "causal": " causal",
    "window": f" causal window={WINDOW - 1},0",
    "alibi": " causal alibi",
    "softcap": f" causal softcap={SOFTCAP:g}",
}
"""The options that are not packed, in the grammar of docs/naming.md."""


def lengths(name: str, total: int) -> tuple[int, ...]:
    """The lengths of the sequences that the option packs one behind another; none if it packs none."""
    if name not in _LENGTHS:
        return ()
    found, left = [], total
    for length in itertools.cycle(_LENGTHS[name]):
        found.append(min(length, left))
        left -= found[-1]
        if not left:
            return tuple(found)


def _causal_mod(b, h, i, j):
    return i >= j


def _bias(q, k):
    bias = torch.randn(1, q.shape[1], q.shape[2], k.shape[2], device=q.device, dtype=q.dtype)
    return Option({"bias": bias}, bias)


def _mask(q, k):
    mask = torch.rand(q.shape[0], 1, q.shape[2], k.shape[2], device=q.device) < 0.5
    return Option({"mask": mask}, mask)


def _causal(q, k):
    return Option({"causal": True}, None, None, _causal_mod)


def _window(q, k):
    return Option(
        {"causal": True, "window": (WINDOW - 1, 0)}, None, None, lambda b, h, i, j: (i >= j) & (i - j < WINDOW)
    )


def _alibi(q, k):
    slopes = torch.exp2(-8 * torch.arange(1, q.shape[1] + 1, device=q.device, dtype=torch.float32) / q.shape[1])
    return Option(
        {"causal": True, "alibi_slopes": slopes},
        None,
        lambda score, b, h, i, j: score - slopes[h] * (i - j).abs(),
        _causal_mod,
    )


def _softcap(q, k):
    return Option(
        {"causal": True, "softcap": SOFTCAP},
        None,
        lambda score, b, h, i, j: SOFTCAP * torch.tanh(score / SOFTCAP),
        _causal_mod,
    )


def _packed(name):
    def packed(q, k):
        of_all = lengths(name, q.shape[2])
        starts = torch.tensor([0, *itertools.accumulate(of_all)], device=q.device, dtype=torch.int32)
        document = torch.arange(len(of_all), device=q.device).repeat_interleave(starts.diff())
        arguments = {"causal": True, "cu_seqlens_q": starts, "cu_seqlens_k": starts}
        arguments |= {"max_seqlen_q": max(of_all), "max_seqlen_k": max(of_all)}
        return Option(arguments, None, None, lambda b, h, i, j: (i >= j) & (document[i] == document[j]))

    return packed


_OPTIONS = {
    "bias": _bias,
    "mask": _mask,
    "causal": _causal,
    "window": _window,
    "documents": _packed("documents"),
    "mixed": _packed("mixed"),
    "alibi": _alibi,
    "softcap": _softcap,
}
NAMES = tuple(_OPTIONS)
