"""rapt.flash_attn: FlashAttention's arguments and conventions, against float64 and against rapt.attention."""

import inspect

import numpy as np
import pytest
import rapt
import rapt.flash_attn as fa
import torch
from reference import assert_within_rule, forward
from rotation import rotary

TAIL = (
    "dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None, "
    "deterministic=False, return_attn_probs=False"
)
SEQLENS = "cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k"
SIGNATURES = {
    "flash_attn_func": f"(q, k, v, {TAIL})",
    "flash_attn_kvpacked_func": f"(q, kv, {TAIL})",
    "flash_attn_qkvpacked_func": f"(qkv, {TAIL})",
    "flash_attn_varlen_func": f"(q, k, v, {SEQLENS}, {TAIL}, block_table=None)",
    "flash_attn_varlen_kvpacked_func": f"(q, kv, {SEQLENS}, {TAIL})",
    "flash_attn_varlen_qkvpacked_func": f"(qkv, cu_seqlens, max_seqlen, {TAIL})",
    "flash_attn_with_kvcache": (
        "(q, k_cache, v_cache, k=None, v=None, rotary_cos=None, rotary_sin=None, cache_seqlens=None, "
        "cache_batch_idx=None, cache_leftpad=None, block_table=None, softmax_scale=None, causal=False, "
        "window_size=(-1, -1), softcap=0.0, rotary_interleaved=True, alibi_slopes=None, num_splits=0, "
        "return_softmax_lse=False)"
    ),
}
ALIBI = torch.tensor([0.5, 0.25, 0.125, 0.0625])
OPTIONS = {
    "plain": {},
    "scale": {"softmax_scale": 0.7},
    "causal": {"causal": True},
    "window": {"window_size": (3, 2)},
    "causal window": {"window_size": (5, 7), "causal": True},
    "softcap": {"softcap": 1.5},
    "alibi": {"alibi_slopes": ALIBI},
    "everything": {"causal": True, "window_size": (6, 0), "softcap": 2.0, "alibi_slopes": ALIBI, "softmax_scale": 0.4},
}


