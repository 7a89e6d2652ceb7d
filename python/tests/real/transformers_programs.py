"""Small models of transformers with random weights: text, vision, audio, encoders with decoders, windows, sinks."""

import torch
import transformers as t

SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
TEXT = SIZES | {"vocab_size": 97, "max_position_embeddings": 128, "pad_token_id": 0, "bos_token_id": 1}
GROUPED = TEXT | {"num_key_value_heads": 2, "head_dim": 16}
IMAGE = SIZES | {"image_size": 32, "patch_size": 8}
BOTH = {  # an encoder and a decoder
    "vocab_size": 97, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "decoder_start_token_id": 1, "dropout": 0.0,
}  # fmt: skip
SOUND = SIZES | {
    "conv_dim": (16, 16), "conv_kernel": (10, 3), "conv_stride": (5, 2), "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, "hidden_dropout": 0.0, "feat_proj_dropout": 0.0,
    "final_dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0, "layerdrop": 0.0,
    "apply_spec_augment": False,
}  # fmt: skip
LATENT = {"q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12}
EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1}
NO_DROPOUT = {"attention_probs_dropout_prob": 0.0, "hidden_dropout_prob": 0.0}

TEXTS = {
    "Llama": (t.LlamaForCausalLM, t.LlamaConfig(**GROUPED)),
    "Mistral": (t.MistralForCausalLM, t.MistralConfig(**GROUPED, sliding_window=5)),
    "Qwen3": (t.Qwen3ForCausalLM, t.Qwen3Config(**GROUPED)),
    "Gemma2": (t.Gemma2ForCausalLM, t.Gemma2Config(**GROUPED, sliding_window=5, attn_logit_softcapping=2.0)),
    "Gemma3": (t.Gemma3ForCausalLM, t.Gemma3TextConfig(**GROUPED, sliding_window=5)),
    "gpt-oss": (t.GptOssForCausalLM, t.GptOssConfig(**GROUPED, **EXPERTS, sliding_window=5)),
    "DeepSeek-V3": (
        t.DeepseekV3ForCausalLM,
        t.DeepseekV3Config(**TEXT, **LATENT, num_key_value_heads=4, first_k_dense_replace=2),
    ),
    "GPT-2": (
        t.GPT2LMHeadModel,
        t.GPT2Config(vocab_size=97, n_positions=128, n_embd=64, n_layer=2, n_head=4, attn_pdrop=0, resid_pdrop=0,
                     embd_pdrop=0, pad_token_id=0, bos_token_id=1),
    ),
    "BERT": (t.BertForMaskedLM, t.BertConfig(**TEXT, **NO_DROPOUT)),
    "ModernBERT": (
        t.ModernBertForMaskedLM,
        t.ModernBertConfig(**TEXT, local_attention=8, global_attn_every_n_layers=2),
    ),
}  # fmt: skip
PAIRS = {
    "BART": (t.BartForConditionalGeneration, t.BartConfig(**BOTH)),
    "T5": (
        t.T5ForConditionalGeneration,
        t.T5Config(vocab_size=97, d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4, dropout_rate=0.0,
                   pad_token_id=0, decoder_start_token_id=0),
    ),
}  # fmt: skip
IMAGES = {
    "ViT": (t.ViTForImageClassification, t.ViTConfig(**IMAGE, **NO_DROPOUT)),
    "DINOv2": (t.Dinov2Model, t.Dinov2Config(**IMAGE, **NO_DROPOUT)),
    "SigLIP": (t.SiglipVisionModel, t.SiglipVisionConfig(**IMAGE)),
    "CLIP": (t.CLIPVisionModel, t.CLIPVisionConfig(**IMAGE)),
}
SOUNDS = {
    "Wav2Vec2": (t.Wav2Vec2Model, t.Wav2Vec2Config(**SOUND)),
    "HuBERT": (t.HubertModel, t.HubertConfig(**SOUND)),
}
WHISPER = t.WhisperConfig(**BOTH, num_mel_bins=8, max_source_positions=30, max_target_positions=32)
GENERATING = ("Llama", "Mistral", "Gemma2", "Gemma3", "gpt-oss", "GPT-2")


def programs():
    """name: (class, configuration, inputs, the kept rows of the result or None)."""
    generator = torch.Generator().manual_seed(1)
    found = {}
    for name, (make, config) in TEXTS.items():
        for side in ("none", "left", "right"):
            inputs = padded(side, generator)
            found[f"{name}, padding {side}"] = (make, config, inputs, inputs["attention_mask"].bool())
    for name, (make, config) in PAIRS.items():
        for side in ("none", "right"):
            inputs = padded(side, generator)
            inputs["decoder_input_ids"] = torch.randint(3, 97, (3, 6), generator=generator)
            found[f"{name}, padding {side}"] = (make, config, inputs, None)
    for name, (make, config) in IMAGES.items():
        found[name] = (make, config, {"pixel_values": torch.randn(2, 3, 32, 32, generator=generator)}, None)
    for name, (make, config) in SOUNDS.items():
        found[name] = (make, config, {"input_values": torch.randn(2, 400, generator=generator)}, None)
    sound = {"input_features": torch.randn(2, 8, 60, generator=generator)}
    tokens = {"decoder_input_ids": torch.randint(3, 97, (2, 6), generator=generator)}
    found["Whisper"] = (t.WhisperForConditionalGeneration, WHISPER, sound | tokens, None)
    return found


def padded(side, generator):
    """Tokens of rows of 12, 7 and 3, and their mask."""
    kept = torch.arange(12)[None] < torch.tensor([12, 7, 3])[:, None]
    if side == "left":
        kept = kept.flip(1)
    if side == "none":
        kept = torch.ones_like(kept)
    return {"input_ids": torch.randint(3, 97, (3, 12), generator=generator) * kept, "attention_mask": kept.long()}
