"""Public reports about other libraries of attention, each as its smallest input here (docs/public-reports.md).

Forward and backward are compared with float64 arithmetic, on the CPU and on a simulated GPU.
"""

import pytest
import torch
from exact import assert_close, places, randn, with_gradients
from placed import DEVICES, run

HALF, BRAIN, SINGLE = torch.float16, torch.bfloat16, torch.float32


def qkv(batch, rows, keys, heads, heads_k, head_dim, dtype=SINGLE, factor=1.0):
    q = randn(batch, rows, heads, head_dim, dtype=dtype, factor=factor)
    return q, *(randn(batch, keys, heads_k, head_dim, dtype=dtype, factor=factor) for _ in "kv")


def one_query_one_key():
    return qkv(1, 1, 1, 1, 1, 16, HALF, 3), {}, {}


def large_fp16_logits():
    return qkv(1, 200, 200, 1, 1, 128, HALF, 3), {"causal": True}, {"allowed": places(200, 200) <= 0}


def eight_columns(dtype):
    return qkv(5, 10, 10, 4, 4, 8, dtype), {}, {}


def one_key_beyond_a_block():
    return qkv(1, 1, 257, 1, 1, 32, BRAIN), {"softmax_scale": 1 / 32}, {"scale": 1 / 32}


def keys_of_stride_0():
    q, k, v = qkv(3, 5, 33, 2, 2, 32, BRAIN)
    mask = randn(3, 1, 5, 33) > -1
    return (q, k[:1].expand(3, -1, -1, -1), v[:1].expand(3, -1, -1, -1)), {"mask": mask}, {"allowed": mask}


def window_to_the_left_alone():
    return qkv(1, 40, 40, 2, 2, 32), {"window": (5, 0)}, {"allowed": (places(40, 40) >= -5) & (places(40, 40) <= 0)}


def window_to_the_right_alone():
    return qkv(1, 40, 48, 2, 2, 32), {"window": (0, 7)}, {"allowed": abs(places(40, 48, 8) - 3.5) <= 3.5}


def width_of_a_causal_window():
    allowed = (places(40, 40) >= -16) & (places(40, 40) <= 0)  # 17 keys
    return qkv(1, 40, 40, 2, 2, 32), {"window": (16, 0), "causal": True}, {"allowed": allowed}


def mask_of_padded_keys():
    mask = (torch.arange(32)[None] < torch.tensor([3, 32, 17, 9])[:, None])[:, None, None]
    return qkv(4, 32, 32, 4, 4, 16, BRAIN), {"mask": mask}, {"allowed": mask}


def bias_of_43_keys():
    return qkv(2, 43, 43, 2, 2, 16, HALF), {"bias": randn(2, 2, 43, 48, dtype=HALF)[..., :43]}, {}


def bias_is_not_scaled():
    bias = randn(1, 2, 20, 24)
    return qkv(1, 20, 24, 2, 2, 32), {"bias": bias, "softmax_scale": 3.0}, {"scale": 3.0}


def sink_beside_a_right_window():
    allowed = abs(places(30, 30)) <= 4
    return qkv(1, 30, 30, 2, 2, 32), {"window": (4, 4), "sink": randn(2)}, {"allowed": allowed}


def sink_of_each_head():
    causal = {"causal": True, "sink": torch.tensor([0.5, -2.0, 4.0, 0.0])}
    return qkv(2, 33, 33, 4, 2, 64, BRAIN), causal, {"allowed": places(33, 33) <= 0}


def more_queries_than_keys():
    return qkv(1, 70, 40, 2, 2, 32, HALF), {"causal": True}, {"allowed": places(70, 40, -30) <= 0}


def softcap():
    return qkv(1, 64, 64, 2, 1, 64, BRAIN, 2), {"softcap": 10.0, "causal": True}, {
        "softcap": 10.0, "allowed": places(64, 64) <= 0,
    }  # fmt: skip


