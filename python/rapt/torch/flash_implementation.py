"""Rapt as an implementation for torch.nn.attention.activate_flash_attention_impl(), where torch has that."""

import torch.nn.attention

from rapt.torch import takeover

NAME = "RAPT"


class _Handle:
    def __init__(self):
        takeover.acquire()

    def remove(self):
        takeover.release()


def register():
    """torch.nn.attention.activate_flash_attention_impl("RAPT") then does what enable() does. This does not call it."""
    if hasattr(torch.nn.attention, "register_flash_attention_impl"):
        torch.nn.attention.register_flash_attention_impl(NAME, register_fn=_Handle)
