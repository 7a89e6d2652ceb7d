"""Small sizes of a transformers configuration: those that most families share, and those of one family alone."""

import contextlib

SHARED = {
    2: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_encoder_layers "
    "num_decoder_layers num_experts_per_tok moe_topk moe_top_k top_k_experts num_key_value_heads num_kv_heads "
    "n_head_kv",
    64: "hidden_size d_model n_embd dim embed_dim emb_dim embedding_size word_embed_proj_dim d_embed n_embed "
    "encoder_hidden_size",
    4: "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads num_local_experts "
    "num_experts n_routed_experts",
    96: "intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim n_inner d_ff ffn_hidden_size moe_intermediate_size "
    "shared_expert_intermediate_size dense_intermediate_size",
    16: "head_dim d_kv attention_head_dim v_head_dim q_lora_rank kv_lora_rank rotary_dim",
    8: "qk_rope_head_dim qk_nope_head_dim patch_size",
    1: "n_group topk_group",
    128: "max_position_embeddings n_positions max_target_positions max_source_positions",
    5: "sliding_window",
    32: "image_size",
    300: "vocab_size",
}
TOKENS = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")
KINDS = ("layer_types", "layers_block_type", "mlp_layer_types")

_CONVNEXT = {"num_stages": 4, "hidden_sizes": [8, 16, 32, 64], "depths": [1, 1, 1, 1]}
_SWIN = {"embed_dim": 32, "depths": [2, 2], "num_heads": [2, 4], "window_size": 2, "image_size": 32, "patch_size": 4}
OWN = {
    "bamba": {"attn_layer_indices": [1], "mamba_n_heads": 2, "mamba_d_state": 16},
    "convnext": _CONVNEXT,
    "convnextv2": _CONVNEXT,
    "dbrx": {"attn_config.rope_theta": 1e4, "attn_config.clip_qkv": 8.0},
    "deepseek_v2": {"num_experts_per_tok": 2, "n_routed_experts": 4},
    "donut-swin": _SWIN,
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "esm": {"vocab_size": 300, "pad_token_id": 1, "mask_token_id": 2},
    "esmc": {"vocab_size": 300, "num_key_value_heads": 4},
    "gemma3n_text": {"num_kv_shared_layers": 0},
    "gemma4_assistant": {"text_config.hidden_size_per_layer_input": 0, "text_config.num_kv_shared_layers": 0},
    "gemma4_unified_assistant": {"text_config.num_kv_shared_layers": 0},
    "granitemoehybrid": {
        "mamba_n_heads": 2,
        "mamba_d_state": 16,
        "layer_types": ["linear_attention", "full_attention"],
    },
    "hiera": {"embed_dim": 16, "hidden_size": 128, "depths": [1, 1, 1, 1], "num_heads": [1, 2, 4, 8]},
    "hrm_text": {"H_cycles": 1, "L_cycles": 1, "L_bp_cycles": [1], "num_layers_per_stack": 2},  # else float32 is lost
    "hunyuan_v1_dense": {"head_dim": 16},
    "hunyuan_v1_moe": {"head_dim": 16},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "levit": {"image_size": 64, "patch_size": 16},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "longcat_flash": {"qk_head_dim": 16, "head_dim": 8},
    "mamba2": {"head_dim": 32, "n_groups": 1},
    "ministral": {"head_dim": 16},
    "mobilevitv2": {"image_size": 64},
    "musicgen_decoder": {"num_codebooks": 1},
    "musicgen_melody_decoder": {"num_codebooks": 1},
    "nemotron": {"num_key_value_heads": 2},
    "recurrent_gemma": {"num_hidden_layers": 3},
    "reformer": {"is_decoder": True, "axial_pos_embds": False},
    "swin": _SWIN,
    "swinv2": _SWIN,
    "t5gemma": {"decoder.cross_attention_hidden_size": 64},
    "xmod": {"default_language": "en_XX"},
    "zamba": {
        "num_hidden_layers": 4,
        "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"],
        "attention_hidden_size": 128,
        "attention_head_dim": 32,
        "num_key_value_heads": 4,
        "mamba_dt_rank": 4,
    },
    "zamba2": {"mamba_headdim": 16, "attention_hidden_size": 128, "attention_head_dim": 32, "num_key_value_heads": 4},
}


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool)


def got(config, name):
    try:
        return getattr(config, name, None)
    except Exception:  # noqa: BLE001  some attributes are of each layer
        return None


def change(config, name, value):
    with contextlib.suppress(Exception):  # some attributes cannot be set: the family is then larger, or not made
        setattr(config, name, value)


def shrink(config):
    """The configuration and its parts with small sizes, each kind of layer once, and neither dropout nor a cache."""
    for size, names in SHARED.items():
        for name in names.split():
            if is_number(got(config, name)) and got(config, name) > size:
                change(config, name, size)
    if got(config, "qk_rope_head_dim"):  # DeepSeek's latent attention
        change(config, "head_dim", config.qk_rope_head_dim)
        change(config, "num_key_value_heads", config.num_attention_heads)
    for name in TOKENS:
        value = got(config, name)
        if isinstance(value, list) or (is_number(value) and value >= 300):
            change(config, name, 1)
    for name in KINDS:
        kinds = list(dict.fromkeys(got(config, name) or []))
        if kinds:
            kinds = (kinds * 2)[: max(2, len(kinds))]
            change(config, "num_hidden_layers", len(kinds))
            change(config, name, kinds)
    for name, value in vars(config).items():
        if isinstance(value, float) and ("dropout" in name or name.endswith(("pdrop", "layerdrop"))):
            change(config, name, 0.0)
    if got(config, "use_cache"):
        change(config, "use_cache", False)
    for name in config.sub_configs:
        if got(config, name) is not None:
            shrink(got(config, name))
    for name, value in OWN.get(config.model_type, {}).items():
        *parts, last = name.split(".")
        of = config
        for part in parts:
            of = got(of, part)
        change(of, last, value)
    return config
