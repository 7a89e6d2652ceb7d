"""Triton's names. Where it is not installed, kernels stay plain functions, and only their cases are used."""

try:
    import triton.language as tl
    from triton import jit
    from triton.language.extra import libdevice
except ModuleNotFoundError:
    tl = libdevice = None

    def jit(function=None, **options):
        return function if function is not None else lambda function: function


__all__ = ["jit", "libdevice", "tl"]
