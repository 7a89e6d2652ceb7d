"""rapt.torch.enable(): torch's own attention is computed by Rapt, and afterwards by torch again."""

import pytest
import rapt.torch
import torch
from torch.nn.functional import scaled_dot_product_attention as attend

pytestmark = pytest.mark.skipif(
    not hasattr(torch.library, "get_kernel"), reason="this torch does not give its kernels out"
)

OPERATORS = ["_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention_for_cpu_backward"]


def state():
    """All that enable() changes."""
    names = ["aten::" + name for name in OPERATORS]
    tables = [(torch._C._dispatch_dump(name), torch._C._dispatch_dump_table(name)) for name in names]
    return tables, torch.backends.mha.get_fastpath_enabled()


@pytest.fixture(autouse=True)
def restored():
    before = state()
    yield
    after = state()
    rapt.torch.disable()
    assert after == before


def taken():
    counts = rapt.torch.report().taken
    return counts.get("forward", 0), counts.get("backward", 0)


def qkv(heads_k=4, dtype=torch.float32, seqlen_k=70, head_dim=16):
    generator = torch.Generator().manual_seed(1)
    shapes = ((2, 4, 50, head_dim), (2, heads_k, seqlen_k, head_dim), (2, heads_k, seqlen_k, head_dim))
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]


def keep():
    mask = torch.rand(2, 1, 50, 70, generator=torch.Generator().manual_seed(2)) < 0.5
    mask[..., 7, :] = False
    return mask


# Later ones refuse a mask together with is_causal before they choose an operator.
TAKES_BOTH_MASKS = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 15)
CALLS = {
    "plain": {},
    "causal": {"is_causal": True},
    "scale": {"scale": 0.3},
    "gqa": {"enable_gqa": True},
    "bool mask": {"attn_mask": keep()},
    "additive mask": {"attn_mask": torch.rand(50, 70)},
}
if TAKES_BOTH_MASKS:
    CALLS["bool mask, causal"] = {"attn_mask": keep(), "is_causal": True}
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=["fp32", "bf16", "fp16"])
def test_calls_and_their_gradients(name, dtype):
    options = CALLS[name]
    if "attn_mask" in options and options["attn_mask"].is_floating_point():
        options = options | {"attn_mask": options["attn_mask"].to(dtype)}
    inputs = qkv(2 if name == "gqa" else 4, dtype)
    wide = [x.detach().double().requires_grad_() for x in inputs]
    if name == "additive mask":
        exact = attend(*wide, attn_mask=options["attn_mask"].double())
    else:
        exact = attend(*wide, **options)
    theirs = attend(*inputs, **options)
    with rapt.torch.enabled():
        ours = attend(*inputs, **options)
        gradients = torch.autograd.grad(ours.square().sum(), inputs)
        assert taken() == (1, 1) and not rapt.torch.report().refused
    assert (ours.shape, ours.stride(), ours.dtype) == (theirs.shape, theirs.stride(), theirs.dtype)
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    torch.testing.assert_close(ours.double(), exact, **tolerance)
    expected = torch.autograd.grad(exact.square().sum(), wide)
    reference = torch.autograd.grad(theirs.square().sum(), inputs)
    for gradient, one, torchs in zip(gradients, expected, reference, strict=True):
        assert (gradient.shape, gradient.dtype) == (torchs.shape, torchs.dtype)
        torch.testing.assert_close(gradient.double(), one, **tolerance)


def test_forward_and_backward_on_different_sides_of_a_switch():
    # a row with nothing to attend has lse 0 in torch, and its backward relies on it
    inputs, mask = qkv(), keep()
    expected = torch.autograd.grad(attend(*inputs, mask).sum(), inputs)
    theirs = attend(*inputs, mask)
    with rapt.torch.enabled():
        ours = attend(*inputs, mask)
        results = [torch.autograd.grad(theirs.sum(), inputs)]
        assert taken() == (1, 1)
    results.append(torch.autograd.grad(ours.sum(), inputs))
    for gradients in results:
        for gradient, one in zip(gradients, expected, strict=True):
            torch.testing.assert_close(gradient, one, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CALLS)
def test_the_operators_results_are_as_torch_promises(name):
    query, key, value = (x.detach() for x in qkv())
    options = {"attn_mask": None} | {x: y for x, y in CALLS[name].items() if x in ("attn_mask", "scale")}
    if options["attn_mask"] is not None and options["attn_mask"].dtype == torch.bool:
        options["attn_mask"] = torch.zeros(2, 1, 50, 70).masked_fill(~options["attn_mask"], -torch.inf)
    arguments = (0.0, CALLS[name].get("is_causal", False))
    forward, backward = (getattr(torch.ops.aten, operator) for operator in OPERATORS)

    def results():
        out, lse = forward(query, key, value, *arguments, **options)
        return (out, lse, *backward(out, query, key, value, out, lse, *arguments, **options))

    theirs = results()
    with rapt.torch.enabled():
        ours = results()
        assert taken() == (1, 1)
    for mine, torchs in zip(ours, theirs, strict=True):
        assert (mine.shape, mine.stride(), mine.dtype) == (torchs.shape, torchs.stride(), torchs.dtype)
        torch.testing.assert_close(mine, torchs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("heads_k, seqlen_q, head_dim, head_dim_v", [(8, 9, 192, 128), (1, 1, 576, 512)])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=["fp32", "bf16", "fp16"])
