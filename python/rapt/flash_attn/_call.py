"""FlashAttention's arguments as Rapt's options, and Rapt's results as FlashAttention's."""

from contextlib import contextmanager

import torch

from rapt import _core
from rapt.flash_attn._probabilities import signed_probabilities


class InvalidArgument(ValueError, RuntimeError):
    """ValueError as in the rest of Rapt, RuntimeError as FlashAttention's own checks raise."""


def attend(
    q,
    k,
    v,
    *,
    dropout_p,
    softmax_scale,
    causal,
    window_size,
    softcap,
    alibi_slopes,
    deterministic,
    return_attn_probs,
    cu_seqlens_q=None,
    cu_seqlens_k=None,
    max_seqlen_q=None,
    max_seqlen_k=None,
    block_table=None,
):
    """out, or (out, softmax_lse, S_dmask) with return_attn_probs."""
    options = {
        **_mask_options(softmax_scale, causal, window_size, softcap, alibi_slopes),
        "deterministic": deterministic,
    }
    if cu_seqlens_q is not None:
        options |= {"cu_seqlens_q": cu_seqlens_q, "max_seqlen_q": int(max_seqlen_q)}
    if block_table is not None:
        seqused_k = cu_seqlens_k.diff().to(torch.int32)
        options |= {"seqused_k": seqused_k, "block_table": block_table, "dropout": dropout_p or None}
        out, lse = _forward(q, k, v, options)
        return (out, _lse(lse), _no_probabilities(q)) if return_attn_probs else out
    if cu_seqlens_k is not None:
        options |= {"cu_seqlens_k": cu_seqlens_k, "max_seqlen_k": int(max_seqlen_k)}
    if dropout_p:
        options |= {"dropout": dropout_p, "dropout_seed": int(torch.empty((), dtype=torch.int64).random_())}
    out, lse = _forward(q, k, v, options)
    if not return_attn_probs:
        return out
    return out, _lse(lse), signed_probabilities(q, k, options) if dropout_p else _no_probabilities(q)


def attend_to_cache(q, k_cache, v_cache, *, softmax_scale, causal, window_size, softcap, alibi_slopes, **options):
    """(out, softmax_lse); options are Rapt's, but that seqused_k may be a number."""
    if isinstance(options["seqused_k"], int):
        options["seqused_k"] = torch.full((len(q),), options["seqused_k"], dtype=torch.int32, device=q.device)
    if options["seqused_k"] is None and options["block_table"] is None:
        options["seqused_k"] = torch.full((len(q),), k_cache.shape[1], dtype=torch.int32, device=q.device)
    for name in ("new_k", "new_v"):
        if options[name] is not None:
            options[name] = _contiguous(options[name])
    options |= _mask_options(softmax_scale, causal, window_size, softcap, alibi_slopes)
    with torch.no_grad():
        out, lse = _forward(q, k_cache, v_cache, options)
    return out, _lse(lse)


def _forward(q, k, v, options):
    q, k, v = (_contiguous(x) for x in (q, k, v))
    out = q.new_empty((*q.shape[:-1], v.shape[-1]))
    *batch, seqlen_q, heads, _ = q.shape
    lse = q.new_empty((*batch, heads, seqlen_q), dtype=torch.float32)
    with _errors():
        _core.forward(q, k, v, out, lse, **options)
    return out, lse


def _mask_options(softmax_scale, causal, window_size, softcap, alibi_slopes):
    left, right = (int(side) for side in window_size)
    return {
        "softmax_scale": softmax_scale,
        "causal": causal,
        "window": None if (left, right) == (-1, -1) else (left, right),
        "softcap": softcap if softcap > 0 else None,  # not above 0: none, as in FlashAttention
        "alibi_slopes": alibi_slopes,
    }


def _contiguous(x):
    return x if x.stride(-1) == 1 else x.contiguous()


def _lse(lse):
    """+inf for a row with nothing to attend, which is FlashAttention's convention; Rapt's is -inf."""
    return lse.masked_fill(lse == -torch.inf, torch.inf)


def _no_probabilities(q):
    return q.new_empty(0)


@contextmanager
def _errors():
    try:
        yield
    except ValueError as error:
        raise InvalidArgument(str(error)) from None
