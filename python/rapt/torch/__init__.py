"""Rapt inside PyTorch: operators with gradients, scaled_dot_product_attention, and the takeover of torch's own."""

from rapt.torch import _version  # noqa: F401, I001  first: it names a torch that is too old
from rapt.torch import autocast, autograd, flash_implementation, flops, vmap  # noqa: F401  to complete the operators
from rapt.torch.operators import attention
from rapt.torch.report import Report
from rapt.torch.sdpa import sdpa
from rapt.torch.takeover import disable, enable, enabled, report

__all__ = ["Report", "attention", "disable", "enable", "enabled", "report", "sdpa"]

flash_implementation.register()
