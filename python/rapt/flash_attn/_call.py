"""FlashAttention's arguments as Rapt's options, and Rapt's results as FlashAttention's."""

import re

import torch

from rapt import _core
from rapt.flash_attn._probabilities import signed_probabilities
from rapt.torch.operators import attention, contiguous_rows, draw_seed

_NAMES = {  # the library's: FlashAttention's
    "dropout.probability": "dropout_p",
    "dropout.seed_tensor": "rng_state",
    "dropout.offset_tensor": "rng_state",
    "window": "window_size",
    "varlen.cu_seqlens_q": "cu_seqlens_q",
    "varlen.cu_seqlens_k": "cu_seqlens_k",
    "varlen.max_seqlen_q": "max_seqlen_q",
    "varlen.max_seqlen_k": "max_seqlen_k",
    "kv_cache.block_table": "block_table",
    "kv_cache.cache_batch_idx": "cache_batch_idx",
    "kv_cache.leftpad_k": "cache_leftpad",
    "kv_cache.new_k": "k",
    "kv_cache.new_v": "v",
    "kv_cache.rotary_cos": "rotary_cos",
    "kv_cache.rotary_sin": "rotary_sin",
}


class InvalidArgument(ValueError, RuntimeError):
    """ValueError as in the rest of Rapt, RuntimeError as FlashAttention's own checks raise."""

    @classmethod
    def of(cls, error: ValueError, lengths: str = "cache_seqlens") -> "InvalidArgument":
        """The library's error with FlashAttention's names; `lengths` is what the keys' lengths came from."""
        names = _NAMES | {"kv_cache.seqused_k": lengths}
        return cls(
            re.sub(r"\b(window(?= is)|[a-z_]+\.[a-z_]+)", lambda found: names.get(found[0], found[0]), str(error))
        )


def attend(q, k, v, *, dropout_p, deterministic, return_attn_probs, cu_seqlens_q=None, cu_seqlens_k=None,
           max_seqlen_q=None, max_seqlen_k=None, block_table=None, **mask):  # fmt: skip
    """out with gradients, or (out, softmax_lse, S_dmask) with return_attn_probs; `mask` is for mask_options."""
    check_tensors(q=q, k=k, v=v)
    options = mask_options(**mask) | {"deterministic": deterministic}
    if cu_seqlens_q is not None:
        check_tensors(cu_seqlens_q=cu_seqlens_q)
        options |= {"cu_seqlens_q": cu_seqlens_q, "max_seqlen_q": length_of("max_seqlen_q", max_seqlen_q)}
    if block_table is not None:
        check_tensors(block_table=block_table, cu_seqlens_k=cu_seqlens_k)
        options |= {"block_table": block_table, "seqused_k": cu_seqlens_k.diff().to(torch.int32)}
        if dropout_p:
            raise NotImplementedError(f"dropout_p is {dropout_p}; with a block_table it must be 0")
        out, lse = _attend_to_rows(q, k, v, options, "cu_seqlens_k")
    else:
        if cu_seqlens_k is not None:
            check_tensors(cu_seqlens_k=cu_seqlens_k)
            options |= {"cu_seqlens_k": cu_seqlens_k, "max_seqlen_k": length_of("max_seqlen_k", max_seqlen_k)}
        if dropout_p:
            options |= {"dropout": dropout_p, "dropout_seed": draw_seed(q)}
        try:
            out, lse = attention(q, k, v, return_lse=True, **options)
        except ValueError as error:
            raise InvalidArgument.of(error) from None
    if not return_attn_probs:
        return out
    return out, flash_lse(lse), signed_probabilities(q, k, options) if dropout_p else q.new_empty(0)


def attend_to_cache(q, k_cache, v_cache, *, seqused_k, new_k, new_v, deterministic, cache, **mask):
    """(out, softmax_lse) without gradients; `cache` has Rapt's other options of a KV cache."""
    check_tensors(q=q, k_cache=k_cache, v_cache=v_cache)
    if seqused_k is None and cache["block_table"] is None:
        seqused_k = k_cache.shape[1]
    if isinstance(seqused_k, int):
        _check_length(seqused_k, k_cache, new_k, cache["block_table"])
        seqused_k = torch.full((len(q),), seqused_k, dtype=torch.int32, device=q.device)
    if seqused_k is not None:
        check_tensors(cache_seqlens=seqused_k)
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


def _attend_to_rows(q, k, v, options, lengths="cache_seqlens"):
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
        raise InvalidArgument.of(error, lengths) from None
    return out, lse


def mask_options(softmax_scale, causal, window_size, softcap, alibi_slopes):
    return {
        "softmax_scale": softmax_scale,
        "causal": bool(causal),
        "window": _sides(window_size),
        "softcap": max(softcap or 0.0, 0.0),  # below 0 is none, as in FlashAttention
        "alibi_slopes": alibi_slopes,
    }


def _sides(window_size):
    try:
        left, right = window_size
        if isinstance(left, float) or isinstance(right, float):
            raise TypeError
        return int(left), int(right)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"window_size is {window_size}; it must be two integers, of which -1 leaves its side unbounded"
        ) from None


def check_tensors(**tensors):
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise InvalidArgument(f"{name} is of type {type(tensor).__name__}; it must be a tensor")


def length_of(name, value):
    if value is None:
        raise InvalidArgument(f"{name} is None; it must be the longest sequence's length")
    return int(value)


def flash_lse(lse):
    """+inf for a row with nothing to attend, which is FlashAttention's convention; Rapt's is -inf."""
    return lse.masked_fill(lse == -torch.inf, torch.inf)


def refuse(**arguments):
    """Raises if an argument of FlashAttention 3 that Rapt does not have is given."""
    for name, value in arguments.items():
        if value is not None:
            raise NotImplementedError(f"{name} is given; Rapt does not have it, so it must be None")


def refuse_chunk(attention_chunk):
    if attention_chunk:
        raise NotImplementedError(f"attention_chunk is {attention_chunk}; Rapt does not have it, so it must be 0")
