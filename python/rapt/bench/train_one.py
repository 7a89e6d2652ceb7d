"""One backend's training, in the process that python -m rapt.bench train starts for it."""

import contextlib
import importlib
import importlib.util
import json
import statistics
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

import rapt.torch
from rapt._files import write
from rapt.bench.measure import resident_bytes

_TORCH = {
    "math": SDPBackend.MATH,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


_flash_attn_func = None  # of the package flash_attn, where that is the backend


def _causal(q, k, v):
    """[batch, heads, seqlen, head_dim] of each."""
    if _flash_attn_func is None:
        # by its module: in an old torch, Rapt replaces it there
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return _flash_attn_func(*(x.transpose(1, 2) for x in (q, k, v)), causal=True).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x):
        q, k, v = self.qkv(self.norm_1(x)).unflatten(-1, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
        attended = _causal(q, k, v)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm_2(x))


class Transformer(nn.Module):
    """Bytes in, logits of the next byte out."""

    def __init__(self, d_model, n_heads, n_layers, seq_len):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(256, d_model), nn.Embedding(seq_len, d_model)
        self.blocks = nn.Sequential(*(Block(d_model, n_heads) for _ in range(n_layers)))
        self.norm, self.head = nn.LayerNorm(d_model), nn.Linear(d_model, 256)

    def forward(self, x):
        positions = torch.arange(x.shape[1], device=x.device)
        return self.head(self.norm(self.blocks(self.tokens(x) + self.positions(positions))))


def train(backend: str, config: dict) -> dict:
    device = config["device"]
    if config["threads"]:
        torch.set_num_threads(config["threads"])
    torch.manual_seed(0)
    model = Transformer(config["d_model"], config["n_heads"], config["n_layers"], config["seq_len"]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    text = torch.frombuffer(bytearray(b"".join(Path(f).read_bytes() for f in config["files"])), dtype=torch.uint8)
    if len(text) <= config["seq_len"] + 1:
        raise ValueError(f"the text has {len(text)} bytes; --seq-len {config['seq_len']} needs more")
    generator = torch.Generator().manual_seed(1)
    losses, times = [], []
    before = _memory_before(device)

    def step():
        starts = torch.randint(len(text) - config["seq_len"] - 1, (config["batch_size"],), generator=generator)
        rows = torch.stack([text[s : s + config["seq_len"] + 1] for s in starts.tolist()]).to(device).long()
        start = time.perf_counter()
        with torch.autocast(device, getattr(torch, config["dtype"]), enabled=config["dtype"] != "float32"):
            logits = model(rows[:, :-1])
        loss = functional.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())  # waits for the device
        times.append(1e3 * (time.perf_counter() - start))

    steps = config["warmup_steps"] + config["timed_steps"]
    with _attention(backend) as ran:
        for _ in range(steps):
            step()
        proof = ran(config["n_layers"] * steps, step)
    peak = _peak_memory(device) - before
    ms = statistics.median(times[config["warmup_steps"] : steps])
    return {
        "median_step_ms": ms,
        "steps_per_s": 1e3 / ms,
        "tokens_per_s": 1e3 / ms * config["batch_size"] * config["seq_len"],
        "peak_memory_bytes": peak,
        "losses": losses[:steps],
        "step_ms": times[:steps],
        "ran": proof,
    }


@contextlib.contextmanager
def _attention(backend):
    """Makes this backend compute scaled_dot_product_attention.

    Gives a function that proves it, of the number of calls so far and a function that makes one more step.
    """
    if backend.startswith("flash-attn-"):
        yield _use_flash_attn()
    elif backend == "rapt":
        with rapt.torch.enabled(always=True), sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
            yield lambda calls, step: _rapt_took(calls)
    else:
        with sdpa_kernel([_TORCH[backend]]):
            yield lambda calls, step: _operator_seen(backend, step)


def _use_flash_attn():
    """A function that names what flash_attn computes with; it chose when it was imported."""
    global _flash_attn_func
    if importlib.util.find_spec("flash_attn") is None:
        raise RuntimeError("the package flash_attn is not installed (pip install flash-attn, or the ROCm fork of it)")
    interface = importlib.import_module("flash_attn.flash_attn_interface")
    _flash_attn_func = interface.flash_attn_func
    symbol = getattr(getattr(interface, "flash_attn_gpu", None), "__name__", "of an unknown backend")
    return lambda calls, step: f"{interface.flash_attn_func.__module__} by {symbol}, {calls} calls"


def _rapt_took(calls):
    report = rapt.torch.report()
    if report.taken != {"forward": calls, "backward": calls} or report.refused:
        raise RuntimeError(f"rapt did not run all {calls} calls: {report}".replace("\n", "; "))
    return f"rapt took {calls} forward and {calls} backward calls, left none to torch"


def _operator_seen(backend, step):
    """The operator's name in PyTorch's profile of one more step."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        step()
    names = {event.key for event in profile.key_averages()}
    seen = sorted(n for n in names if n.startswith("aten::_scaled_dot_product") and f"_{backend}" in n)
    if not seen:
        raise RuntimeError(f"{backend} did not run: {sorted(n for n in names if 'scaled_dot_product' in n)}")
    return ", ".join(seen)


def _memory_before(device):
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
        return 0
    return resident_bytes("VmRSS")


def _peak_memory(device):
    return torch.cuda.max_memory_allocated() if device != "cpu" else resident_bytes("VmHWM")


if __name__ == "__main__":
    write(sys.argv[3], json.dumps(train(sys.argv[1], json.loads(sys.argv[2]))))
