"""Every family of transformers with a tiny random configuration: attn_implementation="rapt" beside eager.

    run_families.py [family or class]...

A line for each class: ok, off, refused (by Rapt), not made or not run (by this script, with eager), and the largest
difference to eager's logits with padding on either side and without, over the largest logit. Fails if one is off.
"""

import argparse
import copy
import json
import os
import resource
import signal
import sys

import rapt.huggingface
import torch
import transformers
from family_sizes import is_number, shrink
from transformers.models.auto import modeling_auto

MAPPINGS = {
    "text": ["MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_MASKED_LM_MAPPING_NAMES"],
    "two texts": ["MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"],
    "image": ["MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES"],
}
OFF = 1e-3  # of the largest logit


def inputs(kind, config, side):
    """The arguments of a model, and which rows of its logits count."""
    generator = torch.Generator().manual_seed(1)
    if config.model_type == "imagegpt":  # whose pixels are words
        return {"input_ids": torch.randint(0, 200, (2, 64), generator=generator)}, None
    if config.model_type == "siglip2":  # whose patches are rows
        patches = torch.randn(2, 16, 3 * config.vision_config.patch_size**2, generator=generator)
        places = {"pixel_attention_mask": torch.ones(2, 16), "spatial_shapes": torch.tensor([[4, 4], [4, 4]])}
        return {"pixel_values": patches, **places}, None
    if kind == "image":
        size = getattr(config, "image_size", 32)
        size = size if is_number(size) else 32 if size is None else size[0]
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
