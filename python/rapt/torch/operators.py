"""rapt.torch.attention, and the operators torch.ops.rapt.attention and attention_backward below it: schemas, kernels,
and their shapes for tracing.

All arguments are positional, the common ones first: the dispatcher takes a microsecond for a keyword, and does not pass
trailing arguments that have their defaults.
"""

import functools

import torch
import torch._functorch.config
import torch.fx.traceback
from torch import Tensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from torch.utils.checkpoint import CheckpointPolicy

from rapt import _core

LIBRARY = torch.library.Library("rapt", "DEF")

# `heads_first`: q, k, v and results are [batch, heads, seqlen, head_dim], as in PyTorch; else as in rapt.attention.
# `dropout_seed`: one int64, on the device of q or in host memory. lse has no gradient.
_SHARED = (
    "bool heads_first=False, str? causal=None, float? softmax_scale=None, "
    "Tensor? bias=None, Tensor? mask=None, Tensor? sink=None, Tensor? alibi_slopes=None, "
    "Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_k=None, Tensor? dropout_seed=None, "
    "float dropout=0.0, int dropout_offset=0, float softcap=0.0, SymInt window_left=-1, SymInt window_right=-1, "
    "SymInt? max_seqlen_q=None, SymInt? max_seqlen_k=None, str? backend=None, bool deterministic=False"
)
_TAGS = (torch.Tag.pt2_compliant_tag,)
LIBRARY.define(f"attention(Tensor q, Tensor k, Tensor v, {_SHARED}) -> (Tensor out, Tensor lse)", tags=_TAGS)
# `wrt` says which gradients of q, k, v, bias and sink are wanted; the wanted ones are returned in this order
LIBRARY.define(
    "attention_backward(bool[] wrt, Tensor dout, Tensor out, Tensor lse, Tensor q, Tensor k, Tensor v, "
    f"{_SHARED}) -> Tensor[]",
    tags=_TAGS,
)
# dropout's seed, for the attention of q
LIBRARY.define("draw_seed(Tensor q) -> Tensor", tags=(*_TAGS, torch.Tag.nondeterministic_seeded))
operator = torch.ops.rapt.attention.default
backward_operator = torch.ops.rapt.attention_backward.default

NAMES = [argument.name for argument in operator._schema.arguments]


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    return_lse: bool = False,
    softmax_scale: float | None = None,
    causal: bool | str = False,
    softcap: float = 0.0,
    window: tuple[int, int] = (-1, -1),
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    alibi_slopes: Tensor | None = None,
    sink: Tensor | None = None,
    dropout: float = 0.0,
    dropout_seed: int | Tensor | None = None,
    dropout_offset: int = 0,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k: Tensor | None = None,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    backend: str | None = None,
    deterministic: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """rapt.attention of PyTorch tensors, with gradients of q, k, v, bias and sink; torch.compile traces it completely.

    q: [batch, seqlen_q, heads_q, head_dim]; fp16, bf16 or fp32 (fp64: only the math backend); packed sequences are
        [total_q, heads_q, head_dim]
    k: [batch, seqlen_k, heads_k, head_dim]; heads_q is a multiple of heads_k
    v: [batch, seqlen_k, heads_k, head_dim_v]
    return_lse: return (out, lse); lse (logsumexp), fp32 [batch, heads_q, seqlen_q], has no gradient
    dropout_seed: default: one draw from PyTorch's generator of the device, which torch.manual_seed sets, so that each
        replay of a captured graph draws another; a tensor is one int64, on the device of q or in host memory
    deterministic: bitwise the same result every time, as torch.use_deterministic_algorithms() asks for too
    Other options are as in rapt.Options; the number of threads is torch.get_num_threads().

    Returns out, [batch, seqlen_q, heads_q, head_dim_v], the type of q. Raises as rapt.attention does.
    """
    check_is_numbers(bias=bias, mask=mask, sink=sink, alibi_slopes=alibi_slopes)
    if dropout and not isinstance(dropout_seed, Tensor):
        dropout_seed = draw_seed(q) if dropout_seed is None else torch.tensor(dropout_seed)
    out, lse = operator(
        q,
        k,
        v,
        False,
        alignment(causal),
        softmax_scale,
        bias,
        mask,
        sink,
        alibi_slopes,
        cu_seqlens_q,
        cu_seqlens_k,
        dropout_seed,
        dropout,
        dropout_offset,
        softcap,
        *window,
        max_seqlen_q,
        max_seqlen_k,
        backend,
        deterministic,
    )
    return (out, lse) if return_lse else out


