"""rapt.torch.sdpa does what torch.nn.functional.scaled_dot_product_attention does, call by call."""

import pytest
import rapt.torch
import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.torch_version import TorchVersion

B, H, SQ, SK, D = 2, 4, 5, 7, 8


def normal(*shape, **options):
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randn(shape, generator=generator, **options)


def qkv(q=(B, H, SQ, D), k=(B, H, SK, D), v=None):
    return normal(*q), normal(*k) + 0.5, normal(*(v or k)) - 0.5


def keep(*shape):
    """A mask with rows that are whole, mixed and empty."""
    mask = normal(*shape) > 0
    mask[..., 0, :] = True
    mask[..., -1, :] = False
    return mask


def gqa(q=4, k=2, v=2):
    return qkv((B, q, SQ, D), (B, k, SK, D), (B, v, SK, D))


# name: (query, key, value), the other arguments
CALLS = {
    "plain": (qkv(), {}),
    "causal": (qkv(), {"is_causal": True}),
    "causal, more queries": (qkv((B, H, 9, D), (B, H, 4, D)), {"is_causal": True}),
    "scale": (qkv(), {"scale": 0.7}),
    "scale 0": (qkv(), {"scale": 0.0}),
    "scale negative": (qkv(), {"scale": -0.5}),
    "no heads": (qkv((B, SQ, D), (B, SK, D)), {}),
    "no heads, causal": (qkv((B, SQ, D), (B, SK, D)), {"is_causal": True}),
    "a matrix each": (qkv((SQ, D), (SK, D)), {}),
    "five dimensions": (qkv((3, B, H, SQ, D), (3, B, H, SK, D)), {}),
    "head_dim_v": (qkv(v=(B, H, SK, 3)), {}),
    "head_dim 1": (qkv((B, H, SQ, 1), (B, H, SK, 1)), {}),
    "head_dim 512": (qkv((1, 1, 3, 512), (1, 1, 4, 512)), {}),
    "head_dim 192, head_dim_v 128": (qkv((B, H, SQ, 192), (B, H, SK, 192), (B, H, SK, 128)), {"is_causal": True}),
    "head_dim 576, head_dim_v 512, one head of keys": (
        qkv((B, 128, 1, 576), (B, 1, SK, 576), (B, 1, SK, 512)),
        {"enable_gqa": True},
    ),
    "seqlen 1": (qkv((B, H, 1, D), (B, H, 1, D)), {}),
    "keys of batch 1": (qkv(k=(1, H, SK, D)), {}),
    "query of batch 1": (qkv(q=(1, H, SQ, D)), {}),
    "keys of one head": (qkv(k=(B, 1, SK, D)), {}),
    "query of one head": (qkv(q=(B, 1, SQ, D)), {}),
    "query without batch": (qkv(q=(H, SQ, D)), {}),
    "keys without batch": (qkv(k=(H, SK, D)), {}),
    "enable_gqa": (gqa(), {"enable_gqa": True}),
    "enable_gqa, causal": (gqa(), {"enable_gqa": True, "is_causal": True}),
    "enable_gqa, one head": (gqa(4, 1, 1), {"enable_gqa": True}),
    "enable_gqa, equal heads": (qkv(), {"enable_gqa": True}),
    "enable_gqa, value has more heads": (gqa(4, 2, 4), {"enable_gqa": True}),
    "enable_gqa, no batch": (qkv((4, SQ, D), (2, SK, D)), {"enable_gqa": True}),
    "enable_gqa, bool mask": (gqa(), {"enable_gqa": True, "attn_mask": keep(B, 4, SQ, SK)}),
    "bool mask": (qkv(), {"attn_mask": keep(SQ, SK)}),
    "bool mask, nothing kept": (qkv(), {"attn_mask": torch.zeros(SQ, SK, dtype=torch.bool)}),
    "bool mask of keys": (qkv(), {"attn_mask": torch.arange(SK).lt(torch.tensor([[4], [7]]))[:, None, None]}),
    "bool mask of heads": (qkv(), {"attn_mask": keep(1, H, SQ, SK)}),
    "bool mask of batches": (qkv(), {"attn_mask": keep(B, 1, SQ, SK)}),
    "bool mask, three dimensions": (qkv(), {"attn_mask": keep(H, SQ, SK)}),
    "bool mask, transposed": (qkv(), {"attn_mask": keep(SK, SQ).T}),
    "bool mask, expanded": (qkv(), {"attn_mask": keep(1, 1, SQ, SK).expand(B, H, SQ, SK)}),
    "bool mask, no heads": (qkv((B, SQ, D), (B, SK, D)), {"attn_mask": keep(B, SQ, SK)}),
    "bool mask, a matrix each": (qkv((SQ, D), (SK, D)), {"attn_mask": keep(SQ, SK)}),
    "bool mask, five dimensions": (
        qkv((3, B, H, SQ, D), (3, B, H, SK, D)),
        {"attn_mask": keep(3, 1, H, SQ, SK)},
    ),
    "additive mask": (qkv(), {"attn_mask": normal(SQ, SK)}),
    "additive mask of a row": (qkv(), {"attn_mask": normal(1, SK)}),
    "additive mask of a column": (qkv(), {"attn_mask": normal(SQ, 1)}),
    "additive mask, whole": (qkv(), {"attn_mask": normal(B, H, SQ, SK)}),
    "additive mask, -inf": (qkv(), {"attn_mask": torch.zeros(SQ, SK).masked_fill(~keep(SQ, SK), -torch.inf)}),
    "additive mask, float's least": (
        qkv(),
        {"attn_mask": torch.zeros(SQ, SK).masked_fill(torch.eye(SQ, SK) == 0, torch.finfo(torch.float32).min)},
    ),
    # q k^T is lost when added to it, so all logits are equal
    "additive mask, only float's lowest": (
        qkv(),
        {"attn_mask": torch.full((SQ, SK), torch.finfo(torch.float32).min)},
    ),
    "dropout of all": (qkv(), {"dropout_p": 1.0}),
    "no query": (qkv((B, H, 0, D)), {}),
    "no key": (qkv(k=(B, H, 0, D)), {}),
    "no key, causal": (qkv(k=(B, H, 0, D)), {"is_causal": True}),
    "no key, mask": (qkv(k=(B, H, 0, D)), {"attn_mask": torch.ones(SQ, 0, dtype=torch.bool)}),
    "no batch": (qkv((0, H, SQ, D), (0, H, SK, D)), {}),
    "no head": (qkv((B, 0, SQ, D), (B, 0, SK, D)), {}),
    "no head_dim": (qkv((B, H, SQ, 0), (B, H, SK, 0)), {}),
    "heads last": (tuple(x.transpose(1, 2) for x in qkv((B, SQ, H, D), (B, SK, H, D))), {}),
    "head_dim not contiguous": (tuple(x.mT for x in qkv((B, H, D, SQ), (B, H, D, SK))), {}),
    "every second": (tuple(x[:, ::2, ::2, ::2] for x in qkv((B, H, 10, 16), (B, H, 14, 16))), {}),
    "one tensor thrice": ((normal(B, H, SQ, D),) * 3, {}),
    "packed": (normal(B, SQ, 3, H, D).permute(2, 0, 3, 1, 4).unbind(0), {"is_causal": True}),
}


