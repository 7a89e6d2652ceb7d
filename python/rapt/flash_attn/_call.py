"""FlashAttention's arguments as Rapt's options, and Rapt's results as FlashAttention's."""

import torch

from rapt import _core
from rapt.flash_attn._probabilities import signed_probabilities
from rapt.torch.operators import attention, contiguous_rows, draw_seed


class InvalidArgument(ValueError, RuntimeError):
    """ValueError as in the rest of Rapt, RuntimeError as FlashAttention's own checks raise."""


def attend(q, k, v, *, dropout_p, deterministic, return_attn_probs, cu_seqlens_q=None, cu_seqlens_k=None,
           max_seqlen_q=None, max_seqlen_k=None, block_table=None, **mask):  # fmt: skip
    """out with gradients, or (out, softmax_lse, S_dmask) with return_attn_probs; `mask` is for mask_options."""
    options = mask_options(**mask) | {"deterministic": deterministic}
    if cu_seqlens_q is not None:
        options |= {"cu_seqlens_q": cu_seqlens_q, "max_seqlen_q": int(max_seqlen_q)}
    if block_table is not None:
        options |= {"block_table": block_table, "seqused_k": cu_seqlens_k.diff().to(torch.int32)}
        if dropout_p:
            raise NotImplementedError(f"dropout_p is {dropout_p}; with a block_table it must be 0")
        out, lse = _attend_to_rows(q, k, v, options)
    else:
        if cu_seqlens_k is not None:
            options |= {"cu_seqlens_k": cu_seqlens_k, "max_seqlen_k": int(max_seqlen_k)}
        if dropout_p:
            options |= {"dropout": dropout_p, "dropout_seed": draw_seed(q)}
        try:
            out, lse = attention(q, k, v, return_lse=True, **options)
        except ValueError as error:
            raise InvalidArgument(str(error)) from None
    if not return_attn_probs:
        return out
    return out, flash_lse(lse), signed_probabilities(q, k, options) if dropout_p else q.new_empty(0)


def attend_to_cache(q, k_cache, v_cache, *, seqused_k, new_k, new_v, deterministic, cache, **mask):
    """(out, softmax_lse) without gradients; `cache` has Rapt's other options of a KV cache."""
    if seqused_k is None and cache["block_table"] is None:
        seqused_k = k_cache.shape[1]
    if isinstance(seqused_k, int):
        _check_length(seqused_k, k_cache, new_k, cache["block_table"])
        seqused_k = torch.full((len(q),), seqused_k, dtype=torch.int32, device=q.device)
    options = mask_options(**mask) | cache | {"seqused_k": seqused_k, "deterministic": deterministic}
    if new_k is not None and new_v is not None:
        options |= {"new_k": contiguous_rows(new_k), "new_v": contiguous_rows(new_v)}
    elif new_k is not None or new_v is not None:
        raise InvalidArgument("k and v must be given together")
    out, lse = _attend_to_rows(q, k_cache, v_cache, options)
    return out, flash_lse(lse)


def _check_length(length, k_cache, new_k, block_table):
    """Checks the lengths of all sequences. Lengths in a GPU's memory are not read: kernels clamp them."""
    rows = k_cache.shape[1] * (1 if block_table is None else block_table.shape[-1])
    new = 0 if new_k is None else new_k.shape[1]
    if not 0 <= length <= rows - new:
        of_pages = "" if block_table is None else ", the rows of block_table's pages"
        raise InvalidArgument(f"cache_seqlens is {length}, with {new} new keys must be in 0 to {rows}{of_pages}")


def _attend_to_rows(q, k, v, options):
    """(out, lse) of a KV cache."""
    q = contiguous_rows(q)
    *batch, seqlen_q, heads, _ = q.shape
    out = q.new_empty((*batch, seqlen_q, heads, v.shape[-1]))
    lse = q.new_empty((*batch, heads, seqlen_q), dtype=torch.float32)
    if q.device.type == "cpu":
        options["_openmp_threads"] = torch.get_num_threads()
    try:
        _core.forward(q, k, v, out, lse, **options)
    except ValueError as error:
        raise InvalidArgument(str(error)) from None
    return out, lse


def mask_options(softmax_scale, causal, window_size, softcap, alibi_slopes):
    return {
        "softmax_scale": softmax_scale,
        "causal": bool(causal),
        "window": (int(window_size[0]), int(window_size[1])),
        "softcap": max(softcap, 0.0),  # below 0 is none, as in FlashAttention
        "alibi_slopes": alibi_slopes,
    }


def flash_lse(lse):
    """+inf for a row with nothing to attend, which is FlashAttention's convention; Rapt's is -inf."""
    return lse.masked_fill(lse == -torch.inf, torch.inf)


def refuse(**arguments):
    """Raises if an argument of FlashAttention 3 that Rapt does not have is given."""
    for name, value in arguments.items():
        if value is not None:
            raise NotImplementedError(f"{name} is given; Rapt does not have it, so it must be None")


def refuse_schedule(attention_chunk, num_splits):
    if attention_chunk:
        raise NotImplementedError(f"attention_chunk is {attention_chunk}; Rapt does not have it, so it must be 0")
    if num_splits not in (0, 1):
        raise NotImplementedError(f"num_splits is {num_splits}; it must be 0 (Rapt chooses the splits) or 1")
