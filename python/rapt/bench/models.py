"""python -m rapt.bench models: steps of whole models on random weights, by stock torch and with rapt.torch.enable()."""

import argparse
import itertools
import math
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

import rapt.torch
from rapt._files import json_of, path_to_write, write
from rapt.bench.arguments import add_device, at_least_one, check_device, device_here
from rapt.bench.layouts import status
from rapt.bench.measure import card, peak_bytes

STATES = ("stock", "enabled")
_STEPS_OF_A_TURN = 4
_WARM_UP_S = 2.0  # a process's first steps take up to 1.5 times as long


class Model(NamedTuple):
    what: str
    step: Callable[[], Tensor]
    """one step; a result by which the two states are compared"""


class Steps(NamedTuple):
    model: str
    what: str
    ms: dict[str, float]
    """of each state: the median of the steps"""
    turns: dict[str, list[float]]
    """of each state: the median of each turn, whose spread is the host's noise"""
    speedup: dict[str, float]
    """stock over enabled, turn by turn: the median of the ratios, and where it is with 95 % confidence"""
    peak_bytes: dict[str, int | None]
    """that a step adds at its peak"""
    difference: float
    """of the two states' results: the norm of the difference over the norm"""
    taken: dict[str, int]
    """calls of a step that Rapt took"""
    left: dict[str, int]
    """calls of a step that stayed with torch, with reasons"""
    cards: dict[str, dict[str, str]]


