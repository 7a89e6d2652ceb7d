"""The functions of flash_attn.bert_padding: padded batches as packed sequences and back."""

import torch
from torch.nn.functional import pad


def index_first_axis(input, indices):
    """input[indices] along the first dimension, with gradients."""
    return input.index_select(0, indices)


def index_put_first_axis(values, indices, first_axis_dim):
    """Zeros [first_axis_dim, ...] with `values` at the rows `indices`, with gradients."""
    return values.new_zeros((first_axis_dim, *values.shape[1:])).index_copy(0, indices.long(), values)


def unpad_input(hidden_states, attention_mask, unused_mask=None):
    """The tokens of a padded batch, one after the other.

    hidden_states: [batch, seqlen, ...]; attention_mask, unused_mask: [batch, seqlen], nonzero keeps a token; tokens of
        unused_mask are kept, but do not count as used

    Returns (tokens [total, ...], indices [total] into batch * seqlen, cu_seqlens int32 [batch + 1], max_seqlen,
    used int32 [batch]).
    """
    kept = attention_mask if unused_mask is None else attention_mask + unused_mask
    indices, cu_seqlens, max_seqlen = _packing(kept, kept.sum(dim=-1, dtype=torch.int32))
    tokens = index_first_axis(hidden_states.flatten(0, 1), indices)
    return tokens, indices, cu_seqlens, max_seqlen, attention_mask.sum(dim=-1, dtype=torch.int32)


def unpad_input_for_concatenated_sequences(hidden_states, attention_mask_in_length):
    """As unpad_input, for rows that hold several sequences each.

    attention_mask_in_length: [batch, seqlen], the lengths of a row's sequences, then zeros

    Returns (tokens [total, ...], indices [total], cu_seqlens int32 [sequences + 1], max_seqlen).
    """
    used = attention_mask_in_length.sum(dim=-1, keepdim=True)
    columns = torch.arange(attention_mask_in_length.shape[-1], device=used.device)
    lengths = attention_mask_in_length[attention_mask_in_length > 0]
    indices, cu_seqlens, max_seqlen = _packing(columns < used, lengths)
    return index_first_axis(hidden_states.flatten(0, 1), indices), indices, cu_seqlens, max_seqlen


def pad_input(hidden_states, indices, batch, seqlen):
    """[batch, seqlen, ...]: the tokens [total, ...] of unpad_input back at their places, zeros elsewhere."""
    return index_put_first_axis(hidden_states, indices, batch * seqlen).unflatten(0, (batch, seqlen))


def _packing(kept, lengths):
    indices = kept.flatten().nonzero().flatten()
    return indices, pad(lengths.cumsum(0, dtype=torch.int32), (1, 0)), int(lengths.max())
