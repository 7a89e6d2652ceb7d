"""Continuous batching of transformers, with its cache of pages, beside eager generate(): run_batching.py ENTRY DEVICE.

The entries: flash_attention_2, flash_attention_3, with rapt.flash_attn.install(). On the CPU, transformers is made to
believe that there is a GPU where it chooses its ways, but not where it allocates.
"""

import copy
import sys
import types

import rapt.flash_attn
import torch

ENTRY, DEVICE = sys.argv[1:]
rapt.flash_attn.install()
if DEVICE == "cpu":
    import transformers.utils.import_utils as found

    found.is_torch_cuda_available = lambda: True
    import transformers.utils

    transformers.utils.is_torch_cuda_available = found.is_torch_cuda_available

from transformers import ContinuousBatchingConfig, GenerationConfig  # noqa: E402
from transformers.generation.continuous_batching import initialization, input_outputs  # noqa: E402
from transformers_programs import TEXTS  # noqa: E402

import common  # noqa: E402  after install()

PROMPTS = [[3, 4, 5, 6, 7, 8, 9], [10, 11, 12], [20] * 15]


class TorchWithGpu(types.ModuleType):
    cuda = types.SimpleNamespace(is_available=lambda: True)

    def __getattr__(self, name):
        return getattr(torch, name)


def main():
    if DEVICE == "cpu":
        initialization.torch = TorchWithGpu("torch")
        input_outputs.get_available_devices = lambda: frozenset(["cpu"])
    calls = common.Calls()
    for name in ("Llama", "Mistral"):
        make, config = TEXTS[name]
        torch.manual_seed(0)
        eager = make._from_config(copy.deepcopy(config), attn_implementation="eager").to(DEVICE).eval()
        ours = make._from_config(copy.deepcopy(config), attn_implementation=ENTRY).to(DEVICE).eval()
        common.with_weights(ours, eager)
        before = calls.forward, calls.paged
        results = ours.generate_batch(
            inputs=PROMPTS,
            generation_config=GenerationConfig(max_new_tokens=8, do_sample=False, eos_token_id=None, pad_token_id=0),
            continuous_batching_config=ContinuousBatchingConfig(
                max_blocks_per_request=4, num_blocks=32, max_batch_tokens=64, auto_switch_to_flash=False
            ),
        )
        same = all(result.generated_tokens == generated(eager, result.prompt_ids) for result in results.values())
        taken = {"forward": calls.forward - before[0], "paged": calls.paged - before[1]}
        common.line(program=name, same=same and len(results) == len(PROMPTS), **taken)


def generated(model, prompt):
    tokens = torch.tensor([prompt], device=DEVICE)
    return model.generate(tokens, max_new_tokens=8, do_sample=False, eos_token_id=None)[0, len(prompt) :].tolist()


if __name__ == "__main__":
    main()