def draw_seed(q: Tensor) -> Tensor:
    if not torch.compiler.is_compiling() and not is_traced(q):
        return _draw_seed(q)
    if getattr(torch._functorch.config, "activation_memory_budget", 1) == 0:
        raise NotImplementedError(
            "dropout in a graph of activation_memory_budget 0: torch saves nothing there, and draws another seed in "
            "the backward pass; rapt.torch.attention takes a dropout_seed"
        )
    return torch.ops.rapt.draw_seed.default(q)


def _draw_seed(q):
    return torch.randint(2**63 - 1, (), dtype=torch.int64, device=q.device)


def _traced_seed(q):
    """The same in a graph: its meta data tell the partitioner to save the number, not to draw another one."""
    if not torch.fx.traceback.has_preserved_node_meta():
        return _draw_seed(q)
    meta = torch.fx.traceback.current_meta
    before = dict(meta)
    meta["recompute"] = CheckpointPolicy.MUST_SAVE
    try:
        return _draw_seed(q)
    finally:
        meta.clear()
        meta.update(before)


def is_traced(tensor: Tensor) -> bool:
    """True for what stands for a tensor while torch traces."""
    return type(tensor) not in (Tensor, torch.nn.Parameter)


_ORDINARY = (Tensor.__torch_function__.__func__, torch._C._disabled_torch_function_impl)


def check_is_numbers(**tensors):
    """Raises TypeError for what is no tensor, and for a class whose memory need not have the numbers it stands for.

    CausalBias, for example, is a tensor of uninitialised memory: only its __torch_function__ knows what it means.
    """
    for name, tensor in tensors.items():
        if type(tensor) in (Tensor, torch.nn.Parameter) or tensor is None:
            continue
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} is a {type(tensor).__name__}; it must be a torch.Tensor")
        if is_traceable_wrapper_subclass(tensor) or torch.compiler.is_compiling():
            continue
        function = type(tensor).__torch_function__
        if getattr(function, "__func__", function) not in _ORDINARY:
            raise TypeError(
                f"{name} is a {type(tensor).__name__}, which has a __torch_function__ of its own; "
                f"if its memory has the numbers, pass {name}.as_subclass(torch.Tensor)"
            )


_MOST_BACKWARD = 512


def check_has_backward(query: Tensor, value: Tensor):
    """Raises for a forward on a GPU whose backward no kernel computes."""
    if query.device.type != "cuda":
        return
    largest = max(query.shape[-1], value.shape[-1])
    if largest > _MOST_BACKWARD:
        raise NotImplementedError(
            f"head_dim is {largest}, and GPU kernels have a backward pass up to {_MOST_BACKWARD}: "
            "without one, call it under torch.no_grad()"
        )
    if not _has_backward(query.device.index):
        raise NotImplementedError("this GPU's kernels have no backward pass: call it under torch.no_grad()")


@functools.cache
def _has_backward(device: int) -> bool:
    """True if the GPU's archive has the kernels, or if there is no archive, which the call itself then says."""
    arch = _core.devices(10 if torch.version.hip else 2)[device]["archive"]  # DLPack's types
    paths = [path for path, contents in _core.archives() if contents.startswith(f"{arch}, ")]
    return not paths or any(name.startswith("backward") for name in _core.archive_kernels(paths[0]))


def alignment(causal: bool | str) -> str | None:
    return {True: "bottom-right", False: None}.get(causal, causal)


def _forward(q, k, v, *args):
    out, lse = _results(q, k, v, *args)
    _core.forward(contiguous_rows(q), contiguous_rows(k), contiguous_rows(v), out, lse, **_options(q, *args))
    return out, lse


def _backward(wrt, dout, out, lse, q, k, v, *args):
    inputs = _gradients_of(q, k, v, *args)
    gradients = [_empty_like(x) if wanted else None for x, wanted in zip(inputs, wrt, strict=True)]
    _core.backward(
        contiguous_rows(q),
        contiguous_rows(k),
        contiguous_rows(v),
        out,
        lse,
        contiguous_rows(dout),
        *gradients,
        **_options(q, *args),
    )
    return [gradient for gradient in gradients if gradient is not None]


