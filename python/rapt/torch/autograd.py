"""The gradients of torch.ops.rapt.attention, and why there are none of gradients."""

import torch
from torch._C import _AutoDispatchBelowAutograd, _after_autograd_keyset

from rapt.torch.operators import LIBRARY, NAMES, attention, attention_backward

_WITH_GRADIENT = [NAMES.index(name) for name in ("q", "k", "v", "bias", "sink")]
_ALIBI_SLOPES = NAMES.index("alibi_slopes")
_TENSORS = NAMES.index("dropout_seed") + 1  # so many arguments come first that are tensors or None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, keyset, *args):
        with _AutoDispatchBelowAutograd():
            out, lse = attention.redispatch(keyset & _after_autograd_keyset, *args)
        tensors, ctx.rest = args[:_TENSORS], args[_TENSORS:]
        ctx.save_for_backward(out, lse, *tensors)
        ctx.mark_non_differentiable(lse)
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    def backward(ctx, dout, _):
        needed = ctx.needs_input_grad[1:]
        gradients = [None] * len(needed)
        if dout is None:
            return None, *gradients
        wanted = [i for i in _WITH_GRADIENT if i < len(needed) and needed[i]]
        out, lse, *tensors = ctx.saved_tensors
        found = attention_backward([i in wanted for i in _WITH_GRADIENT], dout, out, lse, *tensors, *ctx.rest)
        for i, gradient in zip(wanted, found, strict=True):
            gradients[i] = gradient
        return None, *gradients


def _autograd(keyset, *args):
    if torch.is_grad_enabled() and torch._C._any_requires_grad(*args):
        if len(args) > _ALIBI_SLOPES and args[_ALIBI_SLOPES] is not None and args[_ALIBI_SLOPES].requires_grad:
            raise ValueError("alibi_slopes requires grad, and slopes have no gradient: detach() them")
        return _Attention.apply(keyset, *args)
    with _AutoDispatchBelowAutograd():
        return attention.redispatch(keyset & _after_autograd_keyset, *args)


class _AttentionBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, keyset, *args):
        with _AutoDispatchBelowAutograd():
            return tuple(attention_backward.redispatch(keyset & _after_autograd_keyset, *args))

    @staticmethod
    def backward(ctx, *_):
        raise NotImplementedError(
            "rapt::attention_backward has no gradient: Rapt computes first derivatives of attention. For second ones "
            "use torch.nn.attention.sdpa_kernel(SDPBackend.MATH) with torch's own attention"
        )


def _backward_autograd(keyset, *args):
    if torch.is_grad_enabled() and torch._C._any_requires_grad(*args):
        return list(_AttentionBackward.apply(keyset, *args))
    with _AutoDispatchBelowAutograd():
        return attention_backward.redispatch(keyset & _after_autograd_keyset, *args)


LIBRARY.impl("attention", _autograd, "Autograd", with_keyset=True)
LIBRARY.impl("attention_backward", _backward_autograd, "Autograd", with_keyset=True)
