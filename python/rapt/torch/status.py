"""What torch's attention finds here: backends that run, variables that matter, and the AOTriton that is loaded."""

import mmap
import os
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

# Variables that change which attention runs, and whether it is timed fairly.
_CHOICE = (
    "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL",
    "TORCH_ROCM_AOTRITON_PREFER_DEFAULT",
    "TORCH_ROCM_FA_PREFER_CK",
    "FLASH_ATTENTION_TRITON_AMD_ENABLE",
    "PYTORCH_ROCM_ARCH",
    "HSA_OVERRIDE_GFX_VERSION",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "RAPT_KERNEL_PATH",
    "RAPT_TUNING",
)
_SLOW = {
    "AMD_SERIALIZE_KERNEL": "kernels wait for each other",
    "HIP_LAUNCH_BLOCKING": "each launch waits for its kernel",
    "CUDA_LAUNCH_BLOCKING": "each launch waits for its kernel",
    "RAPT_CHECK": "calls with lengths in device memory wait for them",
}


def variables() -> dict[str, str]:
    """The variables that are set."""
    return {name: os.environ[name] for name in (*_CHOICE, *_SLOW) if name in os.environ}


def warnings() -> list[str]:
    """Why times that are measured here mislead."""
    return [
        f"{name} is {os.environ[name]}: {what}, so times on a GPU are too long"
        for name, what in _SLOW.items()
        if os.environ.get(name, "0") not in ("", "0")
    ]


def lines() -> list[str]:
    """The status as text, for a box or a list."""
    found = [f"{name}: {value}" for name, value in variables().items()] + [f"warning: {text}" for text in warnings()]
    if torch.version.hip:
        found.append(f"libaotriton_v2: {aotriton()}")
        found += _ck()
    return found


def aotriton() -> str:
    """Which libaotriton_v2 the process has loaded, and whose it is."""
    for path in _loaded("libaotriton_v2.so"):
        return f"{path}, {'by Rapt' if _is_rapts(path) else 'not by Rapt'}"
    folder = Path(torch.__file__).parent / "lib"
    for path in sorted(folder.glob("libaotriton_v2.so*")):
        if not path.name.endswith(".before-rapt"):
            return f"{path}, {'by Rapt' if _is_rapts(path) else 'not by Rapt'}, not loaded yet"
    return "none: this build of torch has AOTriton inside, or none"


def backends(device: str) -> list[str]:
    """A line for each of torch's backends: a small forced call runs, or why not."""
    dtype = torch.float32 if device == "cpu" else torch.float16
    q, k, v = (torch.randn(1, 2, 64, 64, device=device, dtype=dtype, requires_grad=True) for _ in range(3))
    found = []
    if device != "cpu":
        found.append(f"can_use_flash_attention: {_can_use_flash(q, k, v)}")
    for name in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH"):
        try:
            with sdpa_kernel(getattr(SDPBackend, name)):
                scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
        except RuntimeError as error:
            found.append(f"forced {name}: {str(error).strip().splitlines()[0]}")
        else:
            found.append(f"forced {name}: OK")
    return found


def _can_use_flash(q, k, v):
    try:
        return torch.backends.cuda.can_use_flash_attention(
            torch.backends.cuda.SDPAParams(q, k, v, None, 0.0, True, False)
        )
    except (AttributeError, TypeError) as error:  # another torch has another signature
        return f"not known: {error}"


def _ck():
    """What a wish for Composable Kernel does."""
    if not hasattr(torch.backends.cuda, "preferred_rocm_fa_library"):
        return []
    name = str(torch.backends.cuda.preferred_rocm_fa_library())
    found = [f"preferred_rocm_fa_library: {name}"]
    if os.environ.get("TORCH_ROCM_FA_PREFER_CK", "0") not in ("", "0") or name.lower().endswith("ck"):
        found.append(
            "Composable Kernel: torch asks it only on GPUs that its build has kernels for (gfx90a, gfx942, gfx950); "
            "rapt.torch.enable() takes the call before either"
        )
    return found


def _loaded(name):
    try:
        text = Path("/proc/self/maps").read_text()
    except OSError:
        return []
    return list(dict.fromkeys(Path(line.split(maxsplit=5)[-1]) for line in text.splitlines() if f"/{name}" in line))


def _is_rapts(path):
    # Only Rapt's library reads this variable.
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(b"RAPT_KERNEL_PATH") >= 0
