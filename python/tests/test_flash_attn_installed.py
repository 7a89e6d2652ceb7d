"""rapt.flash_attn.install(): code that nobody changed runs on it, in a separate process."""

import subprocess
import sys

import pytest
import transformers


def test_install_makes_unchanged_code_find_it():
    code = """
import importlib.metadata, importlib.util, sys
import rapt.flash_attn
rapt.flash_attn.install()
spec = importlib.util.find_spec("flash_attn")
import flash_attn
from flash_attn import flash_attn_func, flash_attn_interface
assert flash_attn_interface is sys.modules["flash_attn.flash_attn_interface"]
from flash_attn.bert_padding import pad_input, unpad_input
from flash_attn.flash_attn_interface import flash_attn_varlen_func
from flash_attn.layers.rotary import apply_rotary_emb
assert flash_attn_func is rapt.flash_attn.flash_attn_func and spec is not None
assert flash_attn.__spec__.name == flash_attn.__name__ == "flash_attn"
assert importlib.metadata.version("flash_attn") == importlib.metadata.version("flash-attn") == flash_attn.__version__
assert importlib.metadata.version("Flash.Attn") == flash_attn.__version__
assert importlib.metadata.packages_distributions()["flash_attn"] == ["flash-attn"]
assert not list(importlib.metadata.distributions(path=["/no/such/folder"]))
try:
    import flash_attn.cute
except ModuleNotFoundError as error:
    assert error.name == "flash_attn.cute"
else:
    raise AssertionError("flash_attn.cute")
from transformers.utils import is_flash_attn_greater_or_equal
assert is_flash_attn_greater_or_equal("2.6.3")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(not transformers.utils.is_torch_available(), reason="this transformers wants a newer torch")
def test_transformers_runs_on_it_unchanged():
    """transformers' flash_attention_2, made to believe that there is a GPU: padding, gradients, generate()."""
    code = """
import copy
import rapt.flash_attn
rapt.flash_attn.install()
import transformers.utils.import_utils as found
found.is_torch_cuda_available = lambda: True
import transformers.utils
transformers.utils.is_torch_cuda_available = found.is_torch_cuda_available
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.modeling_flash_attention_utils import lazy_import_flash_attention

functions, _ = lazy_import_flash_attention("flash_attention_2")
assert functions[1] is rapt.flash_attn.flash_attn_varlen_func
sizes = dict(vocab_size=97, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4)
config = LlamaConfig(**sizes, num_key_value_heads=2, pad_token_id=0)
torch.manual_seed(0)
eager, ours = (
    LlamaForCausalLM._from_config(copy.deepcopy(config), attn_implementation=name, dtype=torch.bfloat16)
    for name in ("eager", "flash_attention_2")
)
ours.load_state_dict(eager.state_dict())
kept = (torch.arange(12)[None] < torch.tensor([12, 7])[:, None]).flip(1)
inputs = {"input_ids": torch.randint(1, 97, (2, 12)) * kept, "attention_mask": kept.long()}
logits = [model(**inputs).logits[kept] for model in (eager, ours)]
assert logits[0].abs().max() > 0.3
torch.testing.assert_close(logits[1], logits[0], atol=0.01, rtol=0.01)
for x in logits:
    x.float().logsumexp(-1).sum().backward()
for (name, a), b in zip(eager.named_parameters(), ours.parameters(), strict=True):
    torch.testing.assert_close(b.grad, a.grad, atol=0.02 * float(a.grad.abs().max()), rtol=0, msg=name)
options = dict(max_new_tokens=5, do_sample=False, eos_token_id=None)
assert torch.equal(*(model.generate(**inputs, **options) for model in (eager, ours)))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_proof_of_one_screen():
    result = subprocess.run([sys.executable, "-m", "rapt.flash_attn"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 8 and lines[1].startswith("device ") and lines[2].startswith("forward       cpu, ")
    assert [line.split()[1] for line in lines[4:]] == ["ok,"] * 4
