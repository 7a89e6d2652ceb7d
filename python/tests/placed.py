"""Torch tensors of a CPU placed on a device: kept, or copied to the GPU that HIP's simulator is, strides and all."""

import ctypes
import os

import numpy as np
import pytest
import rapt
import torch
from device_array import DeviceArray

DEVICES = [
    "cpu",
    pytest.param("hip", marks=pytest.mark.skipif("RAPT_HIP_LIBRARY" not in os.environ, reason="no HIP library")),
]
_KINDS = {torch.float16: 2, torch.float32: 2, torch.bfloat16: 4, torch.int32: 0, torch.bool: 6}  # DLPack's codes


class _Copy(DeviceArray):
    """All memory behind a tensor on hip:0, described with the tensor's shape and strides."""

    def __init__(self, tensor):
        span = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
        self.rows = tensor.as_strided((span,), (1,))
        size = tensor.element_size()
        super().__init__(self.rows.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[size]).numpy())
        self.like, n = tensor, tensor.dim()
        self.lengths, self.strides = (ctypes.c_int64 * n)(*tensor.shape), (ctypes.c_int64 * n)(*tensor.stride())
        described = self.managed.tensor
        described.code, described.ndim = _KINDS[tensor.dtype], n
        described.shape, described.strides = self.lengths, self.strides
        self.shape = tuple(tensor.shape)

    def back(self):
        memory = torch.from_numpy(np.array(self.numpy())).view(self.like.dtype)
        return memory.as_strided(self.like.shape, self.like.stride())


def place(tensor, device):
    return _Copy(tensor) if device == "hip" and isinstance(tensor, torch.Tensor) else tensor


def fetch(tensor):
    return tensor.back() if isinstance(tensor, _Copy) else tensor


def run(device, qkv, options, dout):
    """out and the gradients by name, back on the CPU; memory for results holds NaN before."""
    placed = [place(x, device) for x in qkv]
    placed_options = {name: place(x, device) for name, x in options.items()}
    shape = (*qkv[0].shape[:3], qkv[2].shape[3])
    out = place(torch.full(shape, torch.nan, dtype=qkv[0].dtype), device)
    lse = place(torch.full((shape[0], shape[2], shape[1]), torch.nan), device)
    rapt._core.forward(*placed, out, lse, **placed_options)
    inputs = {"q": qkv[0], "k": qkv[1], "v": qkv[2]}
    inputs |= {name: options[name] for name in ("bias", "sink") if name in options}
    memory = {f"d{name}": place(torch.full(x.shape, torch.nan, dtype=x.dtype), device) for name, x in inputs.items()}
    rapt.attention_backward(place(dout, device), *placed, out, lse, wrt=tuple(inputs), **memory, **placed_options)
    return fetch(out), {name: fetch(x) for name, x in memory.items()}
