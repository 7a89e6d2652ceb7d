"""Hugging Face transformers: attn_implementation="rapt", once this module is imported.

import rapt.huggingface
model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="rapt")

A model whose attention does not go through transformers' interface raises NotImplementedError when it is made: the
masks that it would get are meant for Rapt's function.
"""

import functools
import inspect
import re
import sys

import torch
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import sdpa_mask

import rapt.torch

NAME = "rapt"

_ADD_TO_BOOLEAN_MASKS = {"deepseek_v4"}  # model types that join numbers to the mask, which is boolean for Rapt
_SCORES = ("indices", "block_indices", "sinks")  # arguments of sparse attention, which few models pass


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    position_bias: torch.Tensor | None = None,
    **options,
) -> tuple[torch.Tensor, None]:
    """The function that AttentionInterface calls; has gradients of query, key, value, s_aux and position_bias.

    query: [batch, heads, seqlen_q, head_dim]; key, value: [batch, heads_k, seqlen_k, head_dim]
    attention_mask: bool, True attends, or added to the logits; [batch or 1, heads or 1, seqlen_q, seqlen_k]. It
        includes sliding windows and packed sequences. None: causal if the module is, aligned as sdpa_mask expects.
    s_aux: [heads], attention sinks; position_bias: [batch or 1, heads, seqlen_q, seqlen_k]

    Returns ([batch, seqlen_q, heads, head_dim], None).
    """
    if options.get("output_attentions"):
        raise ValueError('output_attentions is True; attn_implementation="rapt" has no attention weights: use "eager"')
    for name in _SCORES:
        if options.get(name) is not None:
            raise NotImplementedError(f'attn_implementation="rapt" does not take {name}: use "eager"')
    if options.get("cache") is not None:
        raise NotImplementedError('attn_implementation="rapt" does not take the paged cache of continuous batching')
    if is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    mask, bias = attention_mask, position_bias
    if mask is not None and mask.dtype != torch.bool:
        mask, bias = None, attention_mask if bias is None else attention_mask + bias
    out = rapt.torch.attention(
        *(x.transpose(1, 2) for x in (query, key, value)),
        softmax_scale=scaling,
        # A single query sees all keys. Several queries are at the front of the cache if sdpa_mask leaves the mask out.
        causal="top-left" if is_causal and attention_mask is None and query.shape[2] > 1 else False,
        softcap=softcap or 0.0,
        bias=bias,
        mask=mask,
        sink=s_aux,
        dropout=dropout,
    )
    return out, None


def _why_not(model: type[PreTrainedModel], model_type: str) -> str:
    """Why the model cannot use Rapt, or ""."""
    if model_type in _ADD_TO_BOOLEAN_MASKS:
        return "adds numbers to the boolean mask"
    if not model._can_set_attn_implementation():
        return "has attention that does not go through transformers' AttentionInterface"
    if not model._supports_sdpa and not model._supports_attention_backend and _has_attention(model):
        return "supports neither sdpa nor other attention functions, says transformers"
    return ""


@functools.cache
def _has_attention(model: type[PreTrainedModel]) -> bool:
    module = sys.modules.get(model.__module__)
    try:
        return module is None or re.search(r"^class \w*Attention", inspect.getsource(module), re.MULTILINE) is not None
    except (OSError, TypeError):
        return True


def _refuse_models(check):
    """PreTrainedModel's check of a requested implementation, which every model and every part of one runs."""

    @functools.wraps(check)
    def get_correct_attn_implementation(self, requested_attention, *args, **options):
        why = _why_not(type(self), self.config.model_type) if requested_attention == NAME else ""
        if why:
            raise NotImplementedError(
                f'{type(self).__name__} {why}: use attn_implementation="eager"; for a part of a larger model, '
                'for example {"vision_config": "eager", "text_config": "rapt"}'
            )
        return check(self, requested_attention, *args, **options)

    return get_correct_attn_implementation


PreTrainedModel.get_correct_attn_implementation = _refuse_models(PreTrainedModel.get_correct_attn_implementation)
AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, sdpa_mask)  # without it the mask of padded batches would not arrive
