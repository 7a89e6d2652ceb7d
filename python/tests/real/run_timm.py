"""Compares timm's fused attention, with rapt.torch.enable(), with its unfused: run_timm.py DEVICE."""

import sys

import rapt.torch
import timm
import timm.layers
import torch

import common

DEVICE = sys.argv[1]
SMALL = {"num_classes": 5, "img_size": 64}
PROGRAMS = {  # name: changes that make it small
    "vit_tiny_patch16_224": {"depth": 2},
    "deit3_small_patch16_224": {"depth": 2},
    "eva02_tiny_patch14_224": {"depth": 2, "img_size": 56},
    "beit_base_patch16_224": {"depth": 2, "embed_dim": 96, "num_heads": 4},
    "swin_tiny_patch4_window7_224": {"depths": (2, 2), "embed_dim": 32, "num_heads": (2, 4), "window_size": 4},
    "vit_relpos_small_patch16_224": {"depth": 2},
    "cait_xxs24_224": {"depth": 2},
    "maxvit_rmlp_pico_rw_256": {},
    "xcit_nano_12_p16_224": {"depth": 2},
    "nest_tiny": {},
    "vit_base_patch16_siglip_224": {"depth": 2},
}


def build(name, changes, fused):
    timm.layers.set_fused_attn(fused, experimental=fused)
    torch.manual_seed(0)
    options = SMALL | changes
    model = timm.create_model(name, **options).to(DEVICE).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # some begin as zeros, so that attention would change nothing
            parameter.add_(torch.randn_like(parameter), alpha=0.05)
    return model


def main():
    calls = common.Calls()
    rapt.torch.enable()
    inputs = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1)).to(DEVICE)
    for name, changes in PROGRAMS.items():
        try:
            plain = build(name, changes, False)
            size = changes.get("img_size", 64)
            images = torch.nn.functional.interpolate(inputs, size) if size != 64 else inputs
            expected = common.result_and_gradients(plain, {"x": images})
            unfused = calls.forward
            fused = common.with_weights(build(name, changes, True), plain)
            out, gradients = common.differences(common.result_and_gradients(fused, {"x": images}), expected)
            taken = {"forward": calls.forward - unfused, "backward": calls.backward}
            common.line(program=name, out=out, gradients=gradients, **taken)
        except Exception as error:
            common.line(program=name, error=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
        calls.forward = calls.backward = 0


if __name__ == "__main__":
    main()
