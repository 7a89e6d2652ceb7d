"""apply_rotary_emb of flash_attn.layers.rotary."""

import torch


def apply_rotary_emb(
    x,
    cos,
    sin,
    interleaved=False,
    inplace=False,
    seqlen_offsets: int | torch.Tensor = 0,
    cu_seqlens: torch.Tensor | None = None,
    max_seqlen: int | None = None,
):
    """Rotates the first rotary_dim elements of each head by its token's position, with gradients.

    x: [batch, seqlen, heads, head_dim], or packed [total, heads, head_dim] with cu_seqlens int32 [batch + 1]
    cos, sin: [positions, rotary_dim / 2]
    interleaved: pairs (0, 1), (2, 3), ...; else (i, i + rotary_dim / 2)
    inplace: write into x
    seqlen_offsets: the position of each sequence's first token: a number or [batch]
    max_seqlen: the longest packed sequence; not needed here
    """
    half = cos.shape[-1]
    if 2 * half > x.shape[-1]:
        raise ValueError(f"cos has {half} columns, rotary_dim / 2; it may have head_dim / 2 = {x.shape[-1] // 2}")
    positions = _positions(x, seqlen_offsets, cu_seqlens)
    cos, sin = (table[positions].unsqueeze(-2).float() for table in (cos, sin))
    rotary, rest = x[..., : 2 * half], x[..., 2 * half :]
    pairs = rotary.unflatten(-1, (half, 2)) if interleaved else rotary.unflatten(-1, (2, half)).transpose(-1, -2)
    first, second = pairs.float().unbind(-1)
    rotated = torch.stack([first * cos - second * sin, first * sin + second * cos], -1)
    rotated = (rotated if interleaved else rotated.transpose(-1, -2)).flatten(-2).to(x.dtype)
    if inplace:
        x[..., : 2 * half].copy_(rotated)
        return x
    return torch.cat([rotated, rest], -1)


def _positions(x, offsets, cu_seqlens):
    """The position of each token: [seqlen], [batch, seqlen] or [total]."""
    if cu_seqlens is None:
        tokens = torch.arange(x.shape[1], device=x.device)
        return tokens + (offsets[:, None] if isinstance(offsets, torch.Tensor) else offsets)
    starts = cu_seqlens[:-1] - offsets
    return torch.arange(len(x), device=x.device) - starts.repeat_interleave(cu_seqlens.diff())