LIBRARY.impl("draw_seed", _traced_seed, "CompositeImplicitAutograd")
for _device in ("CPU", "CUDA"):  # ROCm's tensors are at PyTorch's key CUDA
    LIBRARY.impl("attention", _forward, _device)
    LIBRARY.impl("attention_backward", _backward, _device)


@torch.library.register_fake("rapt::attention", lib=LIBRARY)
def _fake_forward(q, k, v, *args):
    return _results(q, k, v, *args)


@torch.library.register_fake("rapt::attention_backward", lib=LIBRARY)
def _fake_backward(wrt, dout, out, lse, q, k, v, *args):
    return [_empty_like(x) for x, wanted in zip(_gradients_of(q, k, v, *args), wrt, strict=True) if wanted]


def _results(q, k, v, heads_first=False, *_):
    """out, with q's memory layout, and lse."""
    out = empty_result(q, v.shape[-1])
    *batch, rows, heads, _ = q.shape
    if heads_first:
        rows, heads = heads, rows
    lse_dtype = torch.float64 if q.dtype == torch.float64 else torch.float32
    return out, q.new_empty((*batch, heads, rows), dtype=lse_dtype)


def empty_result(q, head_dim):
    """A new tensor of q's shape but for head_dim, with q's order in memory, except that head_dim is contiguous."""
    out = _empty_like(q)
    if q.shape[-1] == head_dim:
        return out
    order = sorted(range(q.dim()), key=out.stride, reverse=True)
    return torch.empty_permuted((*q.shape[:-1], head_dim), order, dtype=q.dtype, device=q.device)


def _empty_like(tensor):
    """A new tensor with the memory layout of `tensor`, except that head_dim is contiguous."""
    if tensor.stride(-1) == 1:
        return torch.empty_like(tensor)
    return torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)


def _gradients_of(q, k, v, heads_first=False, causal=None, softmax_scale=None, bias=None, mask=None, sink=None, *_):
    return q, k, v, bias, sink


def contiguous_rows(tensor):
    """The tensor with a contiguous head_dim. Gradients of sums, for example, do not have one."""
    if tensor.stride(-1) == 1:
        return tensor
    return tensor.contiguous() if tensor.numel() else torch.empty_like(tensor, memory_format=torch.contiguous_format)


def _options(
    q,
    heads_first=False,
    causal=None,
    softmax_scale=None,
    bias=None,
    mask=None,
    sink=None,
    alibi_slopes=None,
    cu_seqlens_q=None,
    cu_seqlens_k=None,
    dropout_seed=None,
    dropout=0.0,
    dropout_offset=0,
    softcap=0.0,
    window_left=-1,
    window_right=-1,
    max_seqlen_q=None,
    max_seqlen_k=None,
    backend=None,
    deterministic=False,
):
    """The used arguments of an operator as options of rapt._core."""
    options = {}
    if q.device.type == "cpu":
        options["_openmp_threads"] = torch.get_num_threads()
    if deterministic or torch.are_deterministic_algorithms_enabled():
        options["deterministic"] = True
    if heads_first:
        options["_heads_first"] = True
    if softmax_scale is not None:
        options["softmax_scale"] = softmax_scale
    if causal is not None:
        options["causal"] = causal
    if bias is not None:
        options["bias"] = bias
    if mask is not None:
        options["mask"] = mask
    if sink is not None:
        options["sink"] = sink
    if alibi_slopes is not None:
        options["alibi_slopes"] = alibi_slopes
    if softcap:
        options["softcap"] = softcap
    if window_left != -1 or window_right != -1:
        options["window"] = (window_left, window_right)
    if dropout:
        options["dropout"] = dropout
        options["dropout_offset"] = dropout_offset
        if dropout_seed is not None:
            options["dropout_seed"] = dropout_seed if dropout_seed.device == q.device else int(dropout_seed)
    if cu_seqlens_q is not None:
        options["cu_seqlens_q"] = cu_seqlens_q
        options["max_seqlen_q"] = max_seqlen_q
    if cu_seqlens_k is not None:
        options["cu_seqlens_k"] = cu_seqlens_k
        options["max_seqlen_k"] = max_seqlen_k
    if backend is not None:
        options["backend"] = backend
    return options
