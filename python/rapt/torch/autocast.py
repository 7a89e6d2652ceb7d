"""Under torch.autocast q, k, v and bias take its type, as torch's own attention has it."""

import torch

from rapt.torch.operators import LIBRARY, attention


def _kernel(device: str, key: str):
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    def autocast(q, k, v, bias=None, *rest):
        dtype = torch.get_autocast_dtype(device)
        q, k, v, bias = (_cast(tensor, dtype) for tensor in (q, k, v, bias))
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return attention(q, k, v, bias, *rest)

    return autocast


def _cast(tensor, dtype):
    if tensor is None or not tensor.is_floating_point() or tensor.dtype == torch.float64:
        return tensor
    return tensor.to(dtype)


for _device, _key in (("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA")):
    LIBRARY.impl("attention", _kernel(_device, _key), _key)
