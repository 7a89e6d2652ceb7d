"""FlashAttention 2's functions, with its names, arguments and defaults, on any device that the tensors are on.

    from rapt.flash_attn import flash_attn_func         # instead of: from flash_attn import flash_attn_func

    import rapt.flash_attn
    rapt.flash_attn.install()                           # from here on `import flash_attn` gives this package

Tensors are PyTorch's: [batch, seqlen, heads, head_dim], or packed [total, heads, head_dim] with cu_seqlens. An argument
is honoured or refused with an error, never ignored. Three things differ from FlashAttention: fp32 and every head_dim up
to 512 work too, dropout has another mask, and the attention probabilities of return_attn_probs are exact.
"""

from rapt.flash_attn._install import install, uninstall
from rapt.flash_attn.flash_attn_interface import (
    flash_attn_func,
    flash_attn_kvpacked_func,
    flash_attn_qkvpacked_func,
    flash_attn_varlen_func,
    flash_attn_varlen_kvpacked_func,
    flash_attn_varlen_qkvpacked_func,
    flash_attn_with_kvcache,
)

__version__ = "2.8.3"  # the interface's: other code decides by this number what is available

__all__ = [
    "flash_attn_func",
    "flash_attn_kvpacked_func",
    "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func",
    "flash_attn_varlen_kvpacked_func",
    "flash_attn_varlen_qkvpacked_func",
    "flash_attn_with_kvcache",
    "install",
    "uninstall",
]
