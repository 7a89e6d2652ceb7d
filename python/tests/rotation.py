"""Rotary embedding by complex multiplication, unlike the library and rapt.flash_attn.rotary."""

import torch


def rotary(x, angles, offsets, interleaved):
    """x [batch, seqlen, heads, head_dim], rotated from the position offsets [batch] on."""
    turn = torch.polar(torch.ones_like(angles), angles)[offsets.long()[:, None] + torch.arange(x.shape[1])][:, :, None]
    half = angles.shape[1]
    first, second = (
        (x[..., 0 : 2 * half : 2], x[..., 1 : 2 * half : 2])
        if interleaved
        else (x[..., :half], x[..., half : 2 * half])
    )
    turned = torch.view_as_real(torch.complex(first.contiguous(), second.contiguous()) * turn)
    turned = turned.flatten(-2) if interleaved else turned.transpose(-1, -2).flatten(-2)
    return torch.cat([turned, x[..., 2 * half :]], -1)