def names():
    # 2.11, for example, divides by the number of heads: the process dies in torch's own kernel
    dies = pytest.mark.skipif(
        torch.__version__ < TorchVersion("2.13"), reason="this torch crashes without heads itself"
    )
    return [pytest.param(name, marks=[dies] if name == "no head" else []) for name in CALLS]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["fp32", "fp64"])
@pytest.mark.parametrize("name", names())
def test_result_and_gradients_are_those_of_torch(name, dtype):
    tensors, options = CALLS[name]
    tensors = [x.to(dtype) for x in tensors]
    if (mask := options.get("attn_mask")) is not None and mask.is_floating_point():
        options = options | {"attn_mask": mask.to(dtype)}
    results = []
    for function in (scaled_dot_product_attention, rapt.torch.sdpa):
        inputs = [x.detach().requires_grad_() for x in tensors]
        out = function(*inputs, **options)
        assert out.requires_grad
        results.append((out, *torch.autograd.grad(out, inputs, normal(*out.shape).to(dtype))))
    for result, expected in zip(results[1], results[0], strict=True):
        assert result.shape == expected.shape and result.dtype == expected.dtype
        torch.testing.assert_close(result, expected, rtol=1e-5, atol=5e-6)


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
def test_results_in_half_precision_are_close_to_those_of_torch(name, dtype):
    tensors, options = CALLS[name]
    expected = scaled_dot_product_attention(*(x.to(dtype).float() for x in tensors), **options)
    out = rapt.torch.sdpa(*(x.to(dtype) for x in tensors), **options)  # an additive mask stays fp32
    assert out.dtype == dtype
    torch.testing.assert_close(out.float(), expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("wanted", range(16), ids=lambda bits: f"{bits:04b}")
def test_each_combination_of_tensors_that_require_grad(wanted):
    tensors = [*qkv(), normal(1, H, SQ, SK)]
    results = []
    for function in (scaled_dot_product_attention, rapt.torch.sdpa):
        inputs = [x.clone().requires_grad_(bool(wanted >> i & 1)) for i, x in enumerate(tensors)]
        out = function(*inputs)
        assert out.requires_grad == (wanted != 0)
        if wanted:
            out.square().sum().backward()
        results.append([x.grad for x in inputs])
    for result, expected in zip(results[1], results[0], strict=True):
        assert (result is None) == (expected is None)
        if result is not None:
            torch.testing.assert_close(result, expected, rtol=1e-5, atol=5e-6)


@pytest.mark.parametrize("shape", [(SQ, SK), (1, SK), (SQ, 1), (B, 1, SQ, SK), (1, H, 1, SK), (H, SQ, SK)], ids=str)
def test_the_gradient_of_a_mask_has_its_shape(shape):
    results = []
    for function in (scaled_dot_product_attention, rapt.torch.sdpa):
        mask = normal(*shape).requires_grad_()
        function(*qkv(), attn_mask=mask).square().sum().backward()
        results.append(mask.grad)
    assert results[1].shape == shape
    torch.testing.assert_close(results[1], results[0], rtol=1e-5, atol=1e-5)


def test_causal_and_a_mask_hold_both():
    # torch's flash kernel applies both; its math path, which a mask that requires grad takes, refuses
    mask = keep(SQ, SK)
    both = mask & torch.ones(SQ, SK, dtype=torch.bool).tril()
    out = rapt.torch.sdpa(*qkv(), attn_mask=mask, is_causal=True)
    torch.testing.assert_close(out, scaled_dot_product_attention(*qkv(), attn_mask=both), rtol=1e-5, atol=2e-6)


def test_nan_and_inf_in_masked_keys_are_not_read():
    query, key, value = qkv()
    mask = torch.arange(SK).lt(SK - 2)
    key[..., -2, :], value[..., -1, :] = torch.inf, torch.nan
    out = rapt.torch.sdpa(query, key, value, mask.expand(SQ, SK))
    expected = scaled_dot_product_attention(query, key[..., :-2, :], value[..., :-2, :])
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=2e-6)