def tensors(*shapes, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def as_rapt(options):
    """The options under rapt.attention's names."""
    names = {"window_size": "window", "dropout_p": "dropout"}
    return {names.get(name, name): value for name, value in options.items()}


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_signatures_are_those_of_flash_attn_2(name):
    parameters = inspect.signature(getattr(fa, name)).parameters.values()
    assert "(" + ", ".join(str(p.replace(annotation=p.empty)) for p in parameters) + ")" == SIGNATURES[name]


@pytest.mark.parametrize("case", OPTIONS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=["fp16", "bf16", "fp32"])
def test_out_and_lse_against_float64(case, dtype):
    q, k, v = tensors((2, 9, 4, 24), (2, 14, 2, 24), (2, 14, 2, 24), dtype=dtype)
    out, lse, probabilities = fa.flash_attn_func(q, k, v, **OPTIONS[case], return_attn_probs=True)
    arrays = [x.double().numpy() for x in (q, k, v)]
    exact_out, exact_lse, limit = forward(*arrays, **as_rapt(OPTIONS[case]))
    plain, plain_lse = rapt.attention(q, k, v, return_lse=True, backend="math", **as_rapt(OPTIONS[case]))
    assert_within_rule("out", out, exact_out, plain, limit)
    assert_within_rule("lse", lse, exact_lse, plain_lse, limit)
    assert probabilities.numel() == 0  # as in flash_attn: only with dropout


@pytest.mark.parametrize("case", OPTIONS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=["fp16", "bf16", "fp32"])
def test_gradients_against_float64(case, dtype):
    q, k, v, dout = tensors((2, 9, 4, 24), *2 * [(2, 14, 2, 24)], (2, 9, 4, 24), dtype=dtype)
    options = as_rapt(OPTIONS[case])
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    out = fa.flash_attn_func(*leaves, **OPTIONS[case])
    out.backward(dout)

    def by_math(out, *arrays):
        own, lse = rapt.attention(*arrays[1:], return_lse=True, backend="math", **options)
        return rapt.attention_backward(*arrays, own if out is None else out, lse, backend="math", **options)

    wide = [x.double() for x in (dout, q, k, v)]
    given = None if dtype == torch.float32 else out.detach()  # a rounded out is given to all: docs/architecture.md
    wide_given = None if given is None else given.double()
    exact, plain = by_math(wide_given, *wide), by_math(given, dout, q, k, v)
    arrays = (x.numpy() for x in (*wide[1:], wide[0]))
    limit = forward(*arrays, out=None if given is None else wide_given.numpy(), **options)[2]
    for name, leaf in zip(("dq", "dk", "dv"), leaves, strict=True):
        assert leaf.grad.dtype == dtype
        assert_within_rule(name, leaf.grad, getattr(exact, name), getattr(plain, name), limit)


def test_all_forms_give_the_same_gradients():
    q, k, v, dout = tensors(*4 * [(2, 16, 4, 32)], dtype=torch.bfloat16)
    cu = torch.tensor([0, 16, 32], dtype=torch.int32)
    packed = [x.flatten(0, 1) for x in (q, k, v)]

    def gradients(call, *inputs):
        leaves = [x.clone().requires_grad_() for x in inputs]
        out = call(*leaves, causal=True, deterministic=True)
        return [x.reshape(-1) for x in torch.autograd.grad(out, leaves, dout.reshape(out.shape))]

    dq, dk, dv = (x.reshape(q.shape) for x in gradients(fa.flash_attn_func, q, k, v))
    rows = [x.flatten(0, 1) for x in (dq, dk, dv)]
    for expected, found in (
        ([dq, torch.stack([dk, dv], 2)], gradients(fa.flash_attn_kvpacked_func, q, torch.stack([k, v], 2))),
        ([torch.stack([dq, dk, dv], 2)], gradients(fa.flash_attn_qkvpacked_func, torch.stack([q, k, v], 2))),
        (rows, gradients(lambda q, k, v, **o: fa.flash_attn_varlen_func(q, k, v, cu, cu, 16, 16, **o), *packed)),
        (
            [rows[0], torch.stack(rows[1:], 1)],
            gradients(
                lambda q, kv, **o: fa.flash_attn_varlen_kvpacked_func(q, kv, cu, cu, 16, 16, **o),
                packed[0],
                torch.stack(packed[1:], 1),
            ),
        ),
        (
            [torch.stack(rows, 1)],
            gradients(lambda qkv, **o: fa.flash_attn_varlen_qkvpacked_func(qkv, cu, 16, **o), torch.stack(packed, 1)),
        ),
    ):
        for a, b in zip(expected, found, strict=True):
            assert torch.equal(a.reshape(-1), b)


def test_dropout_drops_the_same_in_both_directions():
    q, k, v = (x.requires_grad_() for x in tensors(*3 * [(2, 24, 2, 16)]))
    out, _, p = fa.flash_attn_func(q, k, v, dropout_p=0.4, return_attn_probs=True)
    (dv,) = torch.autograd.grad(out, v, torch.ones_like(out))
    torch.testing.assert_close(dv, (p.clamp(min=0) / 0.6).sum(2)[..., None].expand(-1, -1, -1, 16).transpose(1, 2))


def test_torch_compile_traces_it_whole():
    q, k, v = (x.requires_grad_() for x in tensors(*3 * [(2, 24, 2, 16)]))

    def gradients(function):
        out, lse, _ = function(q, k, v, causal=True, softcap=3.0, return_attn_probs=True)
        return out, lse, *torch.autograd.grad(out.square().sum(), (q, k, v))

    compiled = torch.compile(fa.flash_attn_func, fullgraph=True, backend="aot_eager")
    for a, b in zip(gradients(compiled), gradients(fa.flash_attn_func), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("option", ["softcap", "alibi_slopes", "window_size", "softmax_scale", "causal", "dropout_p"])
def test_no_option_is_ignored(option):
    values = {"softcap": 1.0, "alibi_slopes": ALIBI, "window_size": (2, 0), "softmax_scale": 2.0, "causal": True}
    changed = {option: values.get(option, 0.5)}
    q, k, v = tensors(*3 * [(2, 16, 4, 32)], dtype=torch.float16)
    cu = torch.tensor([0, 16, 32], dtype=torch.int32)
    packed = [x.flatten(0, 1) for x in (q, k, v)]
    calls = [
        lambda **o: fa.flash_attn_func(q, k, v, **o),
        lambda **o: fa.flash_attn_kvpacked_func(q, torch.stack([k, v], 2), **o),
        lambda **o: fa.flash_attn_qkvpacked_func(torch.stack([q, k, v], 2), **o),
        lambda **o: fa.flash_attn_varlen_func(*packed, cu, cu, 16, 16, **o),
        lambda **o: fa.flash_attn_varlen_kvpacked_func(packed[0], torch.stack(packed[1:], 1), cu, cu, 16, 16, **o),
        lambda **o: fa.flash_attn_varlen_qkvpacked_func(torch.stack(packed, 1), cu, 16, **o),
    ]
    if option != "dropout_p":
        calls.append(lambda **o: fa.flash_attn_with_kvcache(q, k, v, **o))
    results = [call(**changed).reshape(q.shape) for call in calls]
    for call, result in zip(calls, results, strict=True):
        assert (result - call().reshape(q.shape)).abs().max() > 0.01
        assert option == "dropout_p" or torch.equal(result, results[0])


def test_a_row_with_nothing_to_attend_gives_zero_and_lse_inf():
    q, k, v = tensors((1, 7, 2, 16), (1, 3, 2, 16), (1, 3, 2, 16))
    out, lse, _ = fa.flash_attn_func(q, k, v, causal=True, return_attn_probs=True)
    assert (out[:, :4] == 0).all() and (lse[..., :4] == torch.inf).all() and lse[..., 4:].isfinite().all()


def test_the_probabilities_that_dropout_gives():
    q, k, v = tensors(*3 * [(2, 40, 3, 16)])
    torch.manual_seed(3)
    out, _, p = fa.flash_attn_func(q, k, v, dropout_p=0.25, causal=True, return_attn_probs=True)
    assert p.shape == (2, 3, 40, 40)
    torch.testing.assert_close(p.abs().sum(-1), torch.ones(2, 3, 40))
    assert 0.15 < (p < 0).sum() / (p != 0).sum() < 0.35
    torch.testing.assert_close(p.clamp(min=0) / 0.75 @ v.transpose(1, 2), out.transpose(1, 2))

    cu = torch.tensor([0, 40, 65], dtype=torch.int32)
    packed = [x.flatten(0, 1)[:65] for x in (q, k, v)]
    out, _, p = fa.flash_attn_varlen_func(*packed, cu, cu, 40, 40, dropout_p=0.25, return_attn_probs=True)
    assert p.shape == (2, 3, 40, 40) and (p[1, :, 25:] == 0).all() and (p[1, :, :, 25:] == 0).all()
    expected = p[1].clamp(min=0)[:, :25, :25] / 0.75 @ packed[2][40:].transpose(0, 1)
    torch.testing.assert_close(expected, out[40:].transpose(0, 1))


def test_dropout_follows_the_generator():
    q, k, v = tensors(*3 * [(1, 32, 2, 16)])
    torch.manual_seed(5)
    first, second = (fa.flash_attn_func(q, k, v, 0.5) for _ in range(2))
    torch.manual_seed(5)
    assert torch.equal(first, fa.flash_attn_func(q, k, v, 0.5)) and not torch.equal(first, second)


def test_packed_sequences_are_those_of_the_batch_one_by_one():
    lengths_q, lengths_k = [5, 0, 9, 3], [7, 4, 9, 0]
    q, k, v = tensors((17, 4, 16), (20, 2, 16), (20, 2, 16), dtype=torch.bfloat16)
    cu_q, cu_k = (torch.tensor([0, *np.cumsum(n)], dtype=torch.int32) for n in (lengths_q, lengths_k))
    out, lse, _ = fa.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 9, 9, causal=True, return_attn_probs=True)
    assert lse.shape == (4, 17)
    for q_b, k_b, v_b, out_b, lse_b in zip(
        q.split(lengths_q),
        k.split(lengths_k),
        v.split(lengths_k),
        out.split(lengths_q),
        lse.split(lengths_q, 1),
        strict=True,
    ):
        if len(q_b):
            expected, expected_lse, _ = fa.flash_attn_func(
                q_b[None], k_b[None], v_b[None], causal=True, return_attn_probs=True
            )
            torch.testing.assert_close(out_b, expected[0])
            torch.testing.assert_close(lse_b, expected_lse[0])


def test_pages_are_the_rows_that_they_hold():
    q, k, v = tensors((6, 4, 32), (2, 48, 2, 32), (2, 48, 2, 32), dtype=torch.float16)
    table = torch.tensor([[3, 0, 5], [1, 4, 2]], dtype=torch.int32)
    pages_k, pages_v = (torch.empty(6, 16, 2, 32, dtype=x.dtype) for x in (k, v))
    for pages, rows in ((pages_k, k), (pages_v, v)):
        pages[table.long()] = rows.unflatten(1, (3, 16))
    cu_q, cu_k = (torch.tensor(x, dtype=torch.int32) for x in ([0, 2, 6], [0, 37, 85]))
    out = fa.flash_attn_varlen_func(q, pages_k, pages_v, cu_q, cu_k, 4, 48, causal=True, block_table=table)
    rows_k, rows_v = (torch.cat([x[0, :37], x[1]]) for x in (k, v))
    torch.testing.assert_close(out, fa.flash_attn_varlen_func(q, rows_k, rows_v, cu_q, cu_k, 4, 48, causal=True))

    queries = q.unflatten(0, (2, 3))
    lengths = torch.tensor([37, 48], dtype=torch.int32)
    out = fa.flash_attn_with_kvcache(queries, pages_k, pages_v, cache_seqlens=lengths, block_table=table)
    torch.testing.assert_close(out, fa.flash_attn_with_kvcache(queries, k, v, cache_seqlens=lengths))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=["fp16", "bf16", "fp32"])