def rows_with_nothing_to_attend():
    mask = torch.zeros(1, 1, 8, 8, dtype=torch.bool)
    mask[..., :4, :4] = True
    return qkv(1, 8, 8, 1, 1, 8), {"mask": mask}, {"allowed": mask}


def blocks_on_the_diagonal():
    block = torch.tensor([0] * 13 + [1] * 13 + [2] * 13 + [-1] * 10 + [3] * 11)
    mask = ((block[:, None] == block) & (block >= 0))[None, None].expand(1, 2, -1, -1)
    return qkv(1, 60, 60, 2, 2, 80, BRAIN), {"mask": mask}, {"allowed": mask}


def padding_on_the_left_as_numbers():
    seen = (places(7, 7) <= 0) & (torch.arange(7) >= 3)
    seen[:3] = True  # torch.finfo.min in all places is a row of equal weights, here with a causal 0 elsewhere
    bias = torch.zeros(2, 1, 7, 7, dtype=HALF)
    bias[1, 0][~seen] = torch.finfo(HALF).min
    return qkv(2, 7, 7, 2, 2, 32, HALF), {"bias": bias}, {}


def scale_zero():
    return qkv(1, 12, 12, 2, 2, 16), {"softmax_scale": 0.0}, {"scale": 0.0}


def scale_given():
    return qkv(1, 32, 32, 16, 16, 64, BRAIN), {"softmax_scale": 0.6}, {"scale": 0.6}


def slopes_of_other_heads():
    slopes = torch.tensor([2.0**-3, 2.0**-4])  # heads 2 and 3 of 8, on a rank that has only two
    distance = places(20, 20).abs()
    options = {"causal": True, "alibi_slopes": slopes}
    added = -slopes[None, :, None, None].double() * distance
    return qkv(1, 20, 20, 2, 2, 32), options, {"added": added, "allowed": places(20, 20) <= 0}


CASES = {
    "flash-attention#334": one_query_one_key,
    "flash-attention#1052": large_fp16_logits,
    "pytorch#119772-fp16": lambda: eight_columns(HALF),
    "pytorch#119772-bf16": lambda: eight_columns(BRAIN),
    "flash-attention#1076": one_key_beyond_a_block,
    "pytorch#191937": keys_of_stride_0,
    "jax#39576": window_to_the_left_alone,
    "jax#32300": window_to_the_right_alone,
    "TransformerEngine#1197": width_of_a_causal_window,
    "jax#28974": mask_of_padded_keys,
    "xformers#813": bias_of_43_keys,
    "xformers#576": bias_is_not_scaled,
    "rocm-libraries#6914": sink_beside_a_right_window,
    "flash-attention#1973": sink_of_each_head,
    "flash-attention#1778": more_queries_than_keys,
    "flash-attention#2466": softcap,
    "pytorch#103963": rows_with_nothing_to_attend,
    "pytorch#108503": blocks_on_the_diagonal,
    "pytorch#147460": padding_on_the_left_as_numbers,
    "SKaiNET#860": scale_zero,
    "tt-metal#33304": scale_given,
    "flashinfer#5101": slopes_of_other_heads,
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("report", CASES)
def test_against_float64(report, device):
    tensors, options, stated = CASES[report]()
    q, _, v = tensors
    dout = randn(*q.shape[:3], v.shape[3], dtype=q.dtype)
    out, gradients = run(device, tensors, options, dout)
    given = {name: options[name] for name in ("bias", "sink") if name in options}
    exact, exact_gradients = with_gradients(dout, *tensors, **given, **stated)
    assert_close("out", out, exact)
    largest = max(x.abs().max().item() for x in exact_gradients[:3])
    for (name, gradient), expected in zip(gradients.items(), exact_gradients, strict=True):
        scale = None if name in ("dbias", "dsink") else largest
        assert_close(name, gradient, expected, q.dtype, scale, factor=4)
