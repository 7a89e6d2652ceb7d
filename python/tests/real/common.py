"""What the scripts of this folder share: results with gradients, differences, and how often Rapt computed attention."""

import copy
import json

import torch
from rapt import _core


class Calls:
    """Counts Rapt's passes, by whatever entry they come."""

    def __init__(self):
        self.forward = self.backward = self.paged = 0
        for name in ("forward", "backward"):
            setattr(_core, name, self._counted(name, getattr(_core, name)))

    def _counted(self, name, function):
        def counted(*args, **kwargs):
            setattr(self, name, getattr(self, name) + 1)
            self.paged += "block_table" in kwargs
            return function(*args, **kwargs)

        return counted


def result_and_gradients(model, inputs, kept=None):
    """The first floating-point tensor of the model's result, at the kept rows, and the parameters' gradients."""
    model.zero_grad()
    out = _first(model(**inputs))
    out = out if kept is None else out[kept]
    out.float().square().mean().backward()
    return out.detach(), {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def result_only(model, inputs):
    with torch.no_grad():
        return _first(model(**inputs)), {}


def _first(result):
    values = result.values() if isinstance(result, dict) else result if isinstance(result, (tuple, list)) else [result]
    return next(x for x in values if isinstance(x, torch.Tensor) and x.is_floating_point() and x.dim() > 0)


def differences(found, expected):
    """The largest difference of the results over the largest value, and the same of the gradients."""
    (out, gradients), (out_expected, gradients_expected) = found, expected
    if gradients.keys() != gradients_expected.keys():
        raise AssertionError(f"gradients of {sorted(gradients.keys() ^ gradients_expected.keys())} are missing")
    largest = max((g.abs().max().item() for g in gradients_expected.values()), default=1.0)
    apart = max(((g - gradients_expected[name]).abs().max().item() for name, g in gradients.items()), default=0.0)
    return (out - out_expected).abs().max().item() / out_expected.abs().max().item(), apart / largest


def with_weights(model, like):
    model.load_state_dict(copy.deepcopy(like.state_dict()))
    return model


def line(**values):
    print(json.dumps(values), flush=True)
