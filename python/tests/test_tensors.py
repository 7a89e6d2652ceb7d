"""Where tensors come from: NumPy, PyTorch, and anything else that has __dlpack__."""

import sys
import types

import numpy as np
import pytest
import rapt
import torch

RNG = np.random.default_rng(11)
Q = RNG.standard_normal((2, 6, 4, 8)).astype(np.float32)
K = RNG.standard_normal((2, 7, 2, 8)).astype(np.float32)
V = RNG.standard_normal((2, 7, 2, 16)).astype(np.float32)
OUT = rapt.attention(Q, K, V, causal=True)


class Foreign:
    """A tensor with only DLPack's two methods. `versioned`: those of DLPack 1.0."""

    def __init__(self, array, versioned=True):
        self.array, self.versioned, self.asked = array, versioned, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        self.asked.append(options)
        if not self.versioned and "max_version" in options:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(**options)


def test_read_only_arrays_are_inputs_and_no_outputs():
    arrays = [x.copy() for x in (Q, K, V)]
    for x in arrays:
        x.flags.writeable = False
    assert (rapt.attention(*arrays, causal=True) == OUT).all()
    with pytest.raises(ValueError, match="out is read-only"):
        rapt.attention(Q, K, V, out=np.broadcast_to(np.float32(0), OUT.shape))
    with pytest.raises(ValueError, match="k is read-only, and would be written"):  # a cache that is appended to
        new = {"new_k": Q[:, :1, :2], "new_v": Q[:, :1, :2], "seqused_k": np.array([3, 3], np.int32)}
        rapt.attention(Q, arrays[1], K.copy(), **new)


@pytest.mark.parametrize("layout", ["heads first", "a slice", "reversed", "broadcast"])
def test_strides(layout):
    def laid_out(x):
        if layout == "heads first":
            return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
        if layout == "a slice":
            wide = np.full((*x.shape[:3], 3 * x.shape[3]), np.nan, x.dtype)
            wide[..., 5 : 5 + x.shape[3]] = x
            return wide[..., 5 : 5 + x.shape[3]]
        if layout == "reversed":
            return np.ascontiguousarray(x[:, ::-1])[:, ::-1]
        return np.broadcast_to(x[:1], x.shape)

    q, k, v = map(laid_out, (Q, K, V))
    expected = rapt.attention(*(np.ascontiguousarray(x) for x in (q, k, v)), causal=True)
    assert (rapt.attention(q, k, v, causal=True) == expected).all()
    if layout in ("heads first", "a slice"):  # torch has no negative strides, and takes no read-only array
        assert (rapt.attention(*map(torch.from_numpy, (q, k, v)), causal=True).numpy() == expected).all()


@pytest.mark.parametrize("convert", [np.asarray, torch.from_numpy])
def test_tensors_without_elements_whose_strides_are_0(convert):
    """As NumPy makes them."""
    k = np.zeros((2, 0, 2, 8), np.float32)
    assert k.strides == (0, 0, 0, 0)
    out, lse = rapt.attention(convert(Q), convert(k), convert(k), return_lse=True)
    assert (np.asarray(out) == 0).all() and (np.asarray(lse) == -np.inf).all()
    assert rapt.attention(convert(k), convert(K), convert(V)).shape == (2, 0, 2, V.shape[-1])


def test_strides_that_are_no_multiple_of_an_element():
    rows = np.zeros(6, np.dtype({"names": ["x"], "formats": [(np.float32, 8)], "itemsize": 34}))
    with pytest.raises(ValueError, match="k has a stride of 34 bytes"):
        rapt.attention(Q, rows["x"].reshape(1, 6, 1, 8), V)


def test_bfloat16_arrays_of_numpy():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    arrays = [x.astype(ml_dtypes.bfloat16) for x in (Q, K, V)]
    out, lse = rapt.attention(*arrays, causal=True, return_lse=True)
    assert out.dtype == ml_dtypes.bfloat16 and lse.dtype == np.float32
    tensors = [torch.from_numpy(x.astype(np.float32)).bfloat16() for x in arrays]
    same = rapt.attention(*tensors, causal=True)
    assert (same.float().numpy() == out.astype(np.float32)).all()
    dq = rapt.attention_backward(out, *arrays, out, lse, causal=True).dq
    assert dq.dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("versioned", [True, False])
def test_any_library_with_dlpack(versioned):
    q, k, v = (Foreign(x, versioned) for x in (Q, K, V))
    out, lse = rapt.attention(q, k, v, causal=True, return_lse=True)
    assert (np.from_dlpack(out) == OUT).all() and np.from_dlpack(lse).shape == (2, 4, 6)
    assert all("stream" not in options for options in q.asked)
    gradients = rapt.attention_backward(out, q, k, v, out, lse, causal=True)
    expected = rapt.attention_backward(OUT, Q, K, V, OUT, np.from_dlpack(lse), causal=True)
    assert all((np.from_dlpack(x) == y).all() for x, y in zip(gradients[:3], expected[:3], strict=True))
    with pytest.raises(ValueError, match=r"q has the shape \(6, 4, 8, 2, 2\)|q has 5 dimensions"):
        rapt.attention(Foreign(np.zeros((6, 4, 8, 2, 2), np.float32)), k, v)


def test_results_are_arrays_of_a_library_without_array_namespaces(monkeypatch):
    monkeypatch.setitem(sys.modules, "foreign", types.SimpleNamespace(from_dlpack=lambda memory: ("foreign", memory)))
    monkeypatch.setattr(Foreign, "__module__", "foreign.arrays")
    library, memory = rapt.attention(*(Foreign(x) for x in (Q, K, V)), causal=True)
    assert library == "foreign" and (np.from_dlpack(memory) == OUT).all()


def test_mixed_libraries_and_torch_subclasses():
    out = rapt.attention(torch.from_numpy(Q), K, Foreign(V), causal=True)
    assert isinstance(out, torch.Tensor) and (out.numpy() == OUT).all()
    with torch.no_grad():
        parameter = torch.nn.Parameter(torch.from_numpy(Q))
        assert (rapt.attention(parameter, K, V, causal=True).numpy() == OUT).all()


def test_views_of_torch_with_an_offset():
    storage = torch.cat([torch.full((1, 6, 4, 8), torch.nan), torch.from_numpy(Q)])
    assert (rapt.attention(storage[1:], K, V, causal=True).numpy() == OUT).all()


def test_empty_sequences():
    nothing = np.zeros((2, 0, 2, 8), np.float32)
    out, lse = rapt.attention(Q, nothing, nothing, return_lse=True)
    assert (out == 0).all() and (lse == -np.inf).all()
    assert rapt.attention(np.zeros((2, 0, 4, 8), np.float32), K, V).shape == (2, 0, 4, 16)


def test_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_default_device", jax.devices("cpu")[0])
    for dtype in (jax.numpy.float32, jax.numpy.bfloat16):
        q, k, v = (jax.numpy.asarray(x, dtype) for x in (Q, K, V))
        out, lse = rapt.attention(q, k, v, causal=True, return_lse=True)
        assert isinstance(out, jax.Array) and out.dtype == dtype and lse.dtype == np.float32
        arrays = [np.asarray(x) for x in (q, k, v)]
        assert (np.asarray(out) == rapt.attention(*arrays, causal=True)).all()
        dq = rapt.attention_backward(out, q, k, v, out, lse, causal=True, wrt=("q",)).dq
        assert isinstance(dq, jax.Array) and dq.dtype == dtype and np.isfinite(np.asarray(dq, np.float32)).all()
