"""FlashAttention 3's functions, which are those of FlashAttention 2 with other arguments."""

import importlib
import importlib.util
import sys

import pytest
import rapt.flash_attn
import torch
from rapt.flash_attn import flash_attn_3


def qkv():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(2, n, heads, 16, generator=generator) for n, heads in ((30, 4), (40, 2), (40, 2))]


def close(results, expected):
    for x, y in zip(results, expected, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-5)


MASK = {"softmax_scale": 0.3, "causal": True, "window_size": (20, -1), "softcap": 5.0}


def test_attention_and_its_gradients():
    inputs = [x.requires_grad_() for x in qkv()]
    expected, lse, _ = rapt.flash_attn.flash_attn_func(*inputs, **MASK, return_attn_probs=True)
    out, softmax_lse = flash_attn_3.flash_attn_func(*inputs, **MASK, pack_gqa=True, return_attn_probs=True)
    close([out, softmax_lse], [expected, lse])
    assert torch.equal(flash_attn_3.flash_attn_func(*inputs, **MASK), out)
    dout = torch.randn(out.shape)
    close(torch.autograd.grad(out, inputs, dout), torch.autograd.grad(expected, inputs, dout))


def test_packed_sequences():
    q, k, v = (x[0, :25] for x in qkv())
    lengths = torch.tensor([0, 10, 10, 25], dtype=torch.int32)
    expected = rapt.flash_attn.flash_attn_varlen_func(q, k, v, lengths, lengths, 15, 15, **MASK)
    close([flash_attn_3.flash_attn_varlen_func(q, k, v, lengths, lengths, 15, 15, **MASK)], [expected])


def test_one_tensor():
    q, k, v = (x[:, :30] for x in qkv())
    expected = flash_attn_3.flash_attn_func(q, k, v)
    close([flash_attn_3.flash_attn_qkvpacked_func(torch.cat((q, k, v), 2), num_heads_q=4)], [expected])
    packed = torch.stack((q, q, q), 2)
    close([flash_attn_3.flash_attn_qkvpacked_func(packed)], [flash_attn_3.flash_attn_func(q, q, q)])
    with pytest.raises(ValueError, match=r"qkv has the shape \(2, 30, 8, 16\) and num_heads_q is None"):
        flash_attn_3.flash_attn_qkvpacked_func(torch.cat((q, k, v), 2))
    for heads in (-2, 0, 5, 8, 10):
        with pytest.raises(ValueError, match=f"num_heads_q is {heads}"):
            flash_attn_3.flash_attn_qkvpacked_func(torch.cat((q, k, v), 2), num_heads_q=heads)


def test_a_cache():
    q, k, v = qkv()
    cache = [x.clone() for x in (k, v)]
    new = [x[:, :3].clone() for x in (v, k)]
    expected = rapt.flash_attn.flash_attn_with_kvcache(
        q, *(x.clone() for x in cache), *new, cache_seqlens=20, causal=True, return_softmax_lse=True
    )
    results = flash_attn_3.flash_attn_with_kvcache(
        q, *cache, *new, cache_seqlens=20, causal=True, return_softmax_lse=True, max_seqlen_q=30,
        scheduler_metadata=flash_attn_3.get_scheduler_metadata(2, 30),
    )  # fmt: skip
    assert torch.equal(cache[0][:, 20:23], new[0])
    close(results, [expected[0], expected[1].masked_fill(expected[1] == torch.inf, -torch.inf)])
    assert (results[1] == -torch.inf).any()  # 30 queries, 23 keys


def test_merging_parts():
    q, k, v = qkv()
    whole, whole_lse = flash_attn_3.flash_attn_func(q, k, v, return_attn_probs=True)
    parts = [
        flash_attn_3.flash_attn_func(q, k[:, part], v[:, part], return_attn_probs=True)
        for part in (slice(0, 10), slice(10, 40))
    ]
    outs, sums = (torch.stack(x) for x in zip(*parts, strict=True))
    nothing = torch.full_like(sums[:1], -torch.inf)
    for more in (False, True):  # a part with nothing to attend
        o = torch.cat((outs, torch.zeros_like(outs[:1]))) if more else outs
        s = torch.cat((sums, nothing)) if more else sums
        out, lse = flash_attn_3.flash_attn_combine(o, s.transpose(2, 3))
        close([out, lse.transpose(1, 2)], [whole, whole_lse])
    out, lse = flash_attn_3.flash_attn_combine(outs[:1] * 0, nothing.transpose(2, 3))
    assert (out == 0).all() and (lse == -torch.inf).all()