def llama(device: str, size: int) -> Model:
    """transformers: a training step, forward and backward, of a causal language model with grouped heads."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32 * size,
        hidden_size=2 * size,
        intermediate_size=4 * size,
        num_hidden_layers=8,
        num_attention_heads=size // 64,
        num_key_value_heads=size // 256,
        max_position_embeddings=4 * size,
    )
    model = LlamaForCausalLM._from_config(config, attn_implementation="sdpa").to(device, torch.bfloat16).train()
    tokens = torch.randint(0, config.vocab_size, (2, 4 * size), device=device)

    def step():
        model.zero_grad()
        loss = model(tokens, labels=tokens).loss
        loss.backward()
        return model.model.layers[0].self_attn.q_proj.weight.grad

    head_dim = config.hidden_size // config.num_attention_heads
    heads = f"{config.num_attention_heads}/{config.num_key_value_heads} heads"
    return Model(f"training, 8 layers, {heads}, d{head_dim}, 2 x {4 * size} tokens, bf16", step)


def flux(device: str, size: int) -> Model:
    """diffusers: a denoising step of a transformer that reads 4096 patches and 512 words."""
    from diffusers import FluxTransformer2DModel

    heads, patches, words = size // 64, 4 * size, size // 2
    model = FluxTransformer2DModel(
        num_layers=3,
        num_single_layers=6,
        num_attention_heads=heads,
        attention_head_dim=128,
        joint_attention_dim=1024,
        pooled_projection_dim=256,
    )
    model = model.to(device, torch.bfloat16).eval()
    numbers = {"device": device, "dtype": torch.bfloat16}
    arguments = {
        "hidden_states": torch.randn(1, patches, 64, **numbers),
        "encoder_hidden_states": torch.randn(1, words, 1024, **numbers),
        "pooled_projections": torch.randn(1, 256, **numbers),
        "timestep": torch.full((1,), 0.5, **numbers),
        "img_ids": torch.randint(0, 64, (patches, 3), device=device).to(torch.bfloat16),
        "txt_ids": torch.zeros(words, 3, **numbers),
    }

    @torch.no_grad()
    def step():
        return model(**arguments).sample

    return Model(f"inference, 9 layers, {heads} heads, d128, {patches} + {words} tokens, bf16", step)


def unet(device: str, size: int) -> Model:
    """diffusers: a denoising step of a U-Net with cross attention to 77 words, in fp16."""
    from diffusers import UNet2DConditionModel

    pixels, cross = size // 16, 768
    model = UNet2DConditionModel(sample_size=pixels, cross_attention_dim=cross, attention_head_dim=8)
    model = model.to(device, torch.float16).eval()
    numbers = {"device": device, "dtype": torch.float16}
    sample, words = torch.randn(2, 4, pixels, pixels, **numbers), torch.randn(2, 77, cross, **numbers)

    @torch.no_grad()
    def step():
        return model(sample, 500, words).sample

    return Model(f"inference, 2 x {pixels} x {pixels} latents, 77 words, fp16", step)


MODELS = {"llama": llama, "flux": flux, "unet": unet}


def measure(name: str, device: str, size: int, steps: int) -> Steps:
    """Stock and enabled turns of a few steps, each first as often as the other.

    The first steps of a turn do not count: torch looks for its kernels anew, and Rapt for its choices.
    """
    torch.manual_seed(1)
    model = MODELS[name](device, size)
    ready = time.perf_counter() + _WARM_UP_S
    while time.perf_counter() < ready:
        _timed(model.step, device)
    turns, peaks, results = {state: [] for state in STATES}, {}, {}
    cards = {"before": card(device)}
    for count in range(-(-steps // _STEPS_OF_A_TURN)):
        for state in STATES if count % 2 else reversed(STATES):
            if state == "enabled":
                rapt.torch.enable()
            try:
                peaks[state] = peak_bytes(model.step, device)
                if state == "enabled":
                    report = rapt.torch.report()  # of one step
                model.step()
                turns[state].append([])
                for _ in range(_STEPS_OF_A_TURN):
                    took, result = _timed(model.step, device)
                    turns[state][-1].append(took)
                results[state] = result.detach().float().clone()
            finally:
                rapt.torch.disable()
    cards["after"] = card(device)
    difference = ((results["enabled"] - results["stock"]).norm() / results["stock"].norm()).item()
    ms = {state: statistics.median(itertools.chain(*of)) for state, of in turns.items()}
    medians = {state: [statistics.median(times) for times in of] for state, of in turns.items()}
    ratios = [stock / enabled for stock, enabled in zip(*(medians[state] for state in STATES), strict=True)]
    return Steps(name, model.what, ms, medians, _median(ratios), peaks, difference, report.taken, report.refused, cards)


def _median(values):
    """The median and its 95 % interval, by ranks: how many values are below the median is a binomial distribution."""
    values, count = sorted(values), len(values)
    below = math.floor(count / 2 - 0.98 * math.sqrt(count))  # 0.98: 1.96 standard deviations of sqrt(count) / 2
    low, high = max(below, 0), min(count - 1 - below, count - 1)
    return {"median": statistics.median(values), "low": values[low], "high": values[high]}


def _timed(step, device):
    start = time.perf_counter()
    result = step()
    if device != "cpu":
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start), result


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m rapt.bench models", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"{', '.join(MODELS)}; default all")
    add_device(parser, device_here())
    parser.add_argument(
        "--steps",
        type=at_least_one,
        default=12,
        help=f"steps of each state, in turns of {_STEPS_OF_A_TURN} (default 12)",
    )
    parser.add_argument("--size", type=int, default=1024, help="width of the models; default 1024, a multiple of 256")
    parser.add_argument("--json", metavar="FILE", type=path_to_write, help="a JSON object per model")
    options = parser.parse_args(arguments)
    for name in options.models:
        if name not in MODELS:
            parser.error(f"there is no model {name!r}; the models are {', '.join(MODELS)}")
    check_device(parser, options.device)
    if options.size < 256 or options.size % 256:
        parser.error(f"--size is {options.size}; it must be a multiple of 256")
    print(status(options.device))
    found = []
    for name in options.models or MODELS:
        try:
            steps = measure(name, options.device, options.size, options.steps)
        except ImportError as error:
            print(f"{name}: not measured: {error}")
            continue
        found.append(steps)
        for line in _lines(steps):
            print(line, flush=True)
    if options.json:
        write(options.json, "".join(json_of(steps._asdict()) + "\n" for steps in found))
    return 0 if found and all(steps.difference < 5e-2 for steps in found) else 1


def _lines(steps):
    stock, enabled = (steps.ms[state] for state in STATES)
    peaks = (steps.peak_bytes[state] for state in STATES)
    memory = " / ".join("-" if peak is None else f"{peak / 2**20:.0f}" for peak in peaks)
    yield f"{steps.model}: {steps.what}"
    yield (
        f"  a step: {stock:.2f} ms by stock torch, {enabled:.2f} ms with Rapt; MiB {memory}; "
        f"results differ by {steps.difference:.1e}"
    )
    ratio = steps.speedup
    yield (
        f"  turn by turn, {ratio['median']:.3f} times as fast ({ratio['low']:.3f} to {ratio['high']:.3f} "
        f"with 95 % confidence, {len(steps.turns['stock'])} turns)"
    )
    spread = (f"{min(of):.2f} to {max(of):.2f}" for of in (steps.turns[state] for state in STATES))
    yield f"  turns of {_STEPS_OF_A_TURN} steps: {' ms, '.join(spread)} ms"
    yield f"  calls that Rapt took: {', '.join(f'{n} {x}' for x, n in steps.taken.items()) or 'none'}"
    yield from (f"  left to torch: {count} {reason}" for reason, count in steps.left.items())
