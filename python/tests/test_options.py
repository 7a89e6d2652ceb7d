"""Options that test_attention.py does not have: packed sequences, KV caches, dropout, memory given, how to run."""

import numpy as np
import pytest
import rapt
from reference import assert_within_rule, forward

RNG = np.random.default_rng(5)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def test_packed_sequences():
    lengths_q, lengths_k = [3, 0, 7], [5, 2, 4]
    cu_q, cu_k = (np.cumsum([0, *lengths], dtype=np.int32) for lengths in (lengths_q, lengths_k))
    q, k, v = normal(10, 4, 8), normal(11, 2, 8), normal(11, 2, 8)
    options = {"cu_seqlens_q": cu_q, "cu_seqlens_k": cu_k, "max_seqlen_q": 7, "max_seqlen_k": 5, "causal": True}
    out, lse = rapt.attention(q, k, v, return_lse=True, **options)
    assert out.shape == q.shape and lse.shape == (4, 10)
    dout = normal(*out.shape)
    gradients = rapt.attention_backward(dout, q, k, v, out, lse, **options)
    for b in range(3):
        rows, keys = slice(cu_q[b], cu_q[b + 1]), slice(cu_k[b], cu_k[b + 1])
        one = [x[None] for x in (q[rows], k[keys], v[keys])]
        alone, alone_lse = rapt.attention(*one, return_lse=True, causal=True)
        assert np.abs(out[rows] - alone[0]).max(initial=0) <= 1e-6
        np.testing.assert_allclose(lse[:, rows], alone_lse[0], rtol=0, atol=1e-6)
        if lengths_q[b]:
            dq, dk, dv, _, _ = rapt.attention_backward(dout[rows][None], *one, alone, alone_lse, causal=True)
            assert np.abs(gradients.dq[rows] - dq[0]).max() <= 1e-5
            assert np.abs(gradients.dk[keys] - dk[0]).max() <= 1e-5
            assert np.abs(gradients.dv[keys] - dv[0]).max() <= 1e-5


@pytest.mark.parametrize("page", [0, 4])
def test_kv_cache(page):
    """Two sequences with 5 and 8 keys in a cache of 12 rows, and two new keys; pages are in any order."""
    used, new = np.array([5, 8], np.int32), 2
    k, v = normal(2, 12, 2, 16), normal(2, 12, 2, 16)
    q, new_k, new_v = normal(2, new, 4, 16), normal(2, new, 2, 16), normal(2, new, 2, 16)
    cache_k, cache_v, options = k.copy(), v.copy(), {}
    if page:
        table = np.array([[5, 0, 3], [1, 4, 2]], np.int32)
        options["block_table"] = table
        cache_k, cache_v = (np.empty((6, page, 2, 16), np.float32) for _ in range(2))
        for b in range(2):
            cache_k[table[b]], cache_v[table[b]] = k[b].reshape(3, page, 2, 16), v[b].reshape(3, page, 2, 16)
    out = rapt.attention(q, cache_k, cache_v, causal=True, seqused_k=used, new_k=new_k, new_v=new_v, **options)
    for b in range(2):
        keys, values = (np.concatenate([x[b, : used[b]], y[b]])[None] for x, y in ((k, new_k), (v, new_v)))
        exact, _, _ = forward(q[b : b + 1], keys, values, causal=True)
        assert np.abs(out[b] - exact[0]).max() <= 1e-6
        stored = cache_k[options["block_table"][b]].reshape(12, 2, 16) if page else cache_k[b]
        assert (stored[used[b] : used[b] + new] == new_k[b]).all()


