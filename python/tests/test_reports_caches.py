"""Public reports about packed sequences and KV caches of other libraries (docs/public-reports.md)."""

import pytest
import rapt
import rapt.flash_attn as fa
import torch
from exact import assert_close, attention, places, randn, with_gradients
from placed import DEVICES, fetch, place

on_each_device = pytest.mark.parametrize("device", DEVICES)
HALF = torch.float16


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


def decode(device, q, k, v, **options):
    """Attention to a cache; memory for the result holds NaN before."""
    out = place(torch.full((*q.shape[:-1], v.shape[-1]), torch.nan, dtype=q.dtype), device)
    placed = {name: place(x, device) for name, x in options.items()}
    rapt.attention(*(place(x, device) for x in (q, k, v)), out=out, **placed)
    return fetch(out)


def exact_rows(q, k, v, lengths, causal=False):
    """Each sequence alone with its own keys, in float64."""
    found = []
    for row, keys, values, n in zip(q, k, v, lengths, strict=True):
        seen = places(len(row), n, n - len(row)) <= 0 if causal else None
        found.append(attention(*(x[None].double() for x in (row, keys[:n], values[:n])), allowed=seen))
    return torch.cat(found)


def packed(device, dout, qkv, lengths_q, lengths_k, **options):
    """out and gradients of packed sequences, and the same in float64, sequence by sequence."""
    cu = [torch.tensor([0, *n]).cumsum(0).int() for n in (lengths_q, lengths_k)]
    given = {"cu_seqlens_q": place(cu[0], device), "cu_seqlens_k": place(cu[1], device)}
    given |= {"max_seqlen_q": max(lengths_q), "max_seqlen_k": max(lengths_k), **options}
    placed = [place(x, device) for x in qkv]
    q = qkv[0]
    out, lse = place(torch.full_like(q, torch.nan), device), place(torch.full((q.shape[1], len(q)), torch.nan), device)
    rapt._core.forward(*placed, out, lse, **given)
    memory = {f"d{n}": place(torch.full_like(x, torch.nan), device) for n, x in zip("qkv", qkv, strict=True)}
    rapt._core.backward(*placed, out, lse, place(dout, device), *memory.values(), None, None, **given)
    exact = [[], [], [], []]
    rows = zip(dout.split(lengths_q), q.split(lengths_q), *(x.split(lengths_k) for x in qkv[1:]), strict=True)
    for each in rows:
        n_q, n_k = len(each[0]), len(each[2])
        stated = {"allowed": places(n_q, n_k, n_k - n_q) <= 0} if options.get("causal") else {}
        stated |= {"softcap": options.get("softcap", 0.0), "scale": options.get("softmax_scale")}
        found, gradients = with_gradients(*(x[None] for x in each), **stated)
        for parts, x in zip(exact, (found, *gradients), strict=True):
            parts.append(x[0])
    return [fetch(x) for x in (out, *memory.values())], [torch.cat(parts) for parts in exact]


@on_each_device
@pytest.mark.parametrize(
    "lengths_q, lengths_k, heads, options",
    [
        pytest.param([1, 0, 1], [3, 0, 5], (9, 3, 64), {"causal": True}, id="flash-attention#1537"),
        pytest.param([0, 0, 0, 1], [0, 0, 0, 1], (21, 7, 120), {"softmax_scale": 11.0}, id="flash-attention#1619"),
        pytest.param([0, 12, 8, 0], [25, 17, 8, 30], (4, 1, 256), {}, id="flash-attention#2562"),
        pytest.param([15, 40], [15, 40], (2, 1, 64), {"causal": True, "softcap": 5.0}, id="flash-attention#2544"),
    ],
)
def test_packed(device, lengths_q, lengths_k, heads, options):
    """Sequences without queries or keys, of one query, and with softcap."""
    heads_q, heads_k, d = heads
    q, dout = (randn(sum(lengths_q), heads_q, d, dtype=HALF) for _ in range(2))
    k, v = (randn(sum(lengths_k), heads_k, d, dtype=HALF) for _ in range(2))
    results, exact = packed(device, dout, (q, k, v), lengths_q, lengths_k, **options)
    largest = max(x.abs().max().item() for x in exact)
    for name, result, expected in zip(("out", "dq", "dk", "dv"), results, exact, strict=True):
        assert_close(name, result, expected, scale=largest, factor=2)
    for n_q, dk, dv in zip(lengths_q, *(x.split(lengths_k) for x in results[2:]), strict=True):
        assert n_q or not (dk.any() or dv.any())