def test_dropout_keeps_the_expected_share_and_follows_the_generator():
    query, key = torch.zeros(1, 2, 64, 8), torch.zeros(1, 2, 256, 8)
    value = torch.ones(1, 2, 256, 8, requires_grad=True)
    torch.manual_seed(1)
    first = rapt.torch.sdpa(query, key, value, dropout_p=0.25)
    second = rapt.torch.sdpa(query, key, value, dropout_p=0.25)
    torch.manual_seed(1)
    again = rapt.torch.sdpa(query, key, value, dropout_p=0.25)
    assert (first == again).all() and not (first == second).all()
    # the mean of 2 * 64 * 256 draws, each 0 or 1 / 0.75
    assert abs(first[..., 0].mean().item() - 1) < 6 * (0.25 / 0.75 / (2 * 64 * 256)) ** 0.5
    (gradient,) = torch.autograd.grad(again[..., 0].sum(), value)
    torch.testing.assert_close(gradient[..., 0].sum(), again[..., 0].sum())  # out is linear in value


WRONG = {
    "types differ": (lambda q, k, v: (q, k.double(), v), {}, "key torch.float64"),
    "int": (lambda q, k, v: (q.int(), k.int(), v.int()), {}, "q is int32"),
    "complex": (lambda q, k, v: (q.cfloat(), k.cfloat(), v.cfloat()), {}, "q "),
    "a vector": (lambda q, k, v: (q[0, 0, 0], k, v), {}, r"query has the shape \(8,\)"),
    "head_dim differs": (lambda q, k, v: (q, k[..., :4], v), {}, "k has head_dim 4, must be q's 8"),
    "batch differs": (lambda q, k, v: (q, normal(3, H, SK, D), v), {}, r"key \(3, 4, 7, 8\)"),
    "heads differ": (lambda q, k, v: (q, k[:, :2], v[:, :2]), {}, "enable_gqa lets heads differ"),
    "no multiple": (lambda q, k, v: (q[:, :3], k[:, :2], v[:, :2]), {"enable_gqa": True}, "query has 3 heads, key 2"),
    "mask of int": (lambda q, k, v: (q, k, v, torch.ones(SQ, SK).int()), {}, "attn_mask is torch.int32"),
    "mask of uint8": (lambda q, k, v: (q, k, v, torch.ones(SQ, SK).byte()), {}, "attn_mask is torch.uint8"),
    "mask of fp16": (lambda q, k, v: (q, k, v, torch.ones(SQ, SK).half()), {}, "attn_mask is torch.float16"),
    "mask of fp64": (lambda q, k, v: (q, k, v, torch.ones(SQ, SK).double()), {}, "attn_mask is torch.float64"),
    "mask of queries": (lambda q, k, v: (q, k, v, torch.ones(3, SK)), {}, r"attn_mask has the shape \(3, 7\)"),
    "mask of heads": (lambda q, k, v: (q, k, v, torch.ones(3, SQ, SK)), {}, r"attn_mask \(3, 5, 7\)"),
    "mask a vector": (lambda q, k, v: (q, k, v, torch.ones(SK)), {}, "at least two dimensions"),
    "dropout_p 1.5": (lambda q, k, v: (q, k, v), {"dropout_p": 1.5}, "dropout_p is 1.5"),
    "dropout_p -1": (lambda q, k, v: (q, k, v), {"dropout_p": -1.0}, "dropout_p is -1.0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_errors_that_name_them(name):
    change, options, message = WRONG[name]
    arguments = change(*qkv())
    with pytest.raises((RuntimeError, IndexError, NotImplementedError)):  # torch refuses them too
        scaled_dot_product_attention(*arguments, **options)
    with pytest.raises(ValueError, match=message):
        rapt.torch.sdpa(*arguments, **options)


def test_value_with_another_seqlen_is_an_error():
    # torch's flash kernel reads beyond value's memory
    query, key, value = qkv()
    with pytest.raises(ValueError, match="v has 3 rows, must have k's 7"):
        rapt.torch.sdpa(query, key, value[:, :, :3])
