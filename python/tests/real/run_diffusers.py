"""Compares one entry of diffusers with its attention by torch's math: run_diffusers.py ENTRY DEVICE.

The entries: default (the processors that models begin with, with rapt.torch.enable), native, flash, _flash_3 and
flash_varlen (set_attention_backend; the last three with rapt.flash_attn.install). Prints a JSON object for each
program.
"""

import os
import sys
import types

import rapt.flash_attn
import rapt.torch
import torch

ENTRY, DEVICE = sys.argv[1:]
OF_TORCH = ENTRY in ("default", "native")
if not OF_TORCH:
    rapt.flash_attn.install()
os.environ["DIFFUSERS_ATTN_CHECKS"] = "0"  # its wish for 16 bits is not Rapt's

import diffusers  # noqa: E402
from diffusers.models import attention_dispatch  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402

import common  # noqa: E402  after install()

SMALL_UNET = {
    "sample_size": 16, "block_out_channels": (32, 64), "layers_per_block": 1, "norm_num_groups": 8,
    "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"), "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
    "cross_attention_dim": 24, "attention_head_dim": 4,
}  # fmt: skip
SMALL_DIT = {
    "num_attention_heads": 4, "attention_head_dim": 16, "in_channels": 4, "num_layers": 2, "sample_size": 16,
    "patch_size": 2, "norm_num_groups": 8, "num_embeds_ada_norm": 10,
}  # fmt: skip
SMALL_FLUX = {
    "patch_size": 1, "in_channels": 4, "num_layers": 1, "num_single_layers": 1, "attention_head_dim": 16,
    "num_attention_heads": 4, "joint_attention_dim": 24, "pooled_projection_dim": 24, "axes_dims_rope": (4, 4, 8),
}  # fmt: skip
SMALL_WAN = {
    "patch_size": (1, 2, 2), "num_attention_heads": 2, "attention_head_dim": 12, "in_channels": 4, "out_channels": 4,
    "text_dim": 16, "freq_dim": 32, "ffn_dim": 32, "num_layers": 2, "cross_attn_norm": True,
    "qk_norm": "rms_norm_across_heads", "rope_max_seq_len": 32,
}  # fmt: skip
SMALL_SD3 = {
    "sample_size": 16, "patch_size": 2, "in_channels": 4, "num_layers": 2, "attention_head_dim": 16,
    "num_attention_heads": 4, "joint_attention_dim": 24, "caption_projection_dim": 64, "pooled_projection_dim": 24,
    "out_channels": 4,
}  # fmt: skip


def programs():
    """name: (class, configuration, inputs)."""
    generator = torch.Generator().manual_seed(1)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    step, image = torch.tensor([3, 7]), normal(2, 4, 16, 16)
    return {
        "DiT": (
            diffusers.DiTTransformer2DModel,
            SMALL_DIT,
            {"hidden_states": image, "timestep": step, "class_labels": torch.tensor([1, 2])},
        ),
        "UNet": (
            diffusers.UNet2DConditionModel,
            SMALL_UNET,
            {"sample": image, "timestep": step, "encoder_hidden_states": normal(2, 7, 24)},
        ),
        "SD3": (
            diffusers.SD3Transformer2DModel,
            SMALL_SD3,
            {
                "hidden_states": image, "timestep": step, "encoder_hidden_states": normal(2, 7, 24),
                "pooled_projections": normal(2, 24),
            },
        ),
        "Flux": (
            diffusers.FluxTransformer2DModel,
            SMALL_FLUX,
            {
                "hidden_states": normal(2, 16, 4), "timestep": step / 10, "encoder_hidden_states": normal(2, 7, 24),
                "pooled_projections": normal(2, 24), "txt_ids": torch.zeros(7, 3),
                "img_ids": torch.cartesian_prod(torch.zeros(1), torch.arange(4.0), torch.arange(4.0)),
            },
        ),
        "Wan": (
            diffusers.WanTransformer3DModel,
            SMALL_WAN,
            {"hidden_states": normal(2, 4, 2, 16, 16), "timestep": step, "encoder_hidden_states": normal(2, 7, 16)},
        ),
        "VAE": (
            diffusers.AutoencoderKL,
            {"block_out_channels": (32,), "norm_num_groups": 8, "latent_channels": 4},
            {"sample": normal(2, 3, 16, 16)},
        ),
    }  # fmt: skip


def compare(calls, name, make, config, inputs):
    torch.manual_seed(0)
    model = make(**config).to(DEVICE)
    with torch.no_grad():
        for parameter in model.parameters():  # some begin as zeros, so that attention would change nothing
            parameter.add_(torch.randn_like(parameter), alpha=0.05)
    inputs = {key: x.to(DEVICE) for key, x in inputs.items()}
    of = common.result_and_gradients if ENTRY != "_flash_3" else common.result_only  # diffusers has no backward there
    with sdpa_kernel(SDPBackend.MATH), attention_dispatch.attention_backend("native"):
        expected = of(model, inputs)
    before = calls.forward, calls.backward
    if ENTRY != "default":
        model.set_attention_backend(ENTRY)
    if OF_TORCH:
        rapt.torch.enable()
    try:
        found = of(model, inputs)
    finally:
        rapt.torch.disable()
    out, gradients = common.differences(found, expected)
    taken = {"forward": calls.forward - before[0], "backward": calls.backward - before[1]}
    common.line(program=name, out=out, gradients=gradients, **taken)


class Context(types.SimpleNamespace):
    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors


def passes(calls):
    """The two passes of context parallelism, which call _wrapped_flash_attn_forward and ..._backward."""
    q, k, v, dout = (torch.randn(2, 12, 4, 16, device=DEVICE) for _ in range(4))
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    expected = scaled_dot_product_attention(*(x.transpose(1, 2) for x in leaves), is_causal=True).transpose(1, 2)
    expected.backward(dout)
    before, context = (calls.forward, calls.backward), Context()
    out, _ = attention_dispatch._flash_attention_forward_op(context, q, k, v, is_causal=True, return_lse=True)
    gradients = attention_dispatch._flash_attention_backward_op(context, dout)
    found = out, dict(enumerate(gradients))
    out, gradients = common.differences(found, (expected.detach(), {i: x.grad for i, x in enumerate(leaves)}))
    taken = {"forward": calls.forward - before[0], "backward": calls.backward - before[1]}
    common.line(program="passes of context parallelism", out=out, gradients=gradients, **taken)


def main():
    calls = common.Calls()
    if ENTRY == "_flash_3" and DEVICE == "cpu":  # diffusers registers its operator for GPUs only
        operator = attention_dispatch._wrapped_flash_attn_3
        operator.register_kernel("cpu")(operator._init_fn)
    for name, program in programs().items():
        try:
            compare(calls, name, *program)
        except Exception as error:  # every program has its line
            common.line(program=name, error=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
    if ENTRY == "flash":
        passes(calls)


if __name__ == "__main__":
    main()
