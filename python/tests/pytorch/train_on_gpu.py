"""Trains the small transformer of rapt.bench.train for 20 steps on the CPU, but its attention on the simulated hip:0,
in fp16: an autograd function copies q, k, v and dout there. Prints the losses and those of PyTorch's math attention."""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from rapt import _core
from rapt.bench import train_one
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

sys.path.insert(0, str(Path(__file__).parents[1]))
from device_array import DeviceArray

STEPS, D_MODEL, HEADS, LAYERS, SEQLEN, BATCH = 20, 128, 2, 1, 80, 2


def on_device(tensor):
    return DeviceArray(tensor.detach().transpose(1, 2).half().numpy())


def empty(like, dtype=np.float16):
    return DeviceArray(np.full(like, np.nan, dtype))


class Attention(torch.autograd.Function):
    """Causal attention of [batch, heads, seqlen, head_dim]."""

    @staticmethod
    def forward(ctx, q, k, v):
        ctx.arrays = tuple(on_device(x) for x in (q, k, v))
        batch, seqlen, heads, _ = ctx.arrays[0].shape
        out, lse = empty(ctx.arrays[0].shape), empty((batch, heads, seqlen), np.float32)
        _core.forward(*ctx.arrays, out, lse, causal=True)
        ctx.results = out, lse
        return torch.from_numpy(out.numpy().copy()).transpose(1, 2)

    @staticmethod
    def backward(ctx, dout):
        gradients = [empty(x.shape) for x in ctx.arrays]
        _core.backward(*ctx.arrays, *ctx.results, on_device(dout), *gradients, None, None, causal=True)
        return tuple(torch.from_numpy(x.numpy().copy()).transpose(1, 2) for x in gradients)


def losses(attention):
    train_one._causal = lambda q, k, v: attention(q.half(), k.half(), v.half()).float()
    torch.manual_seed(0)
    model = train_one.Transformer(D_MODEL, HEADS, LAYERS, SEQLEN)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    text = torch.frombuffer(bytearray(Path(train_one.__file__).read_bytes()), dtype=torch.uint8)
    generator = torch.Generator().manual_seed(1)
    found = []
    for _ in range(STEPS):
        starts = torch.randint(len(text) - SEQLEN - 1, (BATCH,), generator=generator)
        rows = torch.stack([text[s : s + SEQLEN + 1] for s in starts.tolist()]).long()
        loss = cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def math(q, k, v):
    with sdpa_kernel([SDPBackend.MATH]):
        return scaled_dot_product_attention(q, k, v, is_causal=True)


if __name__ == "__main__":
    print(json.dumps({"gpu": losses(Attention.apply), "math": losses(math)}))
