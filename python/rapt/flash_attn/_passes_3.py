"""FlashAttention 3's passes without autograd, by the private names that TransformerEngine imports."""

from rapt.flash_attn._call import mask_options, refuse, refuse_chunk
from rapt.flash_attn._passes import backward, forward, packed_options


def _flash_attn_forward(
    q, k, v, k_new=None, v_new=None, qv=None, out_=None, cu_seqlens_q=None, cu_seqlens_k=None, cu_seqlens_k_new=None,
    seqused_q=None, seqused_k=None, max_seqlen_q=None, max_seqlen_k=None, page_table=None, kv_batch_idx=None,
    leftpad_k=None, rotary_cos=None, rotary_sin=None, seqlens_rotary=None, q_descale=None, k_descale=None,
    v_descale=None, softmax_scale=None, causal=False, window_size_left=-1, window_size_right=-1, attention_chunk=0,
    softcap=0.0, rotary_interleaved=True, scheduler_metadata=None, num_splits=1, pack_gqa=None, sm_margin=0,
):  # fmt: skip
    """(out, softmax_lse, and two empty tensors in the place of the results of splits). out_ is written, if given."""
    refuse(
        k_new=k_new, v_new=v_new, qv=qv, cu_seqlens_k_new=cu_seqlens_k_new, seqused_q=seqused_q, seqused_k=seqused_k,
        page_table=page_table, kv_batch_idx=kv_batch_idx, leftpad_k=leftpad_k, rotary_cos=rotary_cos,
        rotary_sin=rotary_sin, seqlens_rotary=seqlens_rotary, q_descale=q_descale, k_descale=k_descale,
        v_descale=v_descale,
    )  # fmt: skip
    refuse_chunk(attention_chunk)
    options = _options(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    options |= mask_options(softmax_scale, causal, (window_size_left, window_size_right), softcap, None)
    out, lse = forward(q, k, v, options, out=out_)
    return out, lse, out.new_empty(0), lse.new_empty(0)


def _flash_attn_backward(
    dout, q, k, v, out, softmax_lse, cu_seqlens_q=None, cu_seqlens_k=None, sequed_q=None, sequed_k=None,
    max_seqlen_q=None, max_seqlen_k=None, dq=None, dk=None, dv=None, softmax_scale=None, is_causal=False,
    window_size_left=-1, window_size_right=-1, softcap=0.0, deterministic=False, sm_margin=0,
):  # fmt: skip
    """Writes dq, dk and dv, of which each may be None. Returns None, not softmax_d."""
    refuse(sequed_q=sequed_q, sequed_k=sequed_k)
    options = _options(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k) | {"deterministic": deterministic}
    options |= mask_options(softmax_scale, is_causal, (window_size_left, window_size_right), softcap, None)
    backward(dout, q, k, v, out, softmax_lse, dq, dk, dv, options)


def _options(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k):
    if cu_seqlens_q is None and cu_seqlens_k is None:
        return {}  # max_seqlen_q and max_seqlen_k may be given nevertheless
    return packed_options(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
