"""Exact scaled-dot-product attention, forward and backward, in O(N) memory.

    out = rapt.attention(q, k, v, causal=True)      # NumPy arrays, PyTorch tensors, or anything with __dlpack__
    print(rapt.explain(q, k, v, causal=True))       # which kernel runs it, and why the others do not

Tensors are [batch, seqlen, heads, head_dim]; `rapt.Options` has every option.
"""

from rapt import _installation  # noqa: F401  first: it says what an installation lacks
from rapt._attention import Gradients, attention, attention_backward
from rapt._core import version as __version__
from rapt._doctor import doctor
from rapt._explain import Candidate, Explanation, explain
from rapt._options import Options

__all__ = [
    "__version__",
    "Candidate",
    "Explanation",
    "Gradients",
    "Options",
    "attention",
    "attention_backward",
    "doctor",
    "explain",
]
