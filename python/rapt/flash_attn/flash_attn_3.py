"""FlashAttention 3's functions, its module flash_attn_interface, on any device that the tensors are on.

    from rapt.flash_attn.flash_attn_3 import flash_attn_func    # instead of: from flash_attn_interface import ...

rapt.flash_attn.install() gives this module by that name and as flash_attn_3.flash_attn_interface. Shapes are those of
rapt.flash_attn. An argument is honoured or refused by name. Hints about the schedule change no result: num_splits,
pack_gqa, sm_margin and scheduler_metadata. As in FlashAttention 3, softmax_lse is -inf for a row with nothing to
attend.
"""

import torch

from rapt.flash_attn import flash_attn_interface
from rapt.flash_attn._call import InvalidArgument, check_tensors, mask_options, refuse, refuse_chunk
from rapt.flash_attn._passes import packed_options
from rapt.flash_attn._passes_3 import _flash_attn_backward, _flash_attn_forward  # noqa: F401  others import these
from rapt.torch.operators import attention

__version__ = "3.0.0"  # the interface's


def flash_attn_func(
    q, k, v, softmax_scale=None, causal=False, qv=None, q_descale=None, k_descale=None, v_descale=None,
    window_size=(-1, -1), attention_chunk=0, softcap=0.0, num_splits=1, pack_gqa=None, deterministic=False, sm_margin=0,
    return_attn_probs=False,
):  # fmt: skip
    """softmax(softmax_scale * q k^T) v with gradients; a row with nothing to attend gives 0.

    q: [batch, seqlen_q, heads, head_dim]; k: [batch, seqlen_k, heads_k, head_dim];
        v: [batch, seqlen_k, heads_k, head_dim_v]
    softmax_scale: default 1 / sqrt(head_dim)

    Returns out [batch, seqlen_q, heads, head_dim_v]; with return_attn_probs (out, softmax_lse).
    """
    refuse(qv=qv, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale)
    refuse_chunk(attention_chunk)
    mask = mask_options(softmax_scale, causal, window_size, softcap, None)
    return _attend(q, k, v, mask | {"deterministic": deterministic}, return_attn_probs)


def flash_attn_qkvpacked_func(
    qkv, softmax_scale=None, causal=False, q_descale=None, k_descale=None, v_descale=None, window_size=(-1, -1),
    attention_chunk=0, softcap=0.0, deterministic=False, num_heads_q=None, sm_margin=0, return_attn_probs=False,
):  # fmt: skip
    """flash_attn_func of one tensor: [batch, seqlen, 3, heads, head_dim], or with num_heads_q
    [batch, seqlen, num_heads_q + 2 heads_k, head_dim]."""
    if qkv.dim() == 5 and qkv.shape[2] == 3:
        q, k, v = qkv.unbind(2)
    elif qkv.dim() == 4 and num_heads_q in range(qkv.shape[2] - 2, 0, -2):
        heads_k = (qkv.shape[2] - num_heads_q) // 2
        q, k, v = qkv.split([num_heads_q, heads_k, heads_k], 2)
    else:
        raise InvalidArgument(
            f"qkv has the shape {tuple(qkv.shape)} and num_heads_q is {num_heads_q}; it must be "
            f"[batch, seqlen, 3, heads, head_dim], or [batch, seqlen, num_heads_q + 2 heads_k, head_dim]"
        )
    return flash_attn_func(
        q, k, v, softmax_scale, causal, None, q_descale, k_descale, v_descale, window_size, attention_chunk, softcap,
        deterministic=deterministic, sm_margin=sm_margin, return_attn_probs=return_attn_probs,
    )  # fmt: skip


def flash_attn_varlen_func(
    q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, seqused_q=None, seqused_k=None, softmax_scale=None,
    causal=False, qv=None, q_descale=None, k_descale=None, v_descale=None, window_size=(-1, -1), attention_chunk=0,
    softcap=0.0, num_splits=1, pack_gqa=None, deterministic=False, sm_margin=0, return_attn_probs=False,
):  # fmt: skip
    """flash_attn_func for packed sequences: sequence b is rows cu_seqlens[b] to cu_seqlens[b + 1] - 1.

    q: [total_q, heads, head_dim]; k, v: [total_k, heads_k, head_dim]; cu_seqlens_q, cu_seqlens_k: int32 [batch + 1]
    """
    refuse(
        seqused_q=seqused_q, seqused_k=seqused_k, qv=qv, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale
    )
    refuse_chunk(attention_chunk)
    packed = packed_options(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    mask = mask_options(softmax_scale, causal, window_size, softcap, None)
    return _attend(q, k, v, mask | packed | {"deterministic": deterministic}, return_attn_probs)


def flash_attn_with_kvcache(
    q, k_cache, v_cache, k=None, v=None, qv=None, rotary_cos=None, rotary_sin=None, cache_seqlens=None,
    cache_batch_idx=None, cache_leftpad=None, page_table=None, cu_seqlens_q=None, cu_seqlens_k_new=None,
    max_seqlen_q=None, rotary_seqlens=None, q_descale=None, k_descale=None, v_descale=None, softmax_scale=None,
    causal=False, window_size=(-1, -1), attention_chunk=0, softcap=0.0, rotary_interleaved=True,
    scheduler_metadata=None, num_splits=0, pack_gqa=None, sm_margin=0, return_softmax_lse=False,
):  # fmt: skip
    """rapt.flash_attn.flash_attn_with_kvcache; block_table is called page_table here. max_seqlen_q changes nothing."""
    refuse(
        qv=qv, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k_new=cu_seqlens_k_new,
        rotary_seqlens=rotary_seqlens, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale,
    )  # fmt: skip
    refuse_chunk(attention_chunk)
    try:
        out, lse = flash_attn_interface.flash_attn_with_kvcache(
            q, k_cache, v_cache, k, v, rotary_cos, rotary_sin, cache_seqlens, cache_batch_idx, cache_leftpad,
            page_table, softmax_scale, causal, window_size, softcap, rotary_interleaved, None, num_splits,
            return_softmax_lse=True,
        )  # fmt: skip
    except InvalidArgument as error:
        raise InvalidArgument(str(error).replace("block_table", "page_table")) from None
    return (out, lse.masked_fill(lse == torch.inf, -torch.inf)) if return_softmax_lse else out


def flash_attn_combine(out_partial, lse_partial, out=None, out_dtype=None):
    """Merges results over parts of the keys: (out, lse).

    out_partial: [parts, batch, seqlen, heads, head_dim]; lse_partial: [parts, batch, seqlen, heads], fp32
    """
    lse = torch.logsumexp(lse_partial, 0)
    weights = (lse_partial - lse.masked_fill(lse == -torch.inf, 0.0)).exp()
    result = (out_partial.float() * weights[..., None]).sum(0).to(out_dtype or out_partial.dtype)
    return (result if out is None else out.copy_(result)), lse


def get_scheduler_metadata(*args, **kwargs):
    """None: Rapt needs no metadata, whatever the sizes are."""
    return None


def _attend(q, k, v, options, return_lse):
    check_tensors(q=q, k=k, v=v)
    try:
        out, lse = attention(q, k, v, return_lse=True, **options)
    except ValueError as error:
        raise InvalidArgument.of(error) from None
    return (out, lse) if return_lse else out
