"""attn_implementation="rapt": the same logits, gradients and tokens as eager and sdpa, with random tiny models."""

import copy

import pytest
import rapt.huggingface
import torch
import transformers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    Gemma2Config,
    Gemma2ForCausalLM,
    GptOssConfig,
    GptOssForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    ViTConfig,
    ViTForImageClassification,
)

SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
TEXT = {**SIZES, "vocab_size": 97, "max_position_embeddings": 128, "pad_token_id": 0}
GQA = {"num_key_value_heads": 2, "head_dim": 16}
MOE = {"num_local_experts": 2, "num_experts_per_tok": 1}
MODELS = {
    "llama": (LlamaForCausalLM, LlamaConfig(**TEXT, num_key_value_heads=2)),
    "gemma2": (  # softcap, and a window in every other layer
        Gemma2ForCausalLM,
        Gemma2Config(**TEXT, **GQA, sliding_window=5, attn_logit_softcapping=2.0, query_pre_attn_scalar=16),
    ),
    "gpt_oss": (GptOssForCausalLM, GptOssConfig(**TEXT, **GQA, **MOE, sliding_window=5)),  # attention sinks
    "bert": (BertForMaskedLM, BertConfig(**TEXT, attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0)),
}
OTHERS = {"llama": ["eager", "sdpa"], "gemma2": ["eager"], "gpt_oss": ["eager"], "bert": ["eager", "sdpa"]}


def models(make, config, implementations, device):
    """The same weights with each implementation."""
    torch.manual_seed(0)
    first, found = None, []
    for name in implementations:
        model = make._from_config(copy.deepcopy(config), attn_implementation=name).to(device)
        first = first or model
        model.load_state_dict(first.state_dict())
        assert model.config._attn_implementation == name
        found.append(model)
    return found