@on_each_device
def test_a_slice_of_the_cache_is_the_cache(device):
    """flash-attention#1417: a cache longer than cache_seqlens gave another result than one cut to that length."""
    q, k, v = randn(2, 1, 4, 64, dtype=HALF), *(randn(2, 600, 4, 64, dtype=HALF) for _ in "kv")
    whole = decode(device, q, k, v, seqused_k=ints(70, 70))
    for rows in (70, 128, 300):
        cut = decode(device, q, k[:, :rows], v[:, :rows], seqused_k=ints(70, 70))
        assert_close("out", cut, whole.double())
    assert_close("out", whole, exact_rows(q, k, v, (70, 70)))


def test_cache_whose_sequences_are_gigabytes_apart():
    """flash-attention#772: with 2^30 elements from sequence to sequence, new keys went to another sequence's rows."""
    q, new_k, new_v = (randn(2, 1, 1, 16, dtype=HALF) for _ in range(3))
    memory = torch.empty(2 * 2**30 + 64, dtype=torch.int16).view(HALF)  # pages that nobody touches are not allocated
    k = memory.as_strided((3, 4, 1, 16), (2**30, 16, 16, 1))
    v = torch.zeros(3, 4, 1, 16, dtype=HALF)
    k.zero_()
    used, rows = ints(1, 2), ints(1, 2)
    fa.flash_attn_with_kvcache(q, k, v, new_k, new_v, cache_seqlens=used, cache_batch_idx=rows)
    assert torch.equal(k[1, 1], new_k[0, 0]) and torch.equal(k[2, 2], new_k[1, 0])
    k[1, 1], k[2, 2] = 0, 0
    assert not k.any()


@on_each_device
def test_nan_in_unused_rows_of_a_cache(device):
    """flash-attention#1745, #2374: 0 * NaN of rows behind the sequence reached the result."""
    q, k, v = (randn(2, n, 1, 64, dtype=HALF) for n in (3, 40, 40))
    for b, n in enumerate((1, 33)):
        k[b, n:] = v[b, n:] = torch.nan
    out = decode(device, q, k, v, seqused_k=ints(1, 33))
    assert_close("out", out, exact_rows(q, k, v, (1, 33)))


@pytest.mark.parametrize("num_splits", [0, 1, 16, 32])
def test_the_number_of_splits_changes_nothing(num_splits):
    """flash-attention#1647: 16 and 32 splits gave other results."""
    q, k, v = randn(1, 1, 4, 64, dtype=HALF), *(randn(1, 1024, 2, 64, dtype=HALF) for _ in "kv")
    out = fa.flash_attn_with_kvcache(q, k, v, cache_seqlens=ints(1000), num_splits=num_splits)
    assert_close("out", out, exact_rows(q, k, v, (1000,)))


@on_each_device
def test_packed_queries_long_paged_keys(device):
    """flash-attention#1217: packed queries, pages and split keys together gave wrong results."""
    lengths_q, lengths_k, page = [1, 3, 2], [700, 130, 5], 16
    q = randn(6, 4, 64, dtype=HALF)
    k, v = (randn(3, 704, 2, 64, dtype=HALF) for _ in "kv")
    table = torch.randperm(3 * 44).int().view(3, 44)
    pages_k, pages_v = (torch.empty(132, page, 2, 64, dtype=HALF) for _ in "kv")
    for pages, rows in ((pages_k, k), (pages_v, v)):
        pages[table.long()] = rows.unflatten(1, (44, page))
    options = {"cu_seqlens_q": ints(0, 1, 4, 6), "max_seqlen_q": 3, "causal": True, "block_table": table}
    out = decode(device, q, pages_k, pages_v, seqused_k=ints(*lengths_k), **options)
    for each, *keys, n in zip(out.split(lengths_q), q.split(lengths_q), k, v, lengths_k, strict=True):
        assert_close("out", each[None], exact_rows(*([x] for x in keys), [n], causal=True))


@on_each_device
def test_the_length_of_one_sequence_changes_no_other(device):
    """flash-attention#1570: the results of other sequences changed when one became shorter."""
    q, k, v = randn(4, 1, 8, 128, dtype=HALF), *(randn(4, 300, 2, 128, dtype=HALF) for _ in "kv")
    before, after = (decode(device, q, k, v, seqused_k=ints(n, 290, 33, 150)) for n in (270, 180))
    assert torch.equal(before[1:], after[1:]) and not torch.equal(before[0], after[0])
    assert_close("out", after, exact_rows(q, k, v, (180, 290, 33, 150)))


