"""In the place of flash_attn_2_cuda, FlashAttention's extension: importable, because TransformerEngine imports it, but
without functions. TransformerEngine calls this one only with NVTE_FUSED_ATTN_USE_FAv2_BWD=1."""


def varlen_bwd(*args, **kwargs):
    """Refused."""
    raise NotImplementedError(
        "flash_attn_2_cuda.varlen_bwd: rapt.flash_attn has no functions of FlashAttention's extension; "
        "flash_attn.flash_attn_interface._flash_attn_varlen_backward does the same"
    )
