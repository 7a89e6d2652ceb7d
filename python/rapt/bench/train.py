"""python -m rapt.bench train: a small transformer, trained with each attention in a separate process."""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from rapt._files import json_of, path_to_write, write
from rapt.bench.arguments import add_device, at_least_one, check_device, device_here
from rapt.bench.measure import simulated_gpu
from rapt.torch import status

PRESETS = {  # two for GPUs and one for CPUs
    "mi300x": {"batch_size": 4, "seq_len": 4096, "d_model": 1024, "n_heads": 16, "n_layers": 8, "warmup_steps": 20,
               "timed_steps": 80, "dtype": "bfloat16"},
    "default": {"batch_size": 4, "seq_len": 2048, "d_model": 1024, "n_heads": 16, "n_layers": 6, "warmup_steps": 10,
                "timed_steps": 50, "dtype": "bfloat16"},
    "cpu": {"batch_size": 2, "seq_len": 1024, "d_model": 128, "n_heads": 2, "n_layers": 2, "warmup_steps": 2,
            "timed_steps": 10, "dtype": "float32"},
}  # fmt: skip
BACKENDS = ("math", "rapt", "flash", "efficient", "cudnn")
# The package flash_attn, which on AMD GPUs has two backends; on others both are its only one.
FLASH_ATTN = {"flash-attn-ck": "FALSE", "flash-attn-triton": "TRUE"}  # FLASH_ATTENTION_TRITON_AMD_ENABLE of the process

# The largest relative difference of Rapt's and math's losses at each step. Both start from the same weights and see the
# same text. Rounding differs, and training makes the difference grow.
TOLERANCES = {"float32": 1e-3, "bfloat16": 2e-2, "float16": 2e-2}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m rapt.bench train",
        description="Trains a small transformer on the bytes of files, once for each attention, each in a separate "
        "process: step time, throughput, peak memory, losses. Exit code 1: rapt failed, its losses are not math's, or "
        "nothing was measured.",
    )
    parser.add_argument("--preset", choices=PRESETS, help="default mi300x on a GPU, else cpu")
    for name in PRESETS["cpu"]:
        kind = {"choices": TOLERANCES} if name == "dtype" else {"type": int}
        parser.add_argument(f"--{name.replace('_', '-')}", help="instead of the preset's", **kind)
    names = f"{', '.join(BACKENDS)} (default all of them), and of the package flash_attn {', '.join(FLASH_ATTN)}"
    known = (*BACKENDS, *FLASH_ATTN)
    parser.add_argument("--backends", nargs="+", choices=known, default=BACKENDS, metavar="NAME", help=names)
    add_device(parser, device_here())
    parser.add_argument("--threads", type=at_least_one, help="CPU threads; default PyTorch's number")
    parser.add_argument("--data", nargs="+", metavar="FILE", help="text; default the source files of Python's library")
    parser.add_argument("--output-json", metavar="FILE", type=path_to_write)
    options = parser.parse_args(arguments)
    preset = options.preset or ("cpu" if options.device == "cpu" else "mi300x")
    config = {
        name: value if getattr(options, name) is None else getattr(options, name)
        for name, value in PRESETS[preset].items()
    }
    files = [str(Path(f).resolve()) for f in options.data or sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))]
    config |= {"preset": preset, "device": options.device, "threads": options.threads, "files": files}
    config |= {"variables": status.variables(), "warnings": status.warnings()}
    _check(parser, config)

    text_bytes = sum(Path(f).stat().st_size for f in files)
    print(f"{preset}: " + ", ".join(f"{n} {config[n]}" for n in PRESETS["cpu"]))
    print(f"device {config['device']}, text: {text_bytes} bytes of {len(files)} files, {files[0]} ... {files[-1]}")
    print(*status.lines(), "", sep="\n")
    results = {name: _isolated(name, config) for name in options.backends}
    comparison = compare(results, config["dtype"])
    for line in (*table(results), "", *describe(comparison)):
        print(line)
    if options.output_json:
        write(options.output_json, json_of({"config": config, "results": results, "summary": comparison}, indent=1))
    ours = results.get("rapt", {})
    nothing = all("error" in result for result in results.values())
    return 1 if nothing or "error" in ours or comparison.get("losses_agree") is False else 0