def test_alibi_of_packed_sequences_is_that_of_the_cache():
    """flash-attention#907: cross attention with ALiBi differed between training and inference."""
    slopes = torch.tensor([0.5, 0.25])
    q, k, v = randn(2, 1, 2, 32, dtype=HALF), *(randn(2, 20, 2, 32, dtype=HALF) for _ in "kv")
    lengths = [13, 20]
    rows = [torch.cat([x[b, :n] for b, n in enumerate(lengths)]) for x in (k, v)]
    trained = fa.flash_attn_varlen_func(
        q.flatten(0, 1), *rows, ints(0, 1, 2), ints(0, 13, 33), 1, 20, alibi_slopes=slopes
    )
    decoded = fa.flash_attn_with_kvcache(q, k, v, cache_seqlens=ints(*lengths), alibi_slopes=slopes)
    for b, n in enumerate(lengths):
        added = -slopes.double()[None, :, None, None] * places(1, n, n - 1).abs()
        expected = attention(*(x[b : b + 1, : x.shape[1] if x is q else n].double() for x in (q, k, v)), added=added)
        assert_close("packed", trained[b][None, None], expected)
        assert_close("cache", decoded[b : b + 1], expected)


@pytest.mark.parametrize("new", [1, 2, 5])
def test_rotary_of_several_new_keys(new):
    """flash-attention#1402: rotary embedding in the cache's call differed from its own for more than one query."""
    d, used = 16, 7
    angles = torch.outer(torch.arange(32.0), 10000 ** (-torch.arange(0, d, 2) / d)).double()
    q, k, v = (randn(2, new, 2, d) for _ in range(3))
    k_cache, v_cache = (randn(2, 32, 2, d) for _ in "kv")
    before = k_cache.clone()

    def rotated(x):
        cos, sin = (torch.cat(2 * [f(angles[used : used + new])], -1)[None, :, None] for f in (torch.cos, torch.sin))
        first, second = x.double().chunk(2, -1)
        return x * cos + torch.cat((-second, first), -1) * sin

    out = fa.flash_attn_with_kvcache(
        q, k_cache, v_cache, k, v, rotary_cos=angles.cos().float(), rotary_sin=angles.sin().float(),
        cache_seqlens=ints(used, used), causal=True, rotary_interleaved=False,
    )  # fmt: skip
    keys = torch.cat((before[:, :used].double(), rotated(k)), 1)
    expected = exact_rows(rotated(q), keys, v_cache[:, : used + new], 2 * [used + new], causal=True)
    assert_close("out", out, expected)
    assert_close("cache", k_cache[:, used : used + new], rotated(k))


@on_each_device
def test_stale_entries_at_the_end_of_a_block_table(device):
    """vllm#42494: entries behind a sequence's pages were read, so they had to be pages that exist."""
    q, pages_k, pages_v = randn(2, 1, 4, 64, dtype=HALF), *(randn(5, 16, 2, 64, dtype=HALF) for _ in "kv")
    table = ints(3, 1, -1, 2**30, 4, -7, 2**31 - 1, -(2**31)).view(2, 4)
    out = decode(device, q, pages_k, pages_v, seqused_k=ints(20, 16), block_table=table)
    k, v = (x[torch.tensor([[3, 1], [4, 0]])].flatten(1, 2) for x in (pages_k, pages_v))
    assert_close("out", out, exact_rows(q, k, v, (20, 16)))


@on_each_device
def test_sequences_of_different_lengths_in_one_batch(device):
    """llama.cpp#7903: tokens of sequences that are decoded together were corrupted; jax#23349: lengths were ignored."""
    lengths = (1, 31, 32, 33, 64, 65, 200, 7)
    q, k, v = randn(8, 1, 8, 64, dtype=HALF), *(randn(8, 200, 2, 64, dtype=HALF) for _ in "kv")
    out = decode(device, q, k, v, seqused_k=ints(*lengths))
    assert_close("out", out, exact_rows(q, k, v, lengths))


@on_each_device
def test_nothing_is_written_beside_the_new_keys(device):
    """flash-attention#638: a call with a cache changed tensors that it was not given."""
    q, new_k, new_v = (randn(1, 2, 2, 64, dtype=HALF) for _ in range(3))
    memory = randn(3, 16, 2, 64, dtype=HALF)  # guard, cache, guard
    before = memory.clone()
    k, v = place(memory, device), place(memory.clone(), device)
    caches = [x[1:2] for x in (k, v)] if device == "cpu" else [k, v]
    rows = {"cache_batch_idx": place(ints(0 if device == "cpu" else 1), device)}
    out = place(torch.full_like(q, torch.nan), device)
    new = {"new_k": place(new_k, device), "new_v": place(new_v, device)}
    rapt.attention(place(q, device), *caches, out=out, causal=True, seqused_k=place(ints(9), device), **new, **rows)
    for cache, added in ((fetch(k), new_k), (fetch(v), new_v)):
        assert torch.equal(cache[1, 9:11], added[0])
        cache[1, 9:11] = before[1, 9:11]
        assert torch.equal(cache, before)
