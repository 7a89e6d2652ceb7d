"""A torch that is too old, and one whose operators have other arguments than Rapt's kernels."""

from types import SimpleNamespace

import pytest
import rapt.torch
import torch
from rapt.torch import _version, cudnn_gpu, efficient_gpu, flash_cpu, flash_gpu, math_attention, schemas
from torch.nn.functional import scaled_dot_product_attention


@pytest.mark.parametrize("version", ["2.4.1+rocm6.1", "1.13.0", "2.0.0a0+git1234"])
def test_a_torch_that_is_too_old(version):
    with pytest.raises(ImportError, match=f"needs PyTorch 2.5 or newer, this is {version.split('+')[0]}"):
        _version.check(version)


@pytest.mark.parametrize("version", ["2.5.1", "2.13.0+rocm7.2", "3.0.0"])
def test_a_torch_that_is_new_enough(version):
    _version.check(version)


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="this torch has its function replaced")
@pytest.mark.parametrize("module", [flash_cpu, flash_gpu, efficient_gpu, cudnn_gpu, math_attention])
def test_this_torch_is_known(module, recwarn):
    assert schemas.known(module) and not recwarn.list


def kernel_of_another_torch(original, counts):
    return lambda keys, query, key, value, dropout_p=0.0, is_causal=False, *, scale=None: None


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="this torch has its function replaced")
def test_operators_of_an_unknown_torch_stay_with_torch(monkeypatch):
    strange = SimpleNamespace(**vars(flash_cpu) | {"forward": kernel_of_another_torch})
    monkeypatch.setattr(rapt.torch.takeover, "flash_cpu", strange)
    monkeypatch.setattr(schemas, "known", schemas.known.__wrapped__)
    q = torch.randn(1, 2, 8, 16)
    expected = scaled_dot_product_attention(q, q, q)
    with pytest.warns(UserWarning, match="flash_attention_for_cpu stay with torch .*: the operator has an argument"):
        rapt.torch.enable()
    try:
        assert torch.equal(scaled_dot_product_attention(q, q, q), expected)
        assert not any(rapt.torch.report().taken.values())
    finally:
        rapt.torch.disable()
    short = lambda original, counts: lambda keys, query: None  # noqa: E731
    assert "has 5 positional arguments, Rapt knows 1" in schemas.difference(flash_cpu.FORWARD, short(None, None))
    assert schemas.difference("aten::_no_such_operator", short(None, None)) == "it has no such operator"
