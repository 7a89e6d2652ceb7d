"""enable() and disable(): Rapt replaces torch's flash attention, below scaled_dot_product_attention.

The kernels of the flash backend's operators are replaced, not scaled_dot_product_attention: compiled graphs call the
operators by name, so they follow each switch, and no compile cache depends on it.
"""

import contextlib
import threading
import warnings

import torch

from rapt.torch import flash_cpu, flash_gpu
from rapt.torch.report import Counts, Report

_lock = threading.Lock()
_counts = Counts()
_switched_on = False
_blocks = 0  # active blocks of enabled()
_library: torch.library.Library | None = None
_fast_path_before = True
_cudnn_before = True


def enable():
    """Let torch's attention call Rapt, until disable(). Enabling twice is the same as enabling once.

    Rapt takes every call that reaches torch's flash attention operators: F.scaled_dot_product_attention, eager and
    compiled, from Python and from C++, forward and backward. A call that it cannot compute goes to torch's own
    kernel, and report() says why. Two paths that bypass these operators are off in the meantime: torch.backends.mha's
    fast path, and cuDNN's attention, which torch prefers to flash on some NVIDIA GPUs.
    """
    global _switched_on
    _check_torch()
    with _lock:
        _switched_on = True
        _switch()


def disable():
    """Undo enable(); active blocks of enabled() stay on."""
    global _switched_on
    with _lock:
        _switched_on = False
        _switch()


@contextlib.contextmanager
def enabled():
    """Let torch's attention call Rapt within the block. Blocks nest."""
    acquire()
    try:
        yield
    finally:
        release()


def acquire():
    global _blocks
    _check_torch()
    with _lock:
        _blocks += 1
        _switch()


def release():
    global _blocks
    with _lock:
        _blocks -= 1
        _switch()


def report() -> Report:
    """The calls that Rapt took since it was enabled, and the calls left to torch, with reasons. print() shows it."""
    with _lock:
        operators = [name for module in _modules() for name in (module.FORWARD, module.BACKWARD)]
        return Report(_library is not None, operators, dict(_counts.taken), dict(_counts.refused))


def _check_torch():
    if not hasattr(torch.library, "get_kernel"):
        raise RuntimeError(f"torch {torch.__version__} has no torch.library.get_kernel, which enable() needs")


def _modules():
    return (flash_cpu, flash_gpu) if torch.version.hip or torch.version.cuda else (flash_cpu,)


def _switch():
    global _library, _fast_path_before, _cudnn_before
    wanted = _switched_on or _blocks > 0
    if wanted and _library is None:
        _counts.clear()
        _library = _stand_in()
        _fast_path_before = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        _cudnn_before = torch.backends.cuda.cudnn_sdp_enabled()
        torch.backends.cuda.enable_cudnn_sdp(False)
    elif not wanted and _library is not None:
        _library._destroy()
        _library = None
        torch.backends.mha.set_fastpath_enabled(_fast_path_before)
        torch.backends.cuda.enable_cudnn_sdp(_cudnn_before)


def _stand_in():
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered kernel")
        for module in _modules():
            for name, kernel in ((module.FORWARD, module.forward), (module.BACKWARD, module.backward)):
                original = torch.library.get_kernel(name, module.KEY)
                library.impl(name.removeprefix("aten::"), kernel(original, _counts), module.KEY, with_keyset=True)
    return library