def test_latent_attention(heads_k, seqlen_q, head_dim, head_dim_v, dtype):
    """Of the prefill and of decoding. torch takes both for its math operator, because v has another head_dim."""
    shapes = ((2, 8, seqlen_q, head_dim), (2, heads_k, 40, head_dim), (2, heads_k, 40, head_dim_v))
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
    exact = attend(*(x.double() for x in inputs), enable_gqa=True)
    with rapt.torch.enabled():
        out = attend(*inputs, enable_gqa=True)
        assert taken() == (1, 0) and not rapt.torch.report().refused
    torch.testing.assert_close(out.double(), exact, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_query_that_lies_as_heads_last():
    query, key, value = (x.detach().transpose(1, 2).contiguous().transpose(1, 2) for x in qkv())
    expected = attend(query, key, value)
    with rapt.torch.enabled():
        out = attend(query, key, value)
        assert taken() == (1, 0)
    assert out.stride() == expected.stride()
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)


LEFT_TO_TORCH = {
    "float64": (qkv(dtype=torch.float64), {}, "float64"),
    "head_dim": (qkv(head_dim=600), {}, "q has head_dim 600, must be in 1 to 576"),
}


@pytest.mark.parametrize("name", LEFT_TO_TORCH)
def test_what_is_left_to_torch_is_reported(name):
    inputs, options, reason = LEFT_TO_TORCH[name]
    expected = attend(*inputs, **options)
    gradients = torch.autograd.grad(expected.sum(), inputs)
    with rapt.torch.enabled():
        out = attend(*inputs, **options)
        results = torch.autograd.grad(out.sum(), inputs)
        report = rapt.torch.report()
    assert (out == expected).all()
    assert all((x == y).all() for x, y in zip(results, gradients, strict=True))
    assert taken() == (0, 0) and sum(report.refused.values()) == 2
    assert all(reason in message for message in report.refused) and reason in str(report)


def test_errors_of_torch_stay_its_own():
    query, key, value = qkv()
    with rapt.torch.enabled(), pytest.raises(RuntimeError, match="same dtype"):
        attend(query, key.half(), value)


def test_an_error_while_enabling_leaves_everything_as_it_was(monkeypatch):
    def none(*_):
        raise RuntimeError("no such kernel")

    q = torch.randn(1, 2, 8, 16)
    with monkeypatch.context() as patch:
        patch.setattr(torch.library, "get_kernel", none)
        for switch in (rapt.torch.enable, rapt.torch.enabled().__enter__):
            with pytest.raises(RuntimeError, match="no such kernel"):
                switch()
            assert not rapt.torch.report().enabled and torch.backends.mha.get_fastpath_enabled()
    with rapt.torch.enabled():
        attend(q, q, q)
        assert rapt.torch.report().taken == {"forward": 1}
    assert not rapt.torch.report().enabled


def test_the_reasons_that_a_report_keeps_are_bounded():
    from rapt.torch.report import Counts

    counts = Counts()
    for i in range(1000):
        counts.refuse(f"seqlen {i}")
    assert len(counts.refused) <= 101 and sum(counts.refused.values()) == 1000


def test_inference_mode_and_no_grad():
    query, key, value = (x.detach() for x in qkv())
    with rapt.torch.enabled():
        with torch.inference_mode():
            assert attend(query, key, value).is_inference()
        with torch.no_grad():
            attend(*qkv())
        assert taken() == (2, 0)


def test_vmap():
    inputs = [torch.stack([x.detach(), 2 * x.detach()]) for x in qkv()]
    expected = torch.vmap(attend)(*inputs)
    with rapt.torch.enabled():
        out = torch.vmap(attend)(*inputs)
        assert taken()[0] >= 1
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)


def test_autocast():
    with rapt.torch.enabled(), torch.autocast("cpu", torch.bfloat16):
        assert attend(*qkv()).dtype == torch.bfloat16
        assert taken() == (1, 0)


def models():
    torch.manual_seed(3)
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return {
        "MultiheadAttention": torch.nn.MultiheadAttention(32, 4, batch_first=True),
        "TransformerEncoderLayer": layer,
        "TransformerEncoder": torch.nn.TransformerEncoder(layer, 2),
    }


@pytest.mark.parametrize("padded", [False, True], ids=["", "padded"])
@pytest.mark.parametrize("name", models())
def test_torchs_modules_in_eval_mode(name, padded):
    model = models()[name].eval()
    x = torch.randn(3, 10, 32)
    padding = torch.arange(10).ge(torch.tensor([[10], [7], [4]])) if padded else None

    def run():
        with torch.no_grad():
            if name == "MultiheadAttention":
                return model(x, x, x, key_padding_mask=padding, need_weights=False)[0]
            return model(x, src_key_padding_mask=padding)

    expected = run()
    with rapt.torch.enabled():
        out = run()
        assert taken() == (2 if name == "TransformerEncoder" else 1, 0)
    rows = ~padding if padded else slice(None)  # torch's fast path gives zeros for padding
    torch.testing.assert_close(out[rows], expected[rows], rtol=1e-5, atol=1e-5)


def test_a_module_in_training():
    model = models()["TransformerEncoder"]
    for layer in model.layers:
        layer.self_attn.dropout = 0.0  # torch's flash operators take none on a CPU
    with rapt.torch.enabled():
        model(torch.randn(3, 10, 32)).sum().backward()
        assert taken() == (2, 2)


def test_a_build_whose_gpu_operators_are_missing(monkeypatch):
    """Only what is there is replaced. Builds for ROCm have their operators at the key CUDA; this build has none."""
    if torch.version.cuda or torch.version.hip:
        pytest.skip("this torch has operators for GPUs")
    monkeypatch.setattr(torch.version, "hip", "7.2")
    monkeypatch.setattr(torch.cuda, "_lazy_call", lambda function: None)
    with rapt.torch.enabled():
        attend(*qkv()).sum().backward()
        assert taken() == (1, 1)
