"""Attention and its gradients in float64 by torch's autograd. Each test states by hand what its rows attend to."""

import torch

# of the largest exact value
TOLERANCE = {torch.float32: 4e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def randn(*shape, dtype=torch.float32, factor=1.0):
    return (factor * torch.randn(*shape)).to(dtype)


def places(rows, keys, diagonal=0):
    """j - i of each query and key, with the diagonal moved to the right."""
    return torch.arange(keys)[None] - torch.arange(rows)[:, None] - diagonal


def attention(q, k, v, allowed=None, added=None, scale=None, softcap=0.0, sink=None, kept=None):
    """[batch, seqlen, heads, head_dim]; the others broadcast to [batch, heads, seqlen_q, seqlen_k].

    added: to the logits; kept: factors of the probabilities, as dropout has them.
    A row with nothing to attend is 0.
    """
    group = q.shape[2] // k.shape[2]
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    logits = (q @ k.mT) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        logits = softcap * torch.tanh(logits / softcap)
    if added is not None:
        logits = logits + added
    if allowed is not None:
        logits = logits.masked_fill(~allowed, -torch.inf)
    if sink is not None:
        logits = torch.cat((logits, sink[None, :, None, None].expand(*logits.shape[:3], 1)), -1)
    empty = (logits == -torch.inf).all(-1, keepdim=True)
    p = torch.softmax(logits.masked_fill(empty, 0), -1).masked_fill(empty, 0)
    p = p[..., : k.shape[2]] if kept is None else p[..., : k.shape[2]] * kept
    return (p @ v).transpose(1, 2)


def with_gradients(dout, q, k, v, bias=None, sink=None, **options):
    """out and the gradients of q, k, v, bias and sink, in float64."""
    given = [x for x in (q, k, v, bias, sink) if x is not None]
    leaves = [x.double().contiguous().requires_grad_() for x in given]
    rest = iter(leaves[3:])
    if bias is not None:
        options["added"] = next(rest) + options.get("added", 0)
    if sink is not None:
        options["sink"] = next(rest)
    out = attention(*leaves[:3], **options)
    return out.detach(), torch.autograd.grad(out, leaves, dout.double())


def assert_close(name, result, exact, dtype=None, scale=None, factor=1.0):
    """dtype: of the inputs, default the result's; scale: default the largest exact value."""
    scale = exact.abs().max().item() if scale is None else scale
    error = (result.double() - exact).abs().max().item()
    allowed = factor * TOLERANCE[dtype or result.dtype] * max(scale, 1e-6)
    assert error <= allowed, f"{name}: error {error:.3e}, allowed {allowed:.3e}"
