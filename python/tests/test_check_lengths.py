"""RAPT_CHECK=lengths: lengths, pages and rows of caches in device memory, which calls do not read otherwise."""

import os

import pytest
import rapt
import torch
from placed import fetch, place

pytestmark = pytest.mark.skipif("RAPT_HIP_LIBRARY" not in os.environ, reason="RAPT_HIP_LIBRARY names no HIP")

PAGES = {"block_table": [[1, 0, 2], [4, 3, 5]], "seqused_k": [40, 48]}
ROWS = {"cache_batch_idx": [2, 0], "leftpad_k": [3, 0], "seqused_k": [16, 9]}
PACKED = {"cu_seqlens_q": [0, 5, 9], "cu_seqlens_k": [0, 7, 16]}


def call(options):
    torch.manual_seed(1)
    placed = {name: place(torch.tensor(numbers, dtype=torch.int32), "hip") for name, numbers in options.items()}
    if "cu_seqlens_q" in options:
        shapes = (9, 2, 64), (16, 1, 64)
        placed |= {"max_seqlen_q": 5, "max_seqlen_k": 9}
    else:
        shapes = (2, 2, 2, 64), (6, 16, 1, 64)
    q, k, v = (torch.randn(shapes[i], dtype=torch.float16) for i in (0, 1, 1))
    out = place(torch.full_like(q, 7), "hip")
    try:
        rapt.attention(*(place(x, "hip") for x in (q, k, v)), out=out, causal=True, **placed)
    except ValueError:
        assert (fetch(out) == 7).all()
        raise
    return fetch(out)


@pytest.mark.parametrize("options", [PAGES, ROWS, PACKED])
def test_right_lengths_change_nothing(options, monkeypatch):
    before = call(options)
    monkeypatch.setenv("RAPT_CHECK", "lengths")
    assert torch.equal(call(options), before)


@pytest.mark.parametrize(
    "options, error",
    [
        (PAGES | {"seqused_k": [40, 49]}, r"kv_cache.seqused_k\[1\] is 49, with 0 new keys must be in 0 to 48"),
        (PAGES | {"seqused_k": [-1, 9]}, r"kv_cache.seqused_k\[0\] is -1"),
        (PAGES | {"block_table": [[1, 0, 2], [4, 6, 5]]}, r"kv_cache.block_table\[1\]\[1\] is 6, must be in 0 to 5"),
        (PAGES | {"block_table": [[1, -1, 2], [4, 3, 5]]}, r"kv_cache.block_table\[0\]\[1\] is -1"),
        (ROWS | {"cache_batch_idx": [2, 6]}, r"kv_cache.cache_batch_idx\[1\] is 6, must be in 0 to 5"),
        (ROWS | {"cache_batch_idx": [-1, 0]}, r"kv_cache.cache_batch_idx\[0\] is -1, must be in 0 to 5"),
        (ROWS | {"leftpad_k": [17, 0]}, r"kv_cache.leftpad_k\[0\] is 17, must be in 0 to 16"),
        (ROWS | {"leftpad_k": [0, -1]}, r"kv_cache.leftpad_k\[1\] is -1, must be in 0 to 9"),
        (PACKED | {"cu_seqlens_q": [1, 5, 9]}, r"varlen.cu_seqlens_q\[0\] is 1, must be 0"),
        (PACKED | {"cu_seqlens_q": [0, 5, 4]}, r"varlen.cu_seqlens_q\[2\] is 4, must not be less than the 5 before"),
        (PACKED | {"cu_seqlens_q": [0, 5, 10]}, r"varlen.cu_seqlens_q ends at 10, beyond the tensor's 9 rows"),
        (PACKED | {"cu_seqlens_k": [0, 4, 16]}, r"varlen.max_seqlen_k is 9, must be at least the longest sequence, 12"),
    ],
)
def test_wrong_lengths_are_named(options, error, monkeypatch):
    call(options)  # kernels clamp them
    monkeypatch.setenv("RAPT_CHECK", "lengths")
    with pytest.raises(ValueError, match=error):
        call(options)


def test_pages_behind_a_sequence_are_not_read(monkeypatch):
    monkeypatch.setenv("RAPT_CHECK", "lengths")
    call(PAGES | {"block_table": [[1, 0, 99], [4, 3, 5]], "seqused_k": [32, 48]})


def test_a_misspelt_wish(monkeypatch):
    monkeypatch.setenv("RAPT_CHECK", "length")
    with pytest.raises(ValueError, match="RAPT_CHECK is 'length', must be lengths"):
        call(PAGES)