def test_the_rest_of_the_cache_options():
    cache = normal(3, 8, 1, 8)
    q = normal(2, 1, 1, 8)
    rows, leftpad = np.array([2, 0], np.int32), np.array([1, 3], np.int32)
    out = rapt.attention(q, cache, cache, cache_batch_idx=rows, leftpad_k=leftpad)
    for b in range(2):
        keys = cache[rows[b], leftpad[b] :][None]
        assert np.abs(out[b] - forward(q[b : b + 1], keys, keys)[0][0]).max() <= 1e-6

    angle = np.arange(8)[:, None] / 10.0 ** np.arange(2)
    rotary = {"rotary_cos": np.cos(angle).astype(np.float32), "rotary_sin": np.sin(angle).astype(np.float32)}
    used = np.array([4, 2], np.int32)
    new = {"seqused_k": used, "new_k": normal(2, 1, 1, 8), "new_v": normal(2, 1, 1, 8)}
    for interleaved in (False, True):
        cache_k, cache_v = normal(2, 8, 1, 8), normal(2, 8, 1, 8)
        rapt.attention(q, cache_k, cache_v, **new, **rotary, rotary_interleaved=interleaved)
        for b in range(2):
            x = new["new_k"][b, 0, 0]
            first, second = (x[0:4:2], x[1:4:2]) if interleaved else (x[:2], x[2:4])
            rotated = cache_k[b, used[b], 0]
            got = (rotated[0:4:2], rotated[1:4:2]) if interleaved else (rotated[:2], rotated[2:4])
            cos, sin = np.cos(angle[used[b]]), np.sin(angle[used[b]])
            assert np.abs(got[0] - (first * cos - second * sin)).max() <= 1e-6
            assert np.abs(got[1] - (first * sin + second * cos)).max() <= 1e-6
            assert (rotated[4:] == x[4:]).all()


def test_dropout_is_a_function_of_its_seed_and_offset():
    q, k, v = normal(1, 64, 2, 16), normal(1, 64, 2, 16), np.ones((1, 64, 2, 16), np.float32)
    options = {"dropout": 0.25, "dropout_seed": 2**64 - 1}
    out, lse = rapt.attention(q, k, v, return_lse=True, **options)
    assert (out == rapt.attention(q, k, v, **options)).all()
    assert (out != rapt.attention(q, k, v, **options, dropout_offset=1)).any()
    assert (lse == rapt.attention(q, k, v, return_lse=True)[1]).all(), "lse must be the same as without dropout"
    assert 0.9 < out.mean() < 1.1 and out.std() > 0.01
    # out is linear in v: <dout, out> is <dv, v>, if and only if the backward drops the same elements.
    dout = normal(*out.shape)
    dv = rapt.attention_backward(dout, q, k, v, out, lse, wrt=("v",), **options).dv
    assert np.isclose((dout * out).sum(dtype=np.float64), (dv * v).sum(dtype=np.float64), rtol=1e-4)


def test_memory_of_the_callers():
    q, k, v = normal(1, 40, 4, 8), normal(1, 50, 2, 8), normal(1, 50, 2, 24)
    given = np.full((1, 4, 40, 24), np.nan, np.float32).transpose(0, 2, 1, 3)
    out, lse = rapt.attention(q, k, v, out=given, return_lse=True)
    assert out is given and (out == rapt.attention(q, k, v)).all()
    dk = np.full_like(k, np.nan)
    gradients = rapt.attention_backward(out, q, k, v, out, lse, wrt=("q",), dk=dk)
    assert gradients.dk is dk and gradients.dv is None and np.isfinite(gradients.dq).all() and np.isfinite(dk).all()

    bytes_ = rapt._core.forward_workspace(q, k, v, given)
    memory = np.empty(bytes_ + 64, np.uint8)
    workspace = memory[-memory.ctypes.data % 64 :][:bytes_]
    assert (rapt.attention(q, k, v, workspace=workspace) == out).all()


def test_any_number_of_threads_gives_the_same_bits():
    q, k, v = normal(2, 300, 4, 64), normal(2, 300, 4, 64), normal(2, 300, 4, 64)
    results = [rapt.attention(q, k, v, num_threads=threads, deterministic=True) for threads in (1, 2, 3, None)]
    assert all((result == results[0]).all() for result in results[1:])


def test_backends_by_name():
    q = normal(1, 20, 2, 32)
    (exact, _, limit), plain = forward(q, q, q), rapt.attention(q, q, q, backend="math")
    portable = rapt.attention(q, q, q, backend="cpu.portable")
    assert_within_rule("out", portable, exact, plain, limit)
    wide = q.astype(np.float64)
    assert np.abs(rapt.attention(wide, wide, wide, backend="math") - exact).max() <= 1e-13
    with pytest.raises(NotImplementedError, match="fp64"):
        rapt.attention(wide, wide, wide, backend="cpu")
    with pytest.raises(ValueError, match="backend"):
        rapt.attention(q, q, q, backend="cpv")
