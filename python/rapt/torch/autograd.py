"""The gradients of torch.ops.rapt.attention; composition.py has second derivatives and forward mode."""

import torch
import torch.autograd.forward_ad
from torch._C import _after_autograd_keyset, _AutoDispatchBelowAutograd
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.autograd.function import _SingleLevelFunction

from rapt.torch import composition
from rapt.torch.operators import LIBRARY, NAMES, backward_operator, check_has_backward, operator

_WITH_GRADIENT = [NAMES.index(name) for name in ("q", "k", "v", "bias", "sink")]
_WITH_SECOND = [1, *(4 + i for i in _WITH_GRADIENT)]  # of the backward's arguments: dout, and these
_ALIBI_SLOPES = NAMES.index("alibi_slopes")
_OPTIONS, _MORE_TENSORS, _MORE_OPTIONS = NAMES.index("heads_first"), NAMES.index("bias"), NAMES.index("dropout")


def _below(operator, keyset, args):
    """The operator without autograd; within torch.func's transforms, without autograd of the innermost one."""
    if not torch._C._are_functorch_transforms_active():
        with _AutoDispatchBelowAutograd():
            return operator.redispatch(keyset & _after_autograd_keyset, *args)
    # apply() has turned off both kinds of gradients, but the outer transforms may need them
    with torch.enable_grad(), torch.autograd.forward_ad._set_fwd_grad_enabled(True), _AutoDispatchBelowAutograd():
        return operator.redispatch(keyset & _after_autograd_keyset, *args)


def _save(ctx, args, out, lse):
    ctx.save_for_backward(out, lse, *args[:_OPTIONS], *args[_MORE_TENSORS:_MORE_OPTIONS])
    ctx.options = args[_OPTIONS:_MORE_TENSORS], args[_MORE_OPTIONS:]
    ctx.mark_non_differentiable(lse)
    ctx.set_materialize_grads(False)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, keyset, *args):
        results = _below(operator, keyset, args)
        _save(ctx, args, *results)
        return results

    @staticmethod
    def backward(ctx, dout, _):
        needed = ctx.needs_input_grad[1:]
        gradients = [None] * len(needed)
        if dout is None:
            return None, *gradients
        wanted = [i for i in _WITH_GRADIENT if i < len(needed) and needed[i]]
        out, lse, q, k, v, *more_tensors = ctx.saved_tensors
        options, more_options = ctx.options
        wrt = [i in wanted for i in _WITH_GRADIENT]
        args = (wrt, dout, out, lse, q, k, v, *options, *more_tensors, *more_options)
        if torch.is_grad_enabled() or torch.autograd.forward_ad._current_level >= 0:  # second derivatives
            found = backward_operator(*args)
        else:
            with _AutoDispatchBelowAutograd():
                found = backward_operator(*args)
        for i, gradient in zip(wanted, found, strict=True):
            gradients[i] = gradient
        return None, *gradients


class _TransformedAttention(_SingleLevelFunction):
    """The same for one of torch.func's transforms."""

    @staticmethod
    def forward(keyset, *args):
        return _below(operator, keyset, args)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _save(ctx, inputs[1:], *output)

    backward = staticmethod(_Attention.backward)


def _each_requires_grad(*args):
    return any(isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args)


_any_requires_grad = getattr(torch._C, "_any_requires_grad", _each_requires_grad)  # faster, where torch has it


def _is_recorded(*args):
    return torch.is_grad_enabled() and _any_requires_grad(*args)


def _has_tangent(*args):
    """True if forward mode reaches the call."""
    if torch.autograd.forward_ad._current_level < 0:
        return False
    unpack = torch.autograd.forward_ad.unpack_dual
    return any(isinstance(arg, torch.Tensor) and unpack(arg).tangent is not None for arg in args)


def _apply(function, transformed, *args):
    if not torch._C._are_functorch_transforms_active():
        return super(torch.autograd.Function, function).apply(*args)  # Function.apply costs 1.5 us more before 2.15
    # The dispatcher comes here from the innermost transform of torch.func; Function.apply restarts at the outermost.
    with enable_single_level_autograd_function():
        return transformed.apply(*args)


def _autograd(keyset, *args):
    if len(args) > _ALIBI_SLOPES and args[_ALIBI_SLOPES] is not None and args[_ALIBI_SLOPES].requires_grad:
        raise ValueError("alibi_slopes requires grad, but slopes have no gradient: detach() them")
    if _has_tangent(*args):
        return composition.forward(*args)
    if _is_recorded(*args):
        check_has_backward(args[0], args[2])
        return _apply(_Attention, _TransformedAttention, keyset, *args)
    with _AutoDispatchBelowAutograd():
        return operator.redispatch(keyset & _after_autograd_keyset, *args)


def _save_for_second(ctx, args):
    ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
    ctx.save_for_backward(*(args[i] for i in ctx.places))
    ctx.others = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
    ctx.set_materialize_grads(False)


class _AttentionBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, keyset, *args):
        _save_for_second(ctx, args)
        return tuple(_below(backward_operator, keyset, args))

    @staticmethod
    def backward(ctx, *second):
        args = list(ctx.others)
        for i, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[i] = tensor
        needed = ctx.needs_input_grad[1:]
        wanted = [i for i in _WITH_SECOND if i < len(args) and needed[i]]
        if all(dx is None for dx in second):
            return None, *[None] * len(needed)

        def first(*tensors):
            for i, tensor in zip(wanted, tensors, strict=True):
                args[i] = tensor
            wrt, dout, _, _, *inputs = args
            found = composition.backward(wrt, dout, *inputs)
            return [x for x, dx in zip(found, second, strict=True) if dx is not None]

        # A transform of its own works below every other one, where torch.autograd.grad does not.
        _, pull = torch.func.vjp(first, *(args[i] for i in wanted))
        found = pull([dx for dx in second if dx is not None])
        gradients = [None] * len(needed)
        for i, gradient in zip(wanted, found, strict=True):
            gradients[i] = gradient
        return None, *gradients


class _TransformedBackward(_SingleLevelFunction):
    @staticmethod
    def forward(keyset, *args):
        return tuple(_below(backward_operator, keyset, args))

    @staticmethod
    def setup_context(ctx, inputs, output):
        _save_for_second(ctx, inputs[1:])

    backward = staticmethod(_AttentionBackward.backward)


def _backward_autograd(keyset, *args):
    if _has_tangent(*args):
        wrt, dout, _, _, *inputs = args
        return composition.backward(wrt, dout, *inputs)
    if _is_recorded(*args):
        return list(_apply(_AttentionBackward, _TransformedBackward, keyset, *args))
    with _AutoDispatchBelowAutograd():
        return backward_operator.redispatch(keyset & _after_autograd_keyset, *args)


LIBRARY.impl("attention", _autograd, "Autograd", with_keyset=True)
LIBRARY.impl("attention_backward", _backward_autograd, "Autograd", with_keyset=True)
