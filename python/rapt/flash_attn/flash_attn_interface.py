"""The functions of flash_attn.flash_attn_interface."""

import torch

from rapt.flash_attn._call import InvalidArgument, attend, attend_to_cache, check_tensors
from rapt.flash_attn._passes import (  # noqa: F401  other programs import these from here
    _flash_attn_backward,
    _flash_attn_forward,
    _flash_attn_varlen_backward,
    _flash_attn_varlen_forward,
    _wrapped_flash_attn_backward,
    _wrapped_flash_attn_forward,
    _wrapped_flash_attn_varlen_backward,
    _wrapped_flash_attn_varlen_forward,
)

# The shapes, b for batch, h for heads, d for head_dim.
#
#   q [b, seqlen_q, h, d], k and v [b, seqlen_k, h_k, d]; h is a multiple of h_k.
#   packed sequences: q [total_q, h, d], k and v [total_k, h_k, d], cu_seqlens int32 [b + 1]
#
#   softmax_lse (logsumexp) fp32 [b, h, seqlen_q] or [h, total_q]; +inf for a row with nothing to attend
#   S_dmask [b, h, max_seqlen_q, max_seqlen_k], only with dropout: the probabilities, negative where dropped
#
# causal and window_size are aligned to the bottom right if seqlen_q is not seqlen_k; -1 is an unbounded side.


def flash_attn_func(
    q,
    k,
    v,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
):
    """softmax(softmax_scale * q k^T) v with gradients; a row with nothing to attend gives 0.

    q: [batch, seqlen_q, heads, head_dim]; k, v: [batch, seqlen_k, heads_k, head_dim]
    softmax_scale: default 1 / sqrt(head_dim)
    softcap: above 0: logits become softcap * tanh(logits / softcap)
    alibi_slopes: fp32 [heads] or [batch, heads]: -slope * |i + seqlen_k - seqlen_q - j| is added to the logits
    deterministic: gradients that are bitwise the same every time

    Returns out [batch, seqlen_q, heads, head_dim]; with return_attn_probs (out, softmax_lse, S_dmask).
    """
    return attend(
        q,
        k,
        v,
        dropout_p=dropout_p,
        softmax_scale=softmax_scale,
        causal=causal,
        window_size=window_size,
        softcap=softcap,
        alibi_slopes=alibi_slopes,
        deterministic=deterministic,
        return_attn_probs=return_attn_probs,
    )


def flash_attn_kvpacked_func(
    q,
    kv,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
):
    """flash_attn_func with k and v in one tensor, kv: [batch, seqlen_k, 2, heads_k, head_dim]."""
    return flash_attn_func(
        q,
        *_unpacked(kv, "kv", 2),
        dropout_p,
        softmax_scale,
        causal,
        window_size,
        softcap,
        alibi_slopes,
        deterministic,
        return_attn_probs,
    )


def flash_attn_qkvpacked_func(
    qkv,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
):
    """flash_attn_func with q, k and v in one tensor, qkv: [batch, seqlen, 3, heads, head_dim]."""
    return flash_attn_func(
        *_unpacked(qkv, "qkv", 3),
        dropout_p,
        softmax_scale,
        causal,
        window_size,
        softcap,
        alibi_slopes,
        deterministic,
        return_attn_probs,
    )


def flash_attn_varlen_func(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
    block_table=None,
):
    """flash_attn_func for packed sequences: sequence b is rows cu_seqlens[b] to cu_seqlens[b + 1] - 1.

    q: [total_q, heads, head_dim]; k, v: [total_k, heads_k, head_dim]; cu_seqlens_q, cu_seqlens_k: int32 [batch + 1]
    max_seqlen_q, max_seqlen_k: the longest sequence of each
    block_table: int32 [batch, max_blocks]: then k and v are pages [num_blocks, page, heads_k, head_dim] of any size,
        and cu_seqlens_k gives only the lengths; no gradients

    Returns out [total_q, heads, head_dim]; with return_attn_probs (out, softmax_lse, S_dmask).
    """
    return attend(
        q,
        k,
        v,
        dropout_p=dropout_p,
        softmax_scale=softmax_scale,
        causal=causal,
        window_size=window_size,
        softcap=softcap,
        alibi_slopes=alibi_slopes,
        deterministic=deterministic,
        return_attn_probs=return_attn_probs,
        cu_seqlens_q=cu_seqlens_q,
        cu_seqlens_k=cu_seqlens_k,
        max_seqlen_q=max_seqlen_q,
        max_seqlen_k=max_seqlen_k,
        block_table=block_table,
    )


