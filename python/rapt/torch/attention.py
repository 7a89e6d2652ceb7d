"""rapt.attention with gradients."""

import torch
from torch import Tensor

from rapt.torch.operators import attention as operator


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    return_lse: bool = False,
    softmax_scale: float | None = None,
    causal: bool | str = False,
    softcap: float = 0.0,
    window: tuple[int, int] = (-1, -1),
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    alibi_slopes: Tensor | None = None,
    sink: Tensor | None = None,
    dropout: float = 0.0,
    dropout_seed: int | Tensor | None = None,
    dropout_offset: int = 0,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k: Tensor | None = None,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    backend: str | None = None,
    deterministic: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """rapt.attention of PyTorch tensors, with gradients of q, k, v, bias and sink; torch.compile traces it whole.

    q: [batch, seqlen_q, heads_q, head_dim]; fp16, bf16 or fp32 (fp64: the math backend alone); of packed sequences
        [total_q, heads_q, head_dim]
    k: [batch, seqlen_k, heads_k, head_dim]; heads_q is a multiple of heads_k
    v: [batch, seqlen_k, heads_k, head_dim_v]
    return_lse: give (out, lse); lse, fp32 [batch, heads_q, seqlen_q], has no gradient
    dropout_seed: default one draw from PyTorch's generator, as torch.manual_seed sets it; a tensor is one int64 in
        host memory
    deterministic: bitwise the same result every time, as torch.use_deterministic_algorithms() asks for too
    The others are those of rapt.Options; the number of threads is torch.get_num_threads().

    Gives out, [batch, seqlen_q, heads_q, head_dim_v], the type of q. Raises as rapt.attention does.
    """
    if dropout and not isinstance(dropout_seed, Tensor):
        dropout_seed = draw_seed() if dropout_seed is None else torch.tensor(dropout_seed)
    out, lse = operator(
        q,
        k,
        v,
        False,
        alignment(causal),
        softmax_scale,
        bias,
        mask,
        sink,
        alibi_slopes,
        cu_seqlens_q,
        cu_seqlens_k,
        dropout_seed,
        dropout,
        dropout_offset,
        softcap,
        *window,
        max_seqlen_q,
        max_seqlen_k,
        backend,
        deterministic,
    )
    return (out, lse) if return_lse else out


def draw_seed() -> Tensor:
    return torch.randint(2**63 - 1, (), dtype=torch.int64)


def alignment(causal: bool | str) -> str | None:
    return {True: "bottom-right", False: None}.get(causal, causal)
