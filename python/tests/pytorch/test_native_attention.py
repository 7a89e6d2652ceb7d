"""The fused path of nn.MultiheadAttention and nn.TransformerEncoder in eval mode, while Rapt is enabled."""

import pytest
import rapt.torch
import torch

pytestmark = [
    pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="this torch does not give its kernels out"),
    pytest.mark.filterwarnings("ignore"),  # torch's, about nested tensors and types of masks
]

EMBED, HEADS, ROWS = 32, 4, 10


@pytest.fixture(autouse=True)
def without_gradients():
    torch.manual_seed(5)
    with torch.no_grad():
        yield
    rapt.torch.disable()


def attention():
    return torch.nn.MultiheadAttention(EMBED, HEADS, batch_first=True).eval()


def encoder():
    layer = torch.nn.TransformerEncoderLayer(EMBED, HEADS, 64, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2).eval()


def taken():
    return rapt.torch.report().taken.get("forward", 0)


def close(out, expected):
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)


PADDING = torch.arange(ROWS).ge(torch.tensor([[10], [7], [1]]))
CAUSAL = torch.ones(ROWS, ROWS, dtype=torch.bool).triu(1)


@pytest.mark.parametrize(
    "masks",
    [{}, {"key_padding_mask": PADDING}, {"attn_mask": CAUSAL}, {"key_padding_mask": PADDING, "attn_mask": CAUSAL}],
)
def test_masks(masks):
    model, x = attention(), torch.randn(3, ROWS, EMBED)
    expected, no_weights = model(x, x, x, need_weights=False, **masks)
    with rapt.torch.enabled():
        out, weights = model(x, x, x, need_weights=False, **masks)
        assert taken() == 1 and not rapt.torch.report().refused
    assert weights is None and no_weights is None
    close(out, expected)


def test_the_matrix_of_probabilities_is_torchs():
    model, x = attention(), torch.randn(3, ROWS, EMBED)
    expected = model(x, x, x)
    with rapt.torch.enabled():
        results = model(x, x, x)
        assert not taken() and "need_weights" in str(rapt.torch.report())
    for result, wanted in zip(results, expected, strict=True):
        close(result, wanted)


def test_padded_rows_are_nested_tensors():
    model, x = encoder(), torch.randn(3, ROWS, EMBED)
    expected = model(x, src_key_padding_mask=PADDING)
    assert not expected[PADDING].any()
    with rapt.torch.enabled():
        out = model(x, src_key_padding_mask=PADDING)
        assert taken() == 2 and not rapt.torch.report().refused
    close(out, expected)


def test_nested_tensors():
    x = torch.nested.nested_tensor([torch.randn(n, EMBED) for n in (4, 0, 7)])
    for model, call in ((encoder(), lambda m: m(x)), (attention(), lambda m: m(x, x, x, need_weights=False)[0])):
        expected = call(model)
        with rapt.torch.enabled():
            out = call(model)
            assert taken()
        assert out.is_nested
        for row, wanted in zip(out.unbind(), expected.unbind(), strict=True):
            close(row, wanted)


def test_float64_stays_with_torch():
    model = encoder().double()
    x = torch.nested.nested_tensor([torch.randn(n, EMBED, dtype=torch.float64) for n in (4, 7)])
    expected = model(x)
    with rapt.torch.enabled():
        out = model(x)
        assert not taken() and "float64" in str(rapt.torch.report())
    for row, wanted in zip(out.unbind(), expected.unbind(), strict=True):
        close(row, wanted)


def test_a_row_with_nothing_to_attend_is_the_projection_of_0():
    """torch's own kernel gives NaN."""
    model, x = attention(), torch.randn(1, ROWS, EMBED)
    with rapt.torch.enabled():
        out, _ = model(x, x, x, key_padding_mask=torch.ones(1, ROWS, dtype=torch.bool), need_weights=False)
    close(out, model.out_proj.bias.expand(1, ROWS, -1))


def test_a_mask_of_numbers_is_added():
    """torch's own kernel takes each number but 0 for -inf."""
    model, x, mask = encoder(), torch.randn(3, ROWS, EMBED), torch.randn(ROWS, ROWS)
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        expected = model(x, mask=mask)
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    with rapt.torch.enabled():
        close(model(x, mask=mask), expected)
        assert taken() == 2


def test_a_graph_that_was_compiled_before():
    model, x = encoder(), torch.randn(3, ROWS, EMBED)
    compiled = torch.compile(model, backend="aot_eager")
    expected = compiled(x)
    with rapt.torch.enabled():
        close(compiled(x), expected)
        assert taken() == 2
