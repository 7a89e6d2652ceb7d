"""FlashAttention's passes without autograd, by the private names that other programs import (ring-flash-attention,
TransformerEngine, diffusers). Shapes are those of flash_attn_interface."""

import torch

from rapt import _core
from rapt.flash_attn._call import InvalidArgument, check_tensors, flash_lse, length_of, mask_options
from rapt.torch.operators import contiguous_rows


def _flash_attn_forward(
    q, k, v, dropout_p, softmax_scale, causal, window_size_left=-1, window_size_right=-1, softcap=0.0,
    alibi_slopes=None, return_softmax=False,
):  # fmt: skip
    """(out, softmax_lse, S_dmask, rng_state). S_dmask is None: return_softmax is refused."""
    return _forward(
        q, k, v, {}, dropout_p, return_softmax,
        softmax_scale=softmax_scale, causal=causal, window_size=(window_size_left, window_size_right), softcap=softcap,
        alibi_slopes=alibi_slopes,
    )  # fmt: skip


def _flash_attn_varlen_forward(
    q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, causal,
    window_size_left=-1, window_size_right=-1, softcap=0.0, alibi_slopes=None, return_softmax=False, block_table=None,
    leftpad_k=None, seqused_k=None, zero_tensors=False,
):  # fmt: skip
    """As _flash_attn_forward, of packed sequences. zero_tensors is ignored: rows that no sequence has are always 0."""
    for name, value in (("block_table", block_table), ("leftpad_k", leftpad_k), ("seqused_k", seqused_k)):
        if value is not None:
            raise NotImplementedError(f"{name} is given; here it must be None: flash_attn_with_kvcache takes a cache")
    packed = packed_options(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    return _forward(
        q, k, v, packed, dropout_p, return_softmax,
        softmax_scale=softmax_scale, causal=causal, window_size=(window_size_left, window_size_right), softcap=softcap,
        alibi_slopes=alibi_slopes,
    )  # fmt: skip


def _flash_attn_backward(
    dout, q, k, v, out, softmax_lse, dq, dk, dv, dropout_p, softmax_scale, causal, window_size_left=-1,
    window_size_right=-1, softcap=0.0, alibi_slopes=None, deterministic=False, rng_state=None,
):  # fmt: skip
    """Writes dq, dk and dv, of which each may be None. rng_state is the forward's. Returns None, not softmax_d."""
    _backward(
        dout, q, k, v, out, softmax_lse, dq, dk, dv, {"deterministic": deterministic}, dropout_p, rng_state,
        softmax_scale=softmax_scale, causal=causal, window_size=(window_size_left, window_size_right), softcap=softcap,
        alibi_slopes=alibi_slopes,
    )  # fmt: skip


def _flash_attn_varlen_backward(
    dout, q, k, v, out, softmax_lse, dq, dk, dv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p,
    softmax_scale, causal, window_size_left=-1, window_size_right=-1, softcap=0.0, alibi_slopes=None,
    deterministic=False, rng_state=None, zero_tensors=False,
):  # fmt: skip
    """As _flash_attn_backward, of packed sequences. zero_tensors is ignored, as in the forward."""
    packed = packed_options(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    _backward(
        dout, q, k, v, out, softmax_lse, dq, dk, dv, packed | {"deterministic": deterministic}, dropout_p, rng_state,
        softmax_scale=softmax_scale, causal=causal, window_size=(window_size_left, window_size_right), softcap=softcap,
        alibi_slopes=alibi_slopes,
    )  # fmt: skip


# FlashAttention has these as operators of torch, so that graphs can contain them.
_wrapped_flash_attn_forward = _flash_attn_forward
_wrapped_flash_attn_varlen_forward = _flash_attn_varlen_forward
_wrapped_flash_attn_backward = _flash_attn_backward
_wrapped_flash_attn_varlen_backward = _flash_attn_varlen_backward


def packed_options(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k):
    check_tensors(cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
    lengths = {
        "max_seqlen_q": length_of("max_seqlen_q", max_seqlen_q),
        "max_seqlen_k": length_of("max_seqlen_k", max_seqlen_k),
    }
    return {"cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k, **lengths}


def _forward(q, k, v, options, dropout_p, return_softmax, **mask):
    if return_softmax:
        raise NotImplementedError("return_softmax is true; here it must be false: flash_attn_func returns S_dmask")
    rng_state = torch.randint(2**63 - 1, (2,), dtype=torch.int64, device=q.device) if dropout_p else None
    options |= mask_options(**mask) | _dropout(dropout_p, rng_state)
    out, lse = forward(q, k, v, options)
    return out, flash_lse(lse), None, rng_state


def _backward(dout, q, k, v, out, lse, dq, dk, dv, options, dropout_p, rng_state, **mask):
    if dropout_p and (rng_state is None or rng_state.shape != (2,)):
        given = None if rng_state is None else f"of the shape {tuple(rng_state.shape)}"
        raise InvalidArgument(f"rng_state is {given}; with dropout it must be the forward's")
    options |= mask_options(**mask) | _dropout(dropout_p, rng_state)
    backward(dout, q, k, v, out, lse, dq, dk, dv, options)


def _dropout(dropout_p, rng_state):
    if not dropout_p:
        return {}
    return {"dropout": dropout_p, "dropout_seed": rng_state[0], "dropout_offset": rng_state[1]}


def forward(q, k, v, options, out=None):
    """(out, lse) with Rapt's options, without autograd."""
    check_tensors(q=q, k=k, v=v)
    q, k, v = (contiguous_rows(x) for x in (q, k, v))
    *batch, rows, heads, _ = q.shape
    if out is None:
        out = q.new_empty((*batch, rows, heads, v.shape[-1]))
    lse = q.new_empty((*batch, heads, rows), dtype=torch.float32)
    _call(_core.forward, q, k, v, out, lse, options=options)
    return out, lse


def backward(dout, q, k, v, out, lse, dq, dk, dv, options):
    """Writes dq, dk and dv, of which each may be None."""
    check_tensors(dout=dout, q=q, k=k, v=v, out=out, softmax_lse=lse)
    arguments = [contiguous_rows(x) for x in (q, k, v, out)] + [lse, contiguous_rows(dout), dq, dk, dv, None, None]
    _call(_core.backward, *arguments, options=options)


def _call(function, q, *tensors, options):
    if q.device.type == "cpu":
        options["_openmp_threads"] = torch.get_num_threads()
    try:
        function(q, *tensors, **options)
    except ValueError as error:
        raise InvalidArgument.of(error) from None