def flash_attn_varlen_kvpacked_func(
    q,
    kv,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
):
    """flash_attn_varlen_func with k and v in one tensor, kv: [total_k, 2, heads_k, head_dim]."""
    return flash_attn_varlen_func(
        q,
        *_unpacked(kv, "kv", 2),
        cu_seqlens_q,
        cu_seqlens_k,
        max_seqlen_q,
        max_seqlen_k,
        dropout_p,
        softmax_scale,
        causal,
        window_size,
        softcap,
        alibi_slopes,
        deterministic,
        return_attn_probs,
    )


def flash_attn_varlen_qkvpacked_func(
    qkv,
    cu_seqlens,
    max_seqlen,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
):
    """flash_attn_varlen_func with q, k and v in one tensor, qkv: [total, 3, heads, head_dim]."""
    return flash_attn_varlen_func(
        *_unpacked(qkv, "qkv", 3),
        cu_seqlens,
        cu_seqlens,
        max_seqlen,
        max_seqlen,
        dropout_p,
        softmax_scale,
        causal,
        window_size,
        softcap,
        alibi_slopes,
        deterministic,
        return_attn_probs,
    )


def flash_attn_with_kvcache(
    q,
    k_cache,
    v_cache,
    k=None,
    v=None,
    rotary_cos=None,
    rotary_sin=None,
    cache_seqlens: int | torch.Tensor | None = None,
    cache_batch_idx: torch.Tensor | None = None,
    cache_leftpad: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    rotary_interleaved=True,
    alibi_slopes=None,
    num_splits=0,
    return_softmax_lse=False,
):
    """Attention of new queries to a KV cache, to which k and v are first appended, in place. No gradients.

    q: [batch, seqlen_q, heads, head_dim]
    k_cache, v_cache: [cache_batch, capacity, heads_k, head_dim], or with a block_table pages
        [num_blocks, page, heads_k, head_dim] of any size
    k, v: [batch, seqlen_new, heads_k, head_dim], written from row cache_seqlens[b] on
    rotary_cos, rotary_sin: [positions, rotary_dim / 2]: rotate k by its rows, and q by its own rows (if causal or
        with a window) or all by cache_seqlens; rotary_interleaved: pairs (0, 1), (2, 3), ... or (x, x + rotary_dim / 2)
    cache_seqlens: rows in use before this call, int or int32 [batch]; default all
    cache_batch_idx: int32 [batch]: the cache row of each sequence; cache_leftpad: int32 [batch]: rows to skip
    block_table: int32 [batch, max_blocks]
    num_splits: 1 gives bitwise the same result every time; with any other number Rapt chooses the splits

    Returns out [batch, seqlen_q, heads, head_dim]; with return_softmax_lse (out, softmax_lse).
    """
    out, lse = attend_to_cache(
        q,
        k_cache,
        v_cache,
        seqused_k=cache_seqlens,
        new_k=k,
        new_v=v,
        deterministic=num_splits == 1,
        cache={
            "cache_batch_idx": cache_batch_idx,
            "leftpad_k": cache_leftpad,
            "block_table": block_table,
            "rotary_cos": rotary_cos,
            "rotary_sin": rotary_sin,
            "rotary_interleaved": rotary_interleaved,
        },
        softmax_scale=softmax_scale,
        causal=causal,
        window_size=window_size,
        softcap=softcap,
        alibi_slopes=alibi_slopes,
    )
    return (out, lse) if return_softmax_lse else out


def _unpacked(packed, name, count):
    check_tensors(**{name: packed})
    if packed.ndim not in (4, 5) or packed.shape[-3] != count:
        raise InvalidArgument(f"{name} has the shape {tuple(packed.shape)}; it must be [..., {count}, heads, head_dim]")
    return packed.unbind(-3)
