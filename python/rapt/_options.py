"""The keyword arguments that all calls share."""

from typing import Any, Literal, TypedDict

Tensor = Any  # a NumPy array, a PyTorch tensor, or an object with __dlpack__ and __dlpack_device__


class Options(TypedDict, total=False):
    """What to compute and how to run it. Passing None is the same as not passing the option.

    The logits are s = softmax_scale * (q . k); s = softcap * tanh(s / softcap); s += bias; s -= slope * |i + off - j|;
    excluded keys become -inf. off is seqlen_k - seqlen_q (bottom-right), or 0 for causal="top-left". A row with
    nothing to attend gives out 0, lse -inf (the sink's value where there is a sink) and gradients 0.

    Packed sequences of different lengths (`cu_seqlens_q`): q and out are [total_q, heads_q, head_dim], k and v
    [total_k, heads_k, head_dim], lse is [heads_q, total_q].

    With a KV cache (any option from `seqused_k` on; forward only) k and v are the cache: [cache_batch, capacity,
    heads_k, head_dim], or with a block_table pages [num_blocks, page, heads_k, head_dim]. Sequence b's keys are cache
    rows leftpad_k[b] to seqused_k[b] - 1, then the new ones.
    """

    softmax_scale: float | None
    """default 1 / sqrt(head_dim)"""
    causal: bool | Literal["bottom-right", "top-left"] | None
    """query i sees keys j <= i + seqlen_k - seqlen_q (True, "bottom-right"), or j <= i ("top-left", as PyTorch)"""
    softcap: float | None
    """0: none"""
    window: tuple[int, int] | None
    """(left, right): keeps keys j in [i + off - left, i + off + right]; -1 is unbounded; causal makes right 0"""
    bias: Tensor | None
    """[batch|1, heads_q|1, seqlen_q|1, seqlen_k|1], the type of q or fp32: added to the logits"""
    mask: Tensor | None
    """[batch|1, heads_q|1, seqlen_q|1, seqlen_k|1], bool or uint8: nonzero attends"""
    alibi_slopes: Tensor | None
    """fp32 [heads_q] or [batch, heads_q]; they get no gradient"""
    sink: Tensor | None
    """[heads_q], the type of q, fp16, bf16 or fp32: one more logit per row, neither scaled nor capped"""

    dropout: float | None
    """the probability of dropping an element of P, in [0, 1)"""
    dropout_seed: int | Tensor | None
    """in [0, 2^64); needed with dropout: the same seed and offset give the same mask, on every device. A tensor is one
    int64 or uint64 on the device of q, read when the call runs: a captured graph can replay with another"""
    dropout_offset: int | Tensor | None
    """as dropout_seed; default 0"""

    cu_seqlens_q: Tensor | None
    """int32 [batch + 1]: sequence b is rows cu_seqlens_q[b] to cu_seqlens_q[b + 1] - 1"""
    cu_seqlens_k: Tensor | None
    """int32 [batch + 1]; not with a KV cache"""
    max_seqlen_q: int | None
    """default: taken from cu_seqlens_q if that is in host memory"""
    max_seqlen_k: int | None
    """default: taken from cu_seqlens_k if that is in host memory"""
    check_device_seqlens: bool | None
    """read back and validate cu_seqlens in GPU memory, which waits for the stream"""

    seqused_k: Tensor | None
    """int32 [batch]: cache rows in use before this call; default the whole capacity"""
    cache_batch_idx: Tensor | None
    """int32 [batch]: the cache row of each sequence; default b; not with pages"""
    leftpad_k: Tensor | None
    """int32 [batch]: cache rows to skip at the front; default 0"""
    block_table: Tensor | None
    """int32 [batch, max_blocks]: page numbers"""
    new_k: Tensor | None
    """[batch, seqlen_new, heads_k, head_dim]: written into the cache from row seqused_k[b] on, before attending"""
    new_v: Tensor | None
    """[batch, seqlen_new, heads_k, head_dim_v]"""
    rotary_cos: Tensor | None
    """[positions, rotary_dim / 2], the type of q or fp32: rotates new_k and q"""
    rotary_sin: Tensor | None
    """as rotary_cos"""
    rotary_interleaved: bool | None
    """True: pairs (0, 1), (2, 3), ...; default False: pairs (x, x + rotary_dim / 2)"""

    backend: str | None
    """default "auto", or a name that `explain` lists: "cpu", "cuda", "hip", "math", "cuda.<kernel>", "hip.<kernel>" """
    deterministic: bool | None
    """bitwise the same result every time"""
    allow_math: bool | None
    """"auto" may choose the slow math backend for any size"""
    num_threads: int | None
    """CPU tensors: default one per core"""
    stream: int | None
    """GPU tensors: the hipStream_t or cudaStream_t; default the current stream of the tensors' library"""
    workspace: Tensor | None
    """uint8, one dimension, on the tensors' device, 64-byte aligned; default: Rapt allocates"""
