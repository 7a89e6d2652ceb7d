"""Programs that call attention, each from its package, with small random weights: Rapt beside eager attention.

tools/real-programs installs the packages and runs everything. Without it, a sample of transformers runs.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).parent
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ALL = os.environ.get("RAPT_REAL_PROGRAMS") == "all"
SAMPLE = [] if ALL else ["Mistral, padding left", "BART, padding none", "Whisper", "Gemma3, generate with a static"]
OUT, GRADIENTS = 1e-5, 3e-5  # of the largest value; all is computed in fp32

FLASH = {  # programs that transformers does not run with FlashAttention, and what it says
    "gpt-oss": "`kernels` is either not installed",  # it has only a list of kernels to download
    "T5": "does not support Flash Attention",
    "GPT-2": "StopIteration",  # it looks for a Linear to find the model's type, and GPT-2 has none
}
REFUSED = {
    "sdpa": dict.fromkeys(("Gemma2", "gpt-oss"), "scaled_dot_product_attention yet"),
    "flash_attention_2": FLASH,
    "flash_attention_3": FLASH,
}
# transformers drops queries of cross attention whose place is padding among the keys.
WRONG_WITHOUT_RAPT = {("flash_attention_2", "BART, padding right"), ("flash_attention_3", "BART, padding right")}


def needs(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{' and '.join(missing)}: tools/real-programs installs it")


def run(script, *arguments):
    command = [sys.executable, "-W", "ignore", FOLDER / script, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert lines
    for line in lines:
        print(script, *arguments, line)
    return lines


def check(line, backward=True, least=2):
    assert "error" not in line, line
    if "same" in line:
        assert line["same"] and line["forward"] >= 8, line
    else:
        assert line["out"] <= OUT and line["gradients"] <= GRADIENTS, line
        assert line["forward"] >= least and line["backward"] == (line["forward"] if backward else 0), line


@pytest.mark.parametrize("entry", ["rapt", "sdpa", "flash_attention_2", "flash_attention_3"])
def test_transformers(entry):
    for line in run("run_transformers.py", entry, DEVICE, *SAMPLE):
        program = line["program"]
        refused = [says for name, says in REFUSED.get(entry, {}).items() if program.startswith(name)]
        if refused:
            assert refused[0] in line["error"], line
        elif (entry, program) in WRONG_WITHOUT_RAPT:
            assert line["out"] > 1e-3, f"transformers is right now: {line}"
        else:
            check(line)


@pytest.mark.skipif(not ALL, reason="tools/real-programs runs it")
@pytest.mark.parametrize("entry", ["flash_attention_2", "flash_attention_3"])
def test_continuous_batching_of_transformers(entry):
    for line in run("run_batching.py", entry, DEVICE):
        assert line["same"] and line["forward"] >= 8, line
        assert line["paged"] >= 8 or line["program"] == "Mistral", line  # transformers has no pages for windows


@needs("diffusers")
@pytest.mark.parametrize("entry", ["default", "native", "flash", "flash_varlen", "_flash_3"])
def test_diffusers(entry):
    for line in run("run_diffusers.py", entry, DEVICE):
        if line["program"].startswith("passes"):
            check(line, least=1)
        elif "flash" in entry and line["program"] not in (
            "Flux",
            "Wan",
        ):  # their processors call torch, whatever is set
            assert line["forward"] == 0, line
        else:
            check(line, backward=entry != "_flash_3")


@needs("timm", "torchvision")
def test_timm():
    for line in run("run_timm.py", DEVICE):
        check(line)


@needs("ring_flash_attn")
@pytest.mark.skipif("RAPT_RING_TESTS" not in os.environ, reason="tools/real-programs unpacks its tests")
def test_ring_flash_attention():
    """Its own tests; they are in bf16, with values up to 5, so that a difference of rounding is up to 1/64."""
    for line in run("run_ring.py", os.environ["RAPT_RING_TESTS"]):
        largest = line.pop("largest")
        assert line.pop("test") and not line, line
        assert len(largest) >= 5 and all(x <= (1e-4 if "lse" in n else 0.04) for n, x in largest.items()), largest