def test_latent_attention_decodes_from_one_paged_cache(dtype):
    """The values are the first 512 elements of the keys, and 128 query heads share them."""
    q, pages = tensors((2, 2, 128, 576), (6, 16, 1, 576), dtype=dtype)
    table = torch.tensor([[3, 0, 5], [1, 4, 2]], dtype=torch.int32)
    lengths = torch.tensor([37, 48], dtype=torch.int32)
    out, lse = fa.flash_attn_with_kvcache(
        q, pages, pages[..., :512], cache_seqlens=lengths, block_table=table, causal=True, return_softmax_lse=True
    )
    assert out.shape == (2, 2, 128, 512)
    for b, rows in enumerate(lengths.tolist()):
        k = pages[table[b].long()].flatten(0, 1)[None, :rows]
        exact_out, exact_lse, limit = forward(
            *(x.double().numpy() for x in (q[b : b + 1], k, k[..., :512])), causal=True
        )
        plain, plain_lse = rapt.attention(q[b : b + 1], k, k[..., :512], causal=True, return_lse=True, backend="math")
        assert_within_rule("out", out[b : b + 1], exact_out, plain, limit)
        assert_within_rule("lse", lse[b : b + 1], exact_lse, plain_lse, limit)


def test_pages_of_keys_and_values_in_one_pool():
    """As transformers has them: page 2 i is of keys, page 2 i + 1 of values, so that the two caches overlap."""
    q, new_k, new_v, pool = tensors((2, 1, 4, 32), (2, 1, 2, 32), (2, 1, 2, 32), (13, 16, 2, 32))
    table = torch.tensor([[4, 0, 10], [2, 8, 6]], dtype=torch.int32)
    k, v = pool[0:-1:2].clone(), pool[1::2].clone()
    used = torch.tensor([20, 33], dtype=torch.int32)
    expected = fa.flash_attn_with_kvcache(q, k, v, new_k, new_v, cache_seqlens=used, block_table=table // 2)
    out = fa.flash_attn_with_kvcache(q, pool[:-1], pool[1:], new_k, new_v, cache_seqlens=used, block_table=table)
    torch.testing.assert_close(out, expected)
    assert torch.equal(pool[0:-1:2], k) and torch.equal(pool[1::2], v) and torch.equal(k[0, 4], new_k[0, 0])
    with pytest.raises(ValueError, match="v overlaps k"):  # without a table
        fa.flash_attn_with_kvcache(q, pool[:2], pool[1:3], new_k, new_v, cache_seqlens=3)


@pytest.mark.parametrize("interleaved", [True, False])
def test_a_cache_that_grows_is_attention_to_the_rotated_rows(interleaved):
    q, k, v, k_cache, v_cache = tensors((2, 3, 4, 32), *2 * [(2, 3, 2, 32)], *2 * [(3, 20, 2, 32)])
    angles = torch.rand(20, 8) * 6
    rows, used, pad = (torch.tensor(x, dtype=torch.int32) for x in ([2, 0], [9, 4], [1, 0]))
    before = k_cache.clone()
    out, lse = fa.flash_attn_with_kvcache(
        q,
        k_cache,
        v_cache,
        k,
        v,
        rotary_cos=angles.cos(),
        rotary_sin=angles.sin(),
        cache_seqlens=used,
        cache_batch_idx=rows,
        cache_leftpad=pad,
        causal=True,
        rotary_interleaved=interleaved,
        return_softmax_lse=True,
    )
    rotated_q, rotated_k = (rotary(x, angles, used, interleaved) for x in (q, k))
    for b in range(2):
        row, first, end = int(rows[b]), int(pad[b]), int(used[b]) + 3
        torch.testing.assert_close(k_cache[row, end - 3 : end], rotated_k[b])
        assert torch.equal(v_cache[row, end - 3 : end], v[b])
        assert torch.equal(k_cache[row, end:], before[row, end:]) and torch.equal(k_cache[1], before[1])
        expected, expected_lse, _ = fa.flash_attn_func(
            rotated_q[b : b + 1],
            k_cache[row, None, first:end],
            v_cache[row, None, first:end],
            causal=True,
            return_attn_probs=True,
        )
        torch.testing.assert_close(out[b], expected[0])
        torch.testing.assert_close(lse[b], expected_lse[0])


def test_padding_helpers():
    from rapt.flash_attn.bert_padding import pad_input, unpad_input, unpad_input_for_concatenated_sequences

    x = torch.randn(2, 6, 3, requires_grad=True)
    mask = torch.tensor([[1, 1, 1, 0, 0, 0], [0, 1, 1, 1, 1, 0]])
    tokens, indices, cu_seqlens, longest, used = unpad_input(x, mask)
    assert cu_seqlens.tolist() == [0, 3, 7] and longest == 4 and used.tolist() == [3, 4]
    assert cu_seqlens.dtype == torch.int32 and torch.equal(tokens, x[mask.bool()])
    padded = pad_input(tokens, indices, 2, 6)
    assert torch.equal(padded, x * mask[:, :, None])
    assert torch.equal(padded, pad_input(tokens, indices.int(), 2, 6))  # as transformers sometimes passes them
    padded.sum().backward()
    assert torch.equal(x.grad, mask[:, :, None].expand(2, 6, 3).float())

    _, _, cu_seqlens, _, used = unpad_input(x, mask, torch.tensor([[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0]]))
    assert cu_seqlens.tolist() == [0, 4, 8] and used.tolist() == [3, 4]
    lengths = torch.tensor([[2, 3, 0, 0, 0, 0], [6, 0, 0, 0, 0, 0]])
    tokens, _, cu_seqlens, longest = unpad_input_for_concatenated_sequences(x, lengths)
    assert cu_seqlens.tolist() == [0, 2, 5, 11] and longest == 6 and torch.equal(tokens[:5], x[0, :5])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"window_size": (-2, 0)}, "^window_size is -2,0"),
        ({"window_size": None}, "window_size is None; it must be two integers"),
        ({"window_size": (1, 2, 3)}, "window_size is "),
        ({"window_size": (1.5, 0)}, "window_size is "),
        ({"alibi_slopes": torch.ones(3)}, "alibi_slopes"),
        ({"dropout_p": 1.5}, "^dropout_p is 1.5"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    q, k, v = tensors(*3 * [(1, 8, 2, 16)])
    for error in (ValueError, RuntimeError):  # ours, and what flash_attn raises
        with pytest.raises(error, match=message):
            fa.flash_attn_func(q, k, v, **arguments)


CU = torch.tensor([0, 3, 8], dtype=torch.int32)
NAMED = [
    (lambda x, pages: fa.flash_attn_func(None, x, x), "q is of type NoneType; it must be a tensor"),
    (lambda x, pages: fa.flash_attn_qkvpacked_func(x), "qkv has the shape"),
    (lambda x, pages: fa.flash_attn_qkvpacked_func([x]), "qkv is of type list"),
    (lambda x, pages: fa.flash_attn_varlen_func(x[0], x[0], x[0], CU.long(), CU, 8, 8), "^cu_seqlens_q is int64"),
    (lambda x, pages: fa.flash_attn_varlen_func(x[0], x[0], x[0], [0, 3, 8], CU, 8, 8), "cu_seqlens_q is of type list"),
    (lambda x, pages: fa.flash_attn_varlen_func(x[0], x[0], x[0], CU, CU, None, 8), "max_seqlen_q is None"),
    (lambda x, pages: fa.flash_attn_varlen_func(x[0], x[0], x[0], CU, CU, 8, None), "max_seqlen_k is None"),
    (
        lambda x, pages: fa.flash_attn_varlen_func(x[0], x, x, CU, None, 8, 8, block_table=pages),
        "cu_seqlens_k is of type NoneType",
    ),
    (
        lambda x, pages: fa.flash_attn_varlen_func(x[0], x, x, CU, 5 * CU, 8, 40, block_table=pages),
        r"^cu_seqlens_k\[0\] is 15",
    ),
    (
        lambda x, pages: fa.flash_attn_with_kvcache(x, x, x, cache_seqlens=torch.tensor([99], dtype=torch.int32)),
        r"^cache_seqlens\[0\] is 99",
    ),
    (lambda x, pages: fa.flash_attn_with_kvcache(x, x, x, cache_seqlens="a"), "cache_seqlens is of type str"),
    (lambda x, pages: fa.flash_attn_with_kvcache(x, x, x, block_table=pages.long()), "^block_table is int64"),
]


@pytest.mark.parametrize(("call", "message"), NAMED)
def test_errors_have_the_names_of_flash_attn(call, message):
    (x,) = tensors((1, 8, 2, 16))
    with pytest.raises(ValueError, match=message) as raised:
        call(x, torch.zeros(2, 1, dtype=torch.int32))
    assert isinstance(raised.value, RuntimeError)


def test_what_is_not_there_is_refused():
    q, k, v = tensors(*3 * [(1, 8, 2, 16)])
    with pytest.raises(ValueError, match="kv has the shape"):
        fa.flash_attn_kvpacked_func(q, k)
    table = torch.zeros(1, 1, dtype=torch.int32)
    for length in (9, torch.tensor([9], dtype=torch.int32)):
        with pytest.raises(RuntimeError, match="block_table"):
            fa.flash_attn_with_kvcache(q, k, v, cache_seqlens=length, block_table=table)
    with pytest.raises(ValueError, match="cache_seqlens is 8, with 1 new keys must be in 0 to 8"):
        fa.flash_attn_with_kvcache(q, k, v, k[:, :1], v[:, :1], cache_seqlens=8)
