"""Runs the tests of ring-flash-attention's source distribution with rapt.flash_attn and gloo, on two processes:
run_ring.py FOLDER [TEST...]. FOLDER is the unpacked source distribution.

Its tests print differences; here they must be small. Their names of a device and of NCCL are replaced.
"""

import json
import os
import pathlib
import sys
import types

import rapt.flash_attn
import torch
import torch.distributed as dist
import torch.multiprocessing
import transformers.modeling_flash_attention_utils as transformers_attention

TESTS = (
    "test_ring_flash_attn_func",
    "test_zigzag_ring_flash_attn_func",
    "test_stripe_flash_attn_func",
    "test_ring_flash_attn_varlen_func",
    "test_zigzag_ring_flash_attn_varlen_func",
    "test_llama3_flash_attn_varlen_func",
)


def process(rank, count, folder, test, store, results):
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_ADDR": "localhost"}
    rapt.flash_attn.install()
    torch.set_num_threads(1)
    # Its adapter for transformers 4 imports this name, which transformers 5 has elsewhere; the tests do not use it.
    transformers_attention.is_flash_attn_greater_or_equal_2_10 = None
    initialize = dist.init_process_group
    dist.init_process_group = lambda _: initialize(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=count
    )  # fmt: skip
    largest = {}
    sys.stdout = sys.stderr

    def log(message, tensor, rank0_only=False):
        if "diff" in message:
            largest[message] = max(largest.get(message, 0.0), tensor.float().abs().max().item())

    sys.modules["utils"] = types.SimpleNamespace(log=log, set_seed=lambda rank: torch.manual_seed(42 + rank))
    text = (pathlib.Path(folder) / "test" / f"{test}.py").read_text()
    text = text.replace('f"cuda:{rank}"', '"cpu"').replace('"cuda"', '"cpu"')
    module = types.ModuleType(test)
    exec(compile(text, test, "exec"), vars(module))
    module.main()
    results[rank] = largest


def run(folder, test, count=2):
    store = pathlib.Path(f"/tmp/{test}.{os.getpid()}")
    results = torch.multiprocessing.Manager().dict()
    try:
        torch.multiprocessing.spawn(process, (count, folder, test, store, results), nprocs=count)
    finally:
        store.unlink(missing_ok=True)
    return {name: max(r[name] for r in results.values()) for name in results[0]}


if __name__ == "__main__":
    for each in sys.argv[2:] or TESTS:
        print(json.dumps({"test": each, "largest": run(sys.argv[1], each)}), flush=True)
