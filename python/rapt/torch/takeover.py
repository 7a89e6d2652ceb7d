"""enable() and disable(): Rapt replaces torch's attention operators, below scaled_dot_product_attention.

The kernels of the fused operators are replaced: compiled graphs call the operators by name, so they follow each switch,
and no compile cache depends on it. Only math, which has no operator in compiled graphs, is replaced while torch traces;
math_attention.py says how. On GPUs inference.py also replaces scaled_dot_product_attention, for eager calls alone.
"""

import contextlib
import threading
import warnings

import torch

from rapt import _core
from rapt.torch import (
    cudnn_gpu,
    efficient_gpu,
    flash_cpu,
    flash_gpu,
    function,
    inference,
    math_attention,
    native_attention,
    nested_attention,
    schemas,
)
from rapt.torch.report import Counts, Report

_lock = threading.Lock()
_counts = Counts(off=True)
_switched_on = False
_blocks = 0  # active blocks of enabled()
_library: torch.library.Library | None = None
_function_before = None
_nested_before = None
_fast_path_before = True
_cache_tag_before = ""
_compiler = getattr(torch.compiler, "config", None)  # torch 2.5 has none


def enable(always: bool = False):
    """Let torch's attention call Rapt, until disable(). Enabling twice is the same as enabling once.

    Rapt takes every call of F.scaled_dot_product_attention, eager and compiled, from Python and from C++, forward and
    backward, whichever of its operators torch chooses: flash, efficient, cuDNN or math. A call that Rapt cannot compute
    or that is faster with torch goes to torch's own kernel, and report() says why. The kernels of the current GPU are
    loaded, so that the first call may be in a captured graph. Graphs compiled before keep the math that they contain.

    always: take calls that torch computes faster on this GPU too, by the measurements that measured.py reads
    """
    global _switched_on
    with _lock:
        _counts.always = always
        _switch(on=True)
        _switched_on = True


def disable():
    """Undo enable(); active blocks of enabled() stay on."""
    global _switched_on
    with _lock:
        _switched_on = False
        _switch()


@contextlib.contextmanager
def enabled(always: bool = False):
    """Let torch's attention call Rapt within the block. Blocks nest; `always` is enable()'s, the latest holds."""
    acquire(always)
    try:
        yield
    finally:
        release()


def acquire(always: bool = False):
    global _blocks
    with _lock:
        _counts.always = always
        _switch(on=True)
        _blocks += 1


def release():
    global _blocks
    with _lock:
        _blocks -= 1
        _switch()


def report() -> Report:
    """The calls that Rapt took since it was enabled, and the calls left to torch, with reasons. print() shows it."""
    with _lock:
        operators = [name for module in _modules() for name in (module.FORWARD, module.BACKWARD)]
        operators += [math_attention.FORWARD, native_attention.FORWARD]
        if inference.installed():
            operators.append(inference.FUNCTION)
        if not _has_kernels():
            operators = ["torch.nn.functional.scaled_dot_product_attention"]
        return Report(not _counts.off, operators, dict(_counts.taken), dict(_counts.refused))


def _gpu_modules():
    return (flash_gpu, efficient_gpu, cudnn_gpu) if torch.version.hip or torch.version.cuda else ()


def _modules():
    return flash_cpu, *_gpu_modules()


def _switch(on=False):
    global _fast_path_before, _cache_tag_before, _nested_before
    wanted = on or _switched_on or _blocks > 0
    if wanted and _counts.off:
        _remove()
        _counts.clear()
        if _has_kernels():
            _install((*_fused("FORWARD", _modules()), *_fused("BACKWARD", _modules()), *_math(), *_native()))
            if _gpu_modules():
                inference.install(_counts)
        else:
            _replace_function()
        _nested_before = nested_attention.install(_counts)
        _counts.off = False  # only now: after an error Rapt is not enabled, and the next call tries again
        if _gpu_modules():
            torch.cuda._lazy_call(_preload)  # now, or when torch initializes CUDA
        if not _has_kernels():  # the fast path of nn.MultiheadAttention does not call the function
            _fast_path_before = torch.backends.mha.get_fastpath_enabled()
            torch.backends.mha.set_fastpath_enabled(False)
        if _compiler is not None:  # graphs that are compiled now may contain Rapt's operator in place of math
            _cache_tag_before = _compiler.cache_key_tag
            _compiler.cache_key_tag = f"{_cache_tag_before}rapt {_core.version}"
    elif not wanted and not _counts.off:
        _remove()
        nested_attention.remove(_nested_before)
        _counts.off = True
        if _counts.bound and _has_kernels():  # backward calls to come must be Rapt's
            _install(_fused("BACKWARD", _gpu_modules()))
        if not _has_kernels():
            torch.backends.mha.set_fastpath_enabled(_fast_path_before)
        if _compiler is not None:
            _compiler.cache_key_tag = _cache_tag_before


def _preload():
    """Loads the kernels of the current GPU, so that the first call may be in a captured graph."""
    if _counts.off:
        return
    try:
        _core.preload(10 if torch.version.hip else 2, torch.cuda.current_device())  # DLPack's types
    except (NotImplementedError, RuntimeError) as error:
        warnings.warn(f"rapt.torch.enable(): every call on this GPU stays with torch: {error}", stacklevel=2)


def _fused(direction, modules):
    """(operator, its maker of kernels, key, a key with torch's kernel) of the fused operators of one direction."""
    found = [(getattr(m, direction), getattr(m, direction.lower()), m.KEY, m.KEY) for m in modules if schemas.known(m)]
    # a build may lack an operator for its GPUs, as cuDNN's
    return [row for row in found if torch._C._dispatch_has_kernel_for_dispatch_key(row[0], row[2])]


def _math():
    if not schemas.known(math_attention):
        return []
    return [(math_attention.FORWARD, math_attention.forward, key, "CPU") for key in math_attention.KEYS]


def _native():
    if not schemas.known(native_attention):
        return []
    name = native_attention.FORWARD
    has = [key for key in native_attention.KEYS if torch._C._dispatch_has_kernel_for_dispatch_key(name, key)]
    return [(name, native_attention.forward, key, key) for key in has]


def _install(kernels):
    global _library
    originals = [torch.library.get_kernel(name, has_it) for name, _, _, has_it in kernels]
    _library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered kernel")
        for (name, make, key, _), original in zip(kernels, originals, strict=True):
            _library.impl(name.removeprefix("aten::"), make(original, _counts), key, with_keyset=True)


def _has_kernels():
    """True if torch gives its own kernels out, so that they can be called where Rapt's are in their place."""
    return hasattr(torch.library, "get_kernel")


def _replace_function():
    global _function_before
    _function_before = torch.nn.functional.scaled_dot_product_attention
    torch.nn.functional.scaled_dot_product_attention = function.stand_in(_function_before, _counts)


def _remove():
    global _library, _function_before
    inference.remove()
    if _function_before is not None:
        torch.nn.functional.scaled_dot_product_attention = _function_before
        _function_before = None
    if _library is not None:
        _library._destroy()
        _library = None
