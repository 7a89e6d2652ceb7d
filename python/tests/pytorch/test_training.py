"""A model trains with its attention on simulated GPUs; no ROCm build of PyTorch is needed, or has run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOLERANCE = 1e-4  # of a loss: both round q, k, v and the results to fp16, but sum in another order

pytestmark = pytest.mark.skipif("RAPT_HIP_LIBRARY" not in os.environ, reason="RAPT_HIP_LIBRARY names no HIP")


@pytest.mark.parametrize("arch", ["gfx942", "gfx1151"])
def test_losses_are_those_of_math(arch):
    script = Path(__file__).with_name("train_on_gpu.py")
    run = subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | {"RAPT_SIM_ARCH": arch},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    losses = json.loads(run.stdout)
    assert len(losses["gpu"]) == 20
    assert min(losses["math"]) < 0.9 * losses["math"][0], "the model learns"  # each step has other text
    for ours, exact in zip(losses["gpu"], losses["math"], strict=True):
        assert abs(ours - exact) <= TOLERANCE * exact