@pytest.mark.parametrize("packed", [False, True])
def test_the_passes_are_those_of_the_function(packed):
    """With the places and names of arguments that TransformerEngine's context parallelism uses."""
    inputs, lengths, longest = qkv(), None, (30, 40)
    function, before = flash_attn_3.flash_attn_func, ()
    if packed:
        inputs, longest = [x[0, :25] for x in inputs], (15, 15)
        lengths = torch.tensor([0, 10, 10, 25], dtype=torch.int32)
        function, before = flash_attn_3.flash_attn_varlen_func, (lengths, lengths, *longest)
    leaves = [x.clone().requires_grad_() for x in inputs]
    mask = {"softmax_scale": 0.3, "window_size": (-1, 0)}
    expected, lse = function(*leaves, *before, causal=True, **mask, return_attn_probs=True)
    dout = torch.randn(expected.shape)

    window = {"softmax_scale": 0.3, "window_size_left": -1, "window_size_right": 0}
    arguments = [None] * 4 + [lengths, lengths] + [None] * 3 + [*longest] + [None] * 9
    results = flash_attn_3._flash_attn_forward(*inputs, *arguments, causal=True, **window)
    close(results[:2], [expected.detach(), lse])
    assert [x.numel() for x in results[2:]] == [0, 0]
    written = torch.empty_like(expected)
    assert flash_attn_3._flash_attn_forward(*inputs, None, None, None, written, *arguments[4:], True)[0] is written
    gradients = [torch.empty_like(x) for x in inputs]
    arguments = [lengths, lengths, None, None, *longest, *gradients]
    flash_attn_3._flash_attn_backward(dout, *inputs, *results[:2], *arguments, is_causal=True, **window)
    close(gradients, torch.autograd.grad(expected, leaves, dout))


@pytest.mark.parametrize(
    "function, arguments, reason",
    [
        ("flash_attn_func", {"q_descale": torch.ones(1)}, "q_descale is given"),
        ("flash_attn_func", {"attention_chunk": 64}, "attention_chunk is 64"),
        ("flash_attn_with_kvcache", {"qv": torch.ones(1)}, "qv is given"),
        ("flash_attn_with_kvcache", {"cu_seqlens_q": torch.ones(1)}, "cu_seqlens_q is given"),
        ("_flash_attn_forward", {"seqused_k": torch.ones(1)}, "seqused_k is given"),
    ],
)
def test_what_is_refused(function, arguments, reason):
    with pytest.raises(NotImplementedError, match=reason):
        getattr(flash_attn_3, function)(*qkv(), **arguments)


def test_errors_say_page_table():
    page_table = torch.zeros(1, 1, dtype=torch.int32)
    for length in (1000, torch.tensor([1000], dtype=torch.int32)):
        with pytest.raises(RuntimeError, match="page_table") as raised:
            flash_attn_3.flash_attn_with_kvcache(*qkv(), cache_seqlens=length, page_table=page_table)
        assert "block_table" not in str(raised.value)


def test_install():
    finders = list(sys.meta_path)
    try:
        rapt.flash_attn.install()
        assert importlib.import_module("flash_attn.flash_attn_triton_amd").flash_attn_func
        for name in ("flash_attn_interface", "flash_attn_3.flash_attn_interface"):
            module = importlib.import_module(name)
            assert module.flash_attn_func is flash_attn_3.flash_attn_func
        with pytest.raises(ModuleNotFoundError, match="flash_attn_3._C.*rapt.flash_attn is in flash_attn's place"):
            importlib.import_module("flash_attn_3._C")
        assert importlib.util.find_spec("flash_attn.losses") is None  # programs ask so
        assert importlib.import_module("flash_attn.flash_attn_interface")._flash_attn_forward
    finally:
        rapt.flash_attn.uninstall()
    assert sys.meta_path == finders
    assert not [name for name in sys.modules if name.partition(".")[0] in ("flash_attn", "flash_attn_3")]
