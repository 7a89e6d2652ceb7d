"""torch.utils.flop_counter counts Rapt's operators as it counts torch's fused attention."""

import pytest
import rapt.torch
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

BATCH, HEADS, ROWS, KEYS, COLUMNS, COLUMNS_V = 2, 4, 10, 12, 16, 32
PAIRS = BATCH * HEADS * ROWS * KEYS
FORWARD, BACKWARD = 2 * PAIRS * (COLUMNS + COLUMNS_V), 2 * PAIRS * (3 * COLUMNS + 2 * COLUMNS_V)


def counted(call):
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def tensors(heads_first):
    shapes = ((HEADS, ROWS, COLUMNS), (HEADS // 2, KEYS, COLUMNS), (HEADS // 2, KEYS, COLUMNS_V))
    made = [torch.randn(BATCH, *shape) for shape in shapes]
    return [(x if heads_first else x.transpose(1, 2)).requires_grad_() for x in made]


@pytest.mark.parametrize("heads_first", [True, False])
def test_both_passes(heads_first):
    q, k, v = tensors(heads_first)
    call = rapt.torch.sdpa if heads_first else rapt.torch.attention
    options = {"enable_gqa": True} if heads_first else {}
    assert counted(lambda: call(q, k, v, **options)) == FORWARD
    assert counted(lambda: call(q, k, v, **options).sum().backward()) == FORWARD + BACKWARD


def test_packed_sequences_by_their_lengths():
    q, k, v = (torch.randn(9, HEADS, COLUMNS) for _ in range(3))
    cu_seqlens = torch.tensor([0, 2, 9], dtype=torch.int32)
    options = {"cu_seqlens_q": cu_seqlens, "cu_seqlens_k": cu_seqlens}
    expected = 2 * HEADS * (2 * 2 + 7 * 7) * 2 * COLUMNS
    assert counted(lambda: rapt.torch.attention(q, k, v, **options)) == expected


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="this torch does not give its kernels out")
def test_math_that_is_taken_over():
    q, k, v = tensors(True)  # of different head_dims: torch chooses math
    with rapt.torch.enabled(always=True):
        assert counted(lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)) == FORWARD
