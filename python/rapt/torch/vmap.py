"""torch.vmap of the operators: sample by sample, which is correct for every option, including dropout's seeds."""

import torch

from rapt.torch.operators import LIBRARY, backward_operator, operator


def _samples(info, in_dims, args):
    for i in range(info.batch_size):
        yield [arg.select(dim, i) if isinstance(dim, int) else arg for arg, dim in zip(args, in_dims, strict=True)]


@torch.library.register_vmap("rapt::attention", lib=LIBRARY)
def _vmap_forward(info, in_dims, *args):
    results = [operator(*sample) for sample in _samples(info, in_dims, args)]
    return tuple(torch.stack(each) for each in zip(*results, strict=True)), (0, 0)


@torch.library.register_vmap("rapt::attention_backward", lib=LIBRARY)
def _vmap_backward(info, in_dims, *args):
    results = [backward_operator(*sample) for sample in _samples(info, in_dims, args)]
    gradients = [torch.stack(each) for each in zip(*results, strict=True)]
    return gradients, [0] * len(gradients)
