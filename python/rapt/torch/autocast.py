"""Under torch.autocast, q, k, v and bias are cast to its type, as in torch's own attention."""

import torch

from rapt.torch.operators import LIBRARY, NAMES, operator

_CAST = {"q", "k", "v", "bias"}


def _kernel(device: str, key: str):
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    def autocast(*args):
        dtype = torch.get_autocast_dtype(device)
        args = [_cast(arg, dtype) if name in _CAST else arg for name, arg in zip(NAMES, args, strict=False)]
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return operator(*args)

    return autocast


def _cast(tensor, dtype):
    if tensor is None or not tensor.is_floating_point() or tensor.dtype == torch.float64:
        return tensor
    return tensor.to(dtype)


for _device, _key in (("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA")):
    LIBRARY.impl("attention", _kernel(_device, _key), _key)
