"""The names of flash_attn.layers.rotary, and apply_rotary of flash_attn.ops.triton.rotary."""

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
    if sin.shape != cos.shape:
        raise ValueError(f"sin has the shape {tuple(sin.shape)}; it must be cos's, {tuple(cos.shape)}")
    if cu_seqlens is None and isinstance(seqlen_offsets, int):
        _check_offset(seqlen_offsets, x.shape[1], len(cos))
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


def _check_offset(offset, seqlen, positions):
    """Offsets in tensors are not read: that would wait for a GPU."""
    if not 0 <= offset <= positions - seqlen:
        raise ValueError(f"seqlen_offsets is {offset}, x has {seqlen} tokens; cos has {positions} positions for them")


def _positions(x, offsets, cu_seqlens):
    """The position of each token: [seqlen], [batch, seqlen] or [total]."""
    if cu_seqlens is None:
        tokens = torch.arange(x.shape[1], device=x.device)
        return tokens + (offsets[:, None] if isinstance(offsets, torch.Tensor) else offsets)
    starts = cu_seqlens[:-1] - offsets
    return torch.arange(len(x), device=x.device) - starts.repeat_interleave(cu_seqlens.diff())


apply_rotary_emb_func = apply_rotary_emb


def apply_rotary(
    x, cos, sin, seqlen_offsets=0, cu_seqlens=None, max_seqlen=None, interleaved=False, inplace=False, conjugate=False
):
    """apply_rotary_emb with other places of arguments; conjugate: rotates back."""
    sin = -sin if conjugate else sin
    return apply_rotary_emb(x, cos, sin, interleaved, inplace, seqlen_offsets, cu_seqlens, max_seqlen)


def apply_rotary_emb_qkv_(
    qkv, cos, sin, cos_k=None, sin_k=None, interleaved=False, seqlen_offsets=0, num_heads_q=None
):  # fmt: skip
    """Rotates q and k within qkv. Returns qkv.

    qkv: [batch, seqlen, 3, heads, head_dim], or with num_heads_q [batch, seqlen, num_heads_q + 2 heads_k, head_dim]
    cos_k, sin_k: for k; default cos and sin
    """
    if qkv.dim() == 5 and qkv.shape[2] == 3:
        q, k = qkv[:, :, 0], qkv[:, :, 1]
    elif qkv.dim() == 4 and num_heads_q is not None:
        heads_k = (qkv.shape[2] - num_heads_q) // 2
        q, k = qkv[:, :, :num_heads_q], qkv[:, :, num_heads_q : num_heads_q + heads_k]
    else:
        raise ValueError(
            f"qkv has the shape {tuple(qkv.shape)} and num_heads_q is {num_heads_q}; it must be "
            f"[batch, seqlen, 3, heads, head_dim], or [batch, seqlen, num_heads_q + 2 heads_k, head_dim]"
        )
    apply_rotary_emb(q, cos, sin, interleaved, True, seqlen_offsets)
    cos_k, sin_k = cos if cos_k is None else cos_k, sin if sin_k is None else sin_k
    apply_rotary_emb(k, cos_k, sin_k, interleaved, True, seqlen_offsets)
    return qkv


def apply_rotary_emb_kv_(kv, cos, sin, interleaved=False, seqlen_offsets=0):
    """Rotates k within kv [batch, seqlen, 2, heads, head_dim]. Returns kv."""
    apply_rotary_emb(kv[:, :, 0], cos, sin, interleaved, True, seqlen_offsets)
    return kv


class RotaryEmbedding(torch.nn.Module):
    """Rotates queries and keys, in place, by angles position * base ** (-2 i / dim) of the pairs i."""

    def __init__(self, dim: int, base=10000.0, interleaved=False, scale_base=None, device=None):
        super().__init__()
        if scale_base is not None:
            raise NotImplementedError(f"scale_base is {scale_base}; Rapt does not have it, so it must be None")
        self.dim, self.base, self.interleaved, self.scale_base = dim, float(base), interleaved, None
        self.register_buffer("inv_freq", self._compute_inv_freq(device), persistent=False)
        self._seq_len_cached = 0
        self._cos_cached = self._sin_cached = None  # other programs read these

    def _compute_inv_freq(self, device=None):
        return self.base ** (-torch.arange(0, self.dim, 2, device=device, dtype=torch.float32) / self.dim)

    def _update_cos_sin_cache(self, seqlen, device=None, dtype=None):
        cached = self._cos_cached
        fits = cached is not None and seqlen <= self._seq_len_cached and cached.device == device
        if fits and cached.dtype == dtype and not (self.training and cached.is_inference()):
            return
        # in fp32: a model that is cast to 16 bits has cast inv_freq
        frequencies = self.inv_freq if self.inv_freq.dtype == torch.float32 else self._compute_inv_freq(device)
        angles = torch.outer(torch.arange(seqlen, device=device, dtype=torch.float32), frequencies.to(device))
        self._seq_len_cached = seqlen
        self._cos_cached, self._sin_cached = angles.cos().to(dtype), angles.sin().to(dtype)

    def forward(self, qkv, kv=None, seqlen_offset: int | torch.Tensor = 0, max_seqlen=None, num_heads_q=None):
        """qkv, or (q, kv) if kv is given; then the first argument is q [batch, seqlen, heads, head_dim].

        max_seqlen: the most positions; needed if seqlen_offset is a tensor
        """
        if max_seqlen is not None or isinstance(seqlen_offset, int):
            seqlen = qkv.shape[1] + seqlen_offset if max_seqlen is None else max_seqlen
            self._update_cos_sin_cache(seqlen, device=qkv.device, dtype=qkv.dtype)
        tables = self._cos_cached, self._sin_cached
        how = {"interleaved": self.interleaved, "seqlen_offsets": seqlen_offset}
        if kv is None:
            return apply_rotary_emb_qkv_(qkv, *tables, **how, num_heads_q=num_heads_q)
        return apply_rotary_emb(qkv, *tables, **how, inplace=True), apply_rotary_emb_kv_(kv, *tables, **how)
