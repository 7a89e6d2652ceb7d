import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # reference.py


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    import torch

    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA device")
    return request.param
