"""torch.vmap of the operators: the samples are one batch, or sample by sample where an option belongs to a batch.

Sample by sample is correct for every option, dropout's seeds included, but a call for each costs 20 us.
"""

import torch

from rapt.torch.operators import LIBRARY, NAMES, backward_operator, operator

_BIAS, _MASK = NAMES.index("bias"), NAMES.index("mask")
_HAVE_A_BATCH = {"q", "k", "v", "bias", "mask"}


def _samples(info, in_dims, args):
    for i in range(info.batch_size):
        yield [arg.select(dim, i) if isinstance(dim, int) else arg for arg, dim in zip(args, in_dims, strict=True)]


def _batch_of_sample(in_dims, args) -> int | None:
    """The batch size of each sample; None if the samples cannot be one batch."""
    q, dim = args[0], in_dims[0]
    tensors = {name for name, arg in zip(NAMES, args, strict=False) if isinstance(arg, torch.Tensor)}
    if not tensors <= _HAVE_A_BATCH or q.dim() != (5 if isinstance(dim, int) else 4):
        return None
    return q.movedim(dim, 0).shape[1] if isinstance(dim, int) else q.shape[0]


def _fold(info, batch, dim, arg, shared=False):
    """A tensor with the samples in its batch; shared: one of batch 1 that all samples share stays so."""
    if not isinstance(arg, torch.Tensor):
        return arg
    if not isinstance(dim, int) and shared and arg.shape[0] == 1:
        return arg
    arg = arg.movedim(dim, 0) if isinstance(dim, int) else arg.expand(info.batch_size, *arg.shape)
    return (arg.expand(-1, batch, *arg.shape[2:]) if arg.shape[1] == 1 else arg).flatten(0, 1)


def _fold_all(info, batch, in_dims, args, shared):
    """The arguments of an operator; `shared` are the places of tensors of which all samples may share one."""
    return [_fold(info, batch, dim, arg, i in shared) for i, (dim, arg) in enumerate(zip(in_dims, args, strict=True))]


@torch.library.register_vmap("rapt::attention", lib=LIBRARY)
def _vmap_forward(info, in_dims, *args):
    batch = _batch_of_sample(in_dims, args)
    if batch is None:
        results = [operator(*sample) for sample in _samples(info, in_dims, args)]
        return tuple(torch.stack(each) for each in zip(*results, strict=True)), (0, 0)
    folded = _fold_all(info, batch, in_dims, args, (_BIAS, _MASK))
    return tuple(x.unflatten(0, (info.batch_size, batch)) for x in operator(*folded)), (0, 0)


@torch.library.register_vmap("rapt::attention_backward", lib=LIBRARY)
def _vmap_backward(info, in_dims, *args):
    (wrt, *before), inputs = args[:4], args[4:]
    batch = _batch_of_sample(in_dims[4:], inputs)
    if batch is None:
        results = [backward_operator(*sample) for sample in _samples(info, in_dims, args)]
        gradients = [torch.stack(each) for each in zip(*results, strict=True)]
        return gradients, [0] * len(gradients)
    before = [_fold(info, batch, dim, x) for dim, x in zip(in_dims[1:4], before, strict=True)]
    wants_bias = wrt[3]
    folded = _fold_all(info, batch, in_dims[4:], inputs, (_MASK,) if wants_bias else (_BIAS, _MASK))
    gradients = [x.unflatten(0, (info.batch_size, batch)) for x in backward_operator(wrt, *before, *folded)]
    if wants_bias:
        bias, dim = inputs[_BIAS], in_dims[4:][_BIAS]
        if (bias.movedim(dim, 0).shape[1] if isinstance(dim, int) else bias.shape[0]) == 1:
            gradients[-1] = gradients[-1].sum(1, keepdim=True)
    return gradients, [0] * len(gradients)
