"""Compares one entry of transformers with attn_implementation="eager": run_transformers.py ENTRY DEVICE [PROGRAM...].

The entries: rapt, sdpa (with rapt.torch.enable), flash_attention_2 and flash_attention_3 (with rapt.flash_attn.install,
and on the CPU made to believe that there is a GPU). Prints a JSON object for each program.
"""

import copy
import sys

import rapt.flash_attn
import rapt.torch
import torch

ENTRY, DEVICE, *WANTED = sys.argv[1:]
if ENTRY.startswith("flash"):
    rapt.flash_attn.install()
    if DEVICE == "cpu":
        import transformers.utils.import_utils as found

        found.is_torch_cuda_available = lambda: True
        import transformers.utils

        transformers.utils.is_torch_cuda_available = found.is_torch_cuda_available

import transformers_programs  # noqa: E402

import common  # noqa: E402  after install()

if ENTRY == "rapt":
    import rapt.huggingface  # noqa: F401
if ENTRY == "sdpa":
    rapt.torch.enable()


def models(make, config):
    torch.manual_seed(0)
    eager = make._from_config(copy.deepcopy(config), attn_implementation="eager").to(DEVICE)
    ours = make._from_config(copy.deepcopy(config), attn_implementation=ENTRY).to(DEVICE)
    if ours.config._attn_implementation != ENTRY:
        raise NotImplementedError(f"transformers runs it by {ours.config._attn_implementation}")
    return eager, common.with_weights(ours, eager)


def compare(calls, name, make, config, inputs, kept):
    eager, ours = models(make, config)
    inputs = {key: x.to(DEVICE) for key, x in inputs.items()}
    kept = kept if kept is None else kept.to(DEVICE)
    expected = common.result_and_gradients(eager, inputs, kept)
    before = calls.forward, calls.backward
    out, gradients = common.differences(common.result_and_gradients(ours, inputs, kept), expected)
    taken = {"forward": calls.forward - before[0], "backward": calls.backward - before[1]}
    common.line(program=name, out=out, gradients=gradients, **taken)


def generate(calls, name, make, config, cache):
    eager, ours = models(make, config)
    inputs = transformers_programs.padded("left", torch.Generator().manual_seed(2))
    inputs = {key: x.to(DEVICE) for key, x in inputs.items()}
    options = {"max_new_tokens": 8, "do_sample": False, "eos_token_id": None, "cache_implementation": cache}
    before = calls.forward
    tokens = [model.generate(**inputs, **options, disable_compile=True) for model in (eager, ours)]
    taken = {"forward": calls.forward - before, "backward": 0}
    common.line(program=name, same=torch.equal(*tokens), **taken)


def compiled(calls, name, make, config):
    """As one graph; the inputs are without padding, about which transformers itself branches."""
    from transformers.modeling_flash_attention_utils import logger

    if hasattr(torch._dynamo.config, "ignore_logging_functions"):
        torch._dynamo.config.ignore_logging_functions.add(logger.warning_once)  # about fp32
    eager, ours = models(make, config)
    inputs = {
        "input_ids": transformers_programs.padded("none", torch.Generator().manual_seed(2))["input_ids"].to(DEVICE)
    }
    expected = common.result_and_gradients(eager, inputs | {"use_cache": False})
    before = calls.forward, calls.backward
    graph = torch.compile(ours, backend="aot_eager", fullgraph=True)
    out = graph(**inputs, use_cache=False).logits
    out.square().mean().backward()
    found = out.detach(), {n: p.grad for n, p in ours.named_parameters() if p.grad is not None}
    out, gradients = common.differences(found, expected)
    taken = {"forward": calls.forward - before[0], "backward": calls.backward - before[1]}
    common.line(program=name, out=out, gradients=gradients, **taken)


def main():
    calls = common.Calls()
    work = [(compare, name, *program) for name, program in transformers_programs.programs().items()]
    for name in transformers_programs.GENERATING:
        for cache in ("dynamic", "static"):
            label = f"{name}, generate with a {cache} cache"
            work.append((generate, label, *transformers_programs.TEXTS[name], cache))
    work += [(compiled, f"{name}, compiled", *transformers_programs.TEXTS[name]) for name in ("Llama", "Mistral")]
    for function, name, *arguments in work:
        if WANTED and not name.startswith(tuple(WANTED)):
            continue
        try:
            function(calls, name, *arguments)
        except Exception as error:  # every program has its line
            common.line(program=name, error=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")


if __name__ == "__main__":
    main()
