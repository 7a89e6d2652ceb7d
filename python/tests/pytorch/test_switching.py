"""rapt.torch.enable(), disable() and enabled(): when Rapt is on."""

import threading

import pytest
import rapt.torch
import torch
from torch.nn.functional import scaled_dot_product_attention


@pytest.fixture(autouse=True)
def off_afterwards():
    yield
    rapt.torch.disable()
    assert not rapt.torch.report().enabled and torch.backends.mha.get_fastpath_enabled()


FAST_PATH = hasattr(torch.library, "get_kernel")  # of nn.MultiheadAttention: it stays on where its kernel is replaced


def attend():
    """How many calls Rapt has taken, after another."""
    q, k, v = torch.ones(3, 1, 2, 4, 8)
    torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return rapt.torch.report().taken.get("forward", 0)


def test_enable_and_disable():
    rapt.torch.enable()
    rapt.torch.enable()
    assert rapt.torch.report().enabled and torch.backends.mha.get_fastpath_enabled() == FAST_PATH
    assert attend() == 1
    rapt.torch.disable()
    assert not rapt.torch.report().enabled and torch.backends.mha.get_fastpath_enabled()
    assert attend() == 1
    rapt.torch.disable()


def test_blocks_nest_and_end_by_exceptions():
    with pytest.raises(KeyError), rapt.torch.enabled():
        with pytest.raises(ZeroDivisionError), rapt.torch.enabled():
            raise ZeroDivisionError
        assert attend() == 1
        raise KeyError
    assert not rapt.torch.report().enabled
    rapt.torch.enable()
    with rapt.torch.enabled():
        pass
    assert rapt.torch.report().enabled
    with rapt.torch.enabled():
        rapt.torch.disable()
        assert rapt.torch.report().enabled  # the block is still active
    assert not rapt.torch.report().enabled


@pytest.fixture
def old_torch(monkeypatch):
    monkeypatch.delattr(torch.library, "get_kernel", raising=False)
    before = torch.nn.functional.scaled_dot_product_attention
    yield
    rapt.torch.disable()
    assert torch.nn.functional.scaled_dot_product_attention is before


def test_a_torch_that_does_not_give_its_kernels_out(old_torch):
    inputs = [x.requires_grad_() for x in torch.randn(3, 1, 2, 9, 8)]
    mask = torch.rand(9, 9) < 0.8
    expected = torch.nn.functional.scaled_dot_product_attention(*inputs, mask)
    with rapt.torch.enabled():
        out = torch.nn.functional.scaled_dot_product_attention(*inputs, mask)
        gradients = torch.autograd.grad(out.sum(), inputs)
        report = rapt.torch.report()
        double = torch.nn.functional.scaled_dot_product_attention(*(x.detach().double() for x in inputs), mask)
        assert "float64" in str(rapt.torch.report())
    assert report.taken == {"forward": 1, "backward": 1} and not report.refused and double.dtype == torch.float64
    torch.testing.assert_close(out, expected)
    for x, y in zip(gradients, torch.autograd.grad(expected.sum(), inputs), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-4)


def test_a_graph_of_a_torch_that_does_not_give_its_kernels_out(old_torch):
    inputs = list(torch.randn(3, 1, 2, 9, 8))
    expected = scaled_dot_product_attention(*inputs)
    torch.compiler.reset()
    with rapt.torch.enabled():
        compiled = torch.compile(lambda *x: torch.nn.functional.scaled_dot_product_attention(*x), backend="aot_eager")
        torch.testing.assert_close(compiled(*inputs), expected)
    torch.compiler.reset()


def test_a_fast_path_that_was_off_stays_off():
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with rapt.torch.enabled():
            pass
        assert not torch.backends.mha.get_fastpath_enabled()
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def test_threads_with_blocks_that_overlap():
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with rapt.torch.enabled():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    with rapt.torch.enabled():
        pass
    assert rapt.torch.report().enabled
    leave.set()
    thread.join()
    assert not rapt.torch.report().enabled


@pytest.mark.skipif(not hasattr(torch.nn.attention, "register_flash_attention_impl"), reason="torch is older than this")
def test_an_implementation_of_flash_attention():
    assert "RAPT" in torch.nn.attention.list_flash_attention_impls()
    torch.nn.attention.activate_flash_attention_impl("RAPT")
    try:
        assert torch.nn.attention.current_flash_attention_impl() == "RAPT"
        assert attend() == 1
        torch.nn.attention.activate_flash_attention_impl("RAPT")  # which removes the first
        assert rapt.torch.report().enabled
    finally:
        torch.nn.attention.restore_flash_attention_impl()
    assert not rapt.torch.report().enabled
