"""Every family of transformers with a tiny random configuration: attn_implementation="rapt" beside eager.

    run_families.py [family or class]...

A line for each class: ok, off, refused (by Rapt), not made or not run (by this script, with eager), and the largest
difference to eager's logits with padding on either side and without, over the largest logit. Fails if one is off.
"""

import argparse
import contextlib
import copy
import json
import os
import resource
import signal
import sys

import rapt.huggingface
import torch
import transformers
from transformers.models.auto import modeling_auto

MAPPINGS = {
    "text": ["MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_MASKED_LM_MAPPING_NAMES"],
    "two texts": ["MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"],
    "image": ["MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES"],
}
SIZES = {
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
OFF = 1e-3  # of the largest logit


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
    """The configuration with small sizes, each kind of layer once, and no dropout; so too its parts."""
    for size, names in SIZES.items():
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
    for name in config.sub_configs:
        if got(config, name) is not None:
            shrink(got(config, name))
    return config


def inputs(kind, config, side):
    """The arguments of a model, and which rows of its logits count."""
    generator = torch.Generator().manual_seed(1)
    if kind == "image":
        size = config.image_size if is_number(getattr(config, "image_size", None)) else 32
        shape = (2, getattr(config, "num_channels", 3), size, size)
        return {"pixel_values": torch.randn(shape, generator=generator)}, None
    tokens = torch.randint(10, 90, (2, 12), generator=generator)
    mask = torch.arange(12)[None] < torch.tensor([12, 12 if side == "none" else 7])[:, None]
    mask = mask.flip(1) if side == "left" else mask
    more = {"decoder_input_ids": tokens[:, :9]} if kind == "two texts" else {}
    return {"input_ids": tokens, "attention_mask": mask.long(), **more}, mask


def logits(model, kind, side):
    arguments, mask = inputs(kind, model.config, side)
    with torch.no_grad():
        found = model(**arguments).logits
    return found[mask] if mask is not None and found.shape[:2] == mask.shape else found


def outcome(kind, make):
    """What became of the class, and why or how exactly."""
    try:
        config = shrink(make.config_class())
        torch.manual_seed(0)
        eager = make._from_config(copy.deepcopy(config), attn_implementation="eager").eval()
    except Exception as error:  # noqa: BLE001  as many reasons as families
        return "not made", f"{type(error).__name__}: {error}"
    with torch.no_grad():  # larger weights, so that attention matters
        for weight in eager.parameters():
            if weight.dim() > 1 and weight.numel():
                weight.normal_(std=2 / weight[0].numel() ** 0.5)
    try:
        expected = {"none": logits(eager, kind, "none")}
    except Exception as error:  # noqa: BLE001
        return "not run", f"{type(error).__name__}: {error}"
    try:
        ours = make._from_config(copy.deepcopy(config), attn_implementation="rapt").eval()
        ours.load_state_dict(eager.state_dict())
        return compare(kind, eager, ours, expected)
    except NotImplementedError as error:
        return "refused", str(error)


def compare(kind, eager, ours, expected):
    calls, right = [], rapt.torch.attention
    rapt.torch.attention = lambda *a, **o: calls.append(o) or right(*a, **o)
    differences = {}
    for side in ("none",) if kind == "image" else ("none", "left", "right"):
        want = expected.get(side)
        want = logits(eager, kind, side) if want is None else want
        differences[side] = float((logits(ours, kind, side) - want).abs().max() / want.abs().max())
    off = not all(difference <= OFF for difference in differences.values())
    largest = max(differences.values())
    return "off" if off else "ok", f"{largest:.1e} in {len(calls)} calls" if calls else "no attention"


def in_a_process(kind, make):
    """outcome() with limits of time and memory."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(150)
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        try:
            result = outcome(kind, make)
        except Exception as error:  # noqa: BLE001
            result = "off", f"{type(error).__name__}: {error}"
        os.write(write, json.dumps([text[:300] for text in result]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        found = file.read()
    _, status = os.waitpid(child, 0)
    return json.loads(found) if found else ["not run", f"the process ended with {status}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="families or classes; default: all")
    only = parser.parse_args().names
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    done, off = set(), 0
    for kind, mappings in MAPPINGS.items():
        rows = [row for mapping in mappings for row in getattr(modeling_auto, mapping).items()]
        for family, names in rows:
            name = names if isinstance(names, str) else names[0]
            if name in done or (only and not {name, family} & set(only)):
                continue
            done.add(name)
            result, why = in_a_process(kind, getattr(transformers, name))
            off += result == "off"
            print(json.dumps({"family": family, "class": name, "result": result, "why": why}), flush=True)
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
