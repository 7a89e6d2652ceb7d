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


def attend():
    """How many calls Rapt has taken, after another."""
    q, k, v = torch.ones(3, 1, 2, 4, 8)
    scaled_dot_product_attention(q, k, v)
    return rapt.torch.report().taken.get("forward", 0)


def test_enable_and_disable():
    rapt.torch.enable()
    rapt.torch.enable()
    assert rapt.torch.report().enabled and not torch.backends.mha.get_fastpath_enabled()
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


def test_a_torch_that_is_too_old(monkeypatch):
    monkeypatch.delattr(torch.library, "get_kernel")
    for start in (rapt.torch.enable, rapt.torch.enabled().__enter__):
        with pytest.raises(RuntimeError, match="has no torch.library.get_kernel"):
            start()
    assert not rapt.torch.report().enabled


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
