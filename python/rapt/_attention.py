"""attention() and attention_backward()."""

import sys
from typing import NamedTuple, Unpack

from rapt import _core
from rapt._options import Options, Tensor
from rapt._results import empty, empty_lse, handed_over, shape_of


def attention(
    q: Tensor, k: Tensor, v: Tensor, *, out: Tensor | None = None, return_lse: bool = False, **options: Unpack[Options]
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(softmax_scale * q k^T) v, exactly, without the matrix of logits in memory.

    q: [batch, seqlen_q, heads_q, head_dim]; fp16, bf16 or fp32 (fp64: only the math backend), any strides, but
        head_dim contiguous. PyTorch's [batch, heads, seqlen, head_dim] is a transposed view of that.
    k: [batch, seqlen_k, heads_k, head_dim]; heads_q is a multiple of heads_k
    v: [batch, seqlen_k, heads_k, head_dim_v]; head dims are 1 to 576
    out: [batch, seqlen_q, heads_q, head_dim_v], the type of q, to write into; default: a new one of q's library
    return_lse: return (out, lse), where lse (logsumexp) is fp32 (fp64 where q is) [batch, heads_q, seqlen_q]: the
        natural logarithm of the sum of exp(logits)
    options: rapt.Options, which also has the shapes of packed sequences and KV caches

    Tensors are used without copies, through DLPack: NumPy, PyTorch, JAX, CuPy. GPU tensors are used on the current
    stream. The result has no autograd history; rapt.torch has operators with gradients. The GIL is released during the
    computation.

    Raises ValueError (a wrong argument: its name, its value and what is allowed), TypeError (not a tensor, no such
    option), NotImplementedError (correct, but no backend takes it), RuntimeError (a device fails, or memory runs out).
    """
    _refuse_autograd(q, k, v)
    _refuse_causal_bias(options)
    result = empty(q, (*shape_of(q, "q")[:-1], shape_of(v, "v")[-1])) if out is None else out
    lse = empty_lse(q) if return_lse else None
    _core.forward(q, k, v, result, lse, **options)
    if out is None:
        result = handed_over(result, q)
    return (result, handed_over(lse, q)) if return_lse else result


class Gradients(NamedTuple):
    """Results of attention_backward: each has the shape and type of its tensor, or is None if not requested."""

    dq: Tensor | None
    dk: Tensor | None
    dv: Tensor | None
    dbias: Tensor | None
    dsink: Tensor | None


def attention_backward(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    *,
    wrt: tuple[str, ...] = ("q", "k", "v", "bias", "sink"),
    dq: Tensor | None = None,
    dk: Tensor | None = None,
    dv: Tensor | None = None,
    dbias: Tensor | None = None,
    dsink: Tensor | None = None,
    **options: Unpack[Options],
) -> Gradients:
    """The gradients of attention(), given the gradient of its result.

    dout: the gradient of out, with its shape and type
    q, k, v, options: as in the call of attention(); no KV cache
    out, lse: the results of that call
    wrt: the tensors whose gradients are wanted; "bias" and "sink" count only if they are given
    dq, dk, dv, dbias, dsink: memory to write into; default: a new tensor for each name in wrt. The gradient of a
        broadcast bias is summed over its broadcast dimensions.

    Raises as attention() does.
    """
    _refuse_autograd(dout, q, k, v)
    _refuse_causal_bias(options)
    inputs = {"q": q, "k": k, "v": v, "bias": options.get("bias"), "sink": options.get("sink")}
    given = {"q": dq, "k": dk, "v": dv, "bias": dbias, "sink": dsink}
    if unknown := set(wrt) - set(inputs):
        raise ValueError(f"wrt has {sorted(unknown)}; it may have {list(inputs)}")
    new = {name: inputs[name] for name in wrt if given[name] is None and inputs[name] is not None}
    written = given | {name: empty(x, tuple(shape_of(x, name, any_rank=True))) for name, x in new.items()}
    _core.backward(q, k, v, out, lse, dout, *written.values(), **options)
    return Gradients(*(handed_over(x, new[name]) if name in new else x for name, x in written.items()))


def _refuse_autograd(*tensors):
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(tensors[0], torch.Tensor) or not torch.is_grad_enabled():
        return
    if any(isinstance(tensor, torch.Tensor) and tensor.requires_grad for tensor in tensors):
        raise ValueError("a tensor requires grad, but this function records no gradients: use rapt.torch, or detach it")


def _refuse_causal_bias(options):
    """PyTorch's CausalBias is a tensor whose memory is uninitialised."""
    module = sys.modules.get("torch.nn.attention.bias")
    for name in ("bias", "mask") if module is not None else ():
        if isinstance(options.get(name), module.CausalBias):
            raise TypeError(f"{name} is a CausalBias, which has no numbers: use causal")