def compare(results: dict, dtype: str) -> dict:
    """Ratios of Rapt's speed and memory to each other backend's, and its losses compared with math's."""
    ours, found = results.get("rapt"), _triton_over_ck(results)
    if not ours or "error" in ours:
        return found
    for name, other in results.items():
        if name != "rapt" and "error" not in other:
            found[f"speedup_over_{name}"] = other["median_step_ms"] / ours["median_step_ms"]
            found[f"memory_ratio_to_{name}"] = ours["peak_memory_bytes"] / other["peak_memory_bytes"]
    if "error" not in results.get("math", {"error": ""}):
        differences = [abs(a - b) / abs(b) for a, b in zip(ours["losses"], results["math"]["losses"], strict=True)]
        found["loss_tolerance"] = TOLERANCES[dtype]
        found["largest_loss_difference"] = max(differences)
        found["losses_agree"] = all(d <= TOLERANCES[dtype] for d in differences)  # nan does not
    return found


def _triton_over_ck(results):
    """Ratios of flash_attn's two backends, if both were measured."""
    triton, ck = (results.get(name, {"error": ""}) for name in ("flash-attn-triton", "flash-attn-ck"))
    if "error" in triton or "error" in ck:
        return {}
    return {
        "triton_speedup_over_ck": ck["median_step_ms"] / triton["median_step_ms"],
        "triton_memory_ratio_to_ck": triton["peak_memory_bytes"] / ck["peak_memory_bytes"],
    }


def table(results: dict) -> list[str]:
    lines = [
        f"{'backend':<17} {'step ms':>10} {'steps/s':>9} {'tokens/s':>10} {'peak MiB':>9}  loss first -> last, what ran"
    ]
    for name, r in results.items():
        if "error" in r:
            lines.append(f"{name:<17} not measured: {r['error']}")
            continue
        lines.append(
            f"{name:<17} {r['median_step_ms']:>10.2f} {r['steps_per_s']:>9.2f} {r['tokens_per_s']:>10.0f} "
            f"{r['peak_memory_bytes'] / 2**20:>9.1f}  {r['losses'][0]:.4f} -> {r['losses'][-1]:.4f}, {r['ran']}"
        )
    return lines


def describe(comparison: dict) -> list[str]:
    lines = []
    if "triton_speedup_over_ck" in comparison:
        lines.append(
            f"flash-attn-triton over flash-attn-ck: {comparison['triton_speedup_over_ck']:.2f}x as fast, "
            f"{comparison['triton_memory_ratio_to_ck']:.2f} of its peak memory"
        )
    for name, value in comparison.items():
        if name.startswith("speedup_over_"):
            other = name.removeprefix("speedup_over_")
            memory = comparison[f"memory_ratio_to_{other}"]
            lines.append(f"rapt over {other}: {value:.2f}x as fast, {memory:.2f} of its peak memory")
    if "losses_agree" in comparison:
        lines.append(
            f"losses of rapt and math {'agree' if comparison['losses_agree'] else 'DIFFER'} at every step: at most "
            f"{comparison['largest_loss_difference']:.1e} relative, allowed {comparison['loss_tolerance']:.0e}"
        )
    return lines


def _check(parser, config):
    check_device(parser, config["device"])
    if simulated_gpu(config["device"]):
        parser.error("the GPU is simulated: training is timed in the host's seconds, which say nothing about a GPU")
    for name in PRESETS["cpu"]:
        if name != "dtype" and config[name] < 1:
            parser.error(f"--{name.replace('_', '-')} is {config[name]}; it must be at least 1")
    if config["d_model"] % config["n_heads"]:
        parser.error(f"--d-model is {config['d_model']}; it must be a multiple of --n-heads, {config['n_heads']}")
    for file in config["files"]:
        if not Path(file).is_file():
            parser.error(f"--data: {file} does not exist")


def _isolated(backend, config):
    """The process's result, or {"error": why it has none}."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, "-m", "rapt.bench.train_one", backend, json.dumps(config), str(result)]
        wish = {"FLASH_ATTENTION_TRITON_AMD_ENABLE": FLASH_ATTN[backend]} if backend in FLASH_ATTN else {}
        run = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, env=os.environ | wish)
        if run.returncode == 0:
            return json.loads(result.read_text())
        lines = run.stderr.strip().splitlines()
        return {"error": lines[-1] if lines else f"the process ended with {run.returncode}"}
