"""S_dmask: the probabilities of a call with dropout, negative where dropped, for tests that ask for them."""

import torch

from rapt import _core

_COLUMNS = 256  # a head_dim that kernels of every device take


def signed_probabilities(q, k, options):
    """[batch, heads, max_seqlen_q, max_seqlen_k] in q's type; O(seqlen_q * seqlen_k) memory.

    Attention to a v that is the identity gives the probabilities themselves. With q = 0, where only masked
    probabilities are 0, it gives the dropout mask.
    """
    q, k = q.detach().contiguous(), k.detach().contiguous()
    probabilities = _rows(q, k, options | {"dropout": None, "dropout_seed": None})
    even = {"softcap": None, "alibi_slopes": None, "dropout_seed": options["dropout_seed"]}
    kept = _rows(torch.zeros_like(q), torch.zeros_like(k), options | even) > 0
    return torch.where(kept, probabilities, -probabilities)


def _rows(q, k, options):
    """P [batch, heads, max_seqlen_q, max_seqlen_k], in blocks of columns of an identity matrix."""
    cu_seqlens_q, cu_seqlens_k = options.get("cu_seqlens_q"), options.get("cu_seqlens_k")
    seqlen_k = options["max_seqlen_k"] if cu_seqlens_k is not None else k.shape[1]
    identity = torch.eye(seqlen_k, dtype=q.dtype, device=q.device)
    if cu_seqlens_k is None:
        v = identity.expand(k.shape[0], k.shape[2], -1, -1).transpose(1, 2)
    else:
        sizes = cu_seqlens_k.diff().tolist()
        v = torch.cat([identity[:size] for size in sizes])[:, None].expand(-1, k.shape[1], -1)
    blocks = []
    for columns in v.split(_COLUMNS, dim=-1):
        out = q.new_empty((*q.shape[:-1], columns.shape[-1]))
        _core.forward(q, k, columns, out, None, **options)
        blocks.append(out)
    p = torch.cat(blocks, dim=-1)
    if cu_seqlens_q is not None:
        sequences = p.split(cu_seqlens_q.diff().tolist())
        p = torch.stack(
            [torch.nn.functional.pad(s, (0, 0, 0, 0, 0, options["max_seqlen_q"] - len(s))) for s in sequences]
        )
    return p.transpose(1, 2)