def padded(side, device):
    """Tokens [3, 12] and their mask; rows of 12, 7 and 3 tokens."""
    tokens = torch.randint(1, 97, (3, 12), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(12)[None] < torch.tensor([12, 7, 3])[:, None]
    if side == "left":
        mask = mask.flip(1)
    mask = mask.long() if side != "none" else torch.ones(3, 12, dtype=torch.long)
    return (tokens * mask).to(device), mask.to(device)


def logits_and_gradients(model, kept, **inputs):
    logits = model(**inputs).logits
    logits = logits[kept] if kept is not None else logits
    logits.logsumexp(-1).sum().backward()
    return logits, {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def assert_same(expected, found):
    torch.testing.assert_close(found[0], expected[0], rtol=1e-4, atol=1e-5)
    assert expected[1].keys() == found[1].keys()
    for name, gradient in expected[1].items():
        torch.testing.assert_close(found[1][name], gradient, rtol=1e-3, atol=1e-4, msg=lambda m, n=name: f"{n}: {m}")


@pytest.fixture
def calls(monkeypatch):
    """How often Rapt computed attention."""
    counted, right = [], rapt.torch.attention
    monkeypatch.setattr(rapt.torch, "attention", lambda *a, **o: counted.append(o) or right(*a, **o))
    return counted


@pytest.mark.parametrize("side", ["none", "left", "right"])
@pytest.mark.parametrize("name", MODELS)
def test_text_models(name, side, device, calls):
    make, config = MODELS[name]
    ours, *others = models(make, config, ["rapt", *OTHERS[name]], device)
    tokens, mask = padded(side, device)
    found = logits_and_gradients(ours, mask.bool(), input_ids=tokens, attention_mask=mask)
    assert len(calls) == config.num_hidden_layers
    for other in others:
        assert_same(logits_and_gradients(other, mask.bool(), input_ids=tokens, attention_mask=mask), found)


def test_vit(device):
    config = ViTConfig(**SIZES, image_size=32, patch_size=8, num_labels=5)
    ours, *others = models(ViTForImageClassification, config, ["rapt", "eager", "sdpa"], device)
    images = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(2)).to(device)
    found = logits_and_gradients(ours, None, pixel_values=images)
    for other in others:
        assert_same(logits_and_gradients(other, None, pixel_values=images), found)


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt_oss"])
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_generate_with_a_cache(name, cache, device, calls):
    make, config = MODELS[name]
    tokens, mask = padded("left", device)
    options = {"max_new_tokens": 8, "do_sample": False, "cache_implementation": cache, "pad_token_id": 0}
    generated = [
        model.generate(input_ids=tokens, attention_mask=mask, eos_token_id=None, disable_compile=True, **options)
        for model in models(make, config, ["rapt", *OTHERS[name]], device)
    ]
    assert generated[0].shape == (3, 20) and len(calls) == 8 * config.num_hidden_layers
    for other in generated[1:]:
        assert torch.equal(generated[0], other)


def test_a_position_bias_gets_its_gradient(device):
    q, k, v, bias = (
        torch.randn(s, requires_grad=True, device=device)
        for s in ((2, 4, 5, 16), (2, 2, 5, 16), (2, 2, 5, 16), (1, 4, 5, 5))
    )
    module = torch.nn.Module()
    out, _ = rapt.huggingface.attention(module, q, k, v, None, scaling=0.5, is_causal=True, position_bias=bias)
    mask = torch.ones(5, 5, dtype=torch.bool, device=device).tril()
    expected = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, bias.masked_fill(~mask, -torch.inf), scale=0.5, enable_gqa=True
    ).transpose(1, 2)
    torch.testing.assert_close(out, expected)
    for a, b in zip(*(torch.autograd.grad(x.square().sum(), (q, k, v, bias)) for x in (out, expected)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


SMALL = {"vocab_size": 97, "hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2}
WITHOUT_THE_INTERFACE = {
    "BloomForCausalLM": ({"n_layer": 2, "n_head": 2}, "AttentionInterface"),
    "XGLMForCausalLM": ({"d_model": 32, "num_layers": 2, "attention_heads": 2, "ffn_dim": 32}, "AttentionInterface"),
    "GPTNeoForCausalLM": ({"num_layers": 2, "attention_types": [[["global", "local"], 1]]}, "AttentionInterface"),
    "FalconForCausalLM": ({}, "AttentionInterface"),
    "SqueezeBertForMaskedLM": ({"embedding_size": 32, "intermediate_size": 32}, "AttentionInterface"),
    "GitForCausalLM": ({}, "supports neither sdpa nor other"),
    "NllbMoeForConditionalGeneration": ({"d_model": 32}, "supports neither sdpa nor other"),
    "DeepseekV4ForCausalLM": ({}, "adds numbers to the boolean mask"),
}


@pytest.mark.parametrize("name", WITHOUT_THE_INTERFACE)
def test_a_model_that_would_be_wrong_is_refused_when_it_is_made(name):
    make = getattr(transformers, name, None)
    if make is None:
        pytest.skip(f"this transformers has no {name}")
    options, message = WITHOUT_THE_INTERFACE[name]
    config = make.config_class(**SMALL, **options)
    with torch.device("meta"), pytest.raises(NotImplementedError, match=f"{name} .*{message}.*: use attn_impl"):
        make._from_config(config, attn_implementation="rapt")


def test_a_part_of_a_model_is_refused_by_its_name():
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        ViTConfig(**SIZES, image_size=32, patch_size=8), transformers.TrOCRConfig(d_model=64, decoder_layers=1)
    )
    with torch.device("meta"), pytest.raises(NotImplementedError, match="TrOCRForCausalLM has attention that does not"):
        transformers.VisionEncoderDecoderModel._from_config(config, attn_implementation="rapt")


def test_a_part_without_attention_is_no_reason():
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1])
    transformers.ResNetModel._from_config(config, attn_implementation="rapt")


def test_what_is_not_there_is_refused():
    q = torch.randn(1, 2, 4, 16)
    with pytest.raises(ValueError, match="output_attentions"):
        rapt.huggingface.attention(torch.nn.Module(), q, q, q, None, output_attentions=True)
    for name in ("indices", "block_indices", "sinks"):
        with pytest.raises(NotImplementedError, match=f"does not take {name}"):
            rapt.huggingface.attention(torch.nn.Module(), q, q, q, None, **{name: q})
    with pytest.raises(NotImplementedError, match="paged cache"):
        rapt.huggingface.attention(torch.nn.Module(), q, q, q, None, cache=object())
    assert int(transformers.__version__.split(".")[0]) >= 5
