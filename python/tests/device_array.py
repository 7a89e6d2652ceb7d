"""Arrays of a GPU without any library: HIP by ctypes, DLPack by hand. The GPU is the simulator's in `make python`."""

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, byref, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint64, c_void_p

import numpy as np

ROCM = 10
CAPSULE, TABLE = b"dltensor", b"dlpack_exchange_api"  # a capsule points to its name


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", c_void_p), ("deleter", c_void_p)]


class ExchangeApi(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        *[(name, c_void_p) for name in ("previous", "allocate", "export", "import_")],
        ("borrow", CFUNCTYPE(c_int, ctypes.py_object, POINTER(DLTensor))),
        ("current_stream", CFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, c_void_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype, capsule_pointer.argtypes = c_void_p, [ctypes.py_object, ctypes.c_char_p]


def hip(function, *arguments):
    library = ctypes.CDLL(os.environ["RAPT_HIP_LIBRARY"])
    status = library[function](*arguments)
    assert status == 0, f"{function} gives {status}"


class DeviceArray:
    """A copy of a NumPy array on hip:0, of a library that does not report its stream."""

    def __init__(self, array):
        self.host = np.ascontiguousarray(array)
        self.shape, self.asked = self.host.shape, []
        self.data = c_void_p()
        hip("hipMalloc", byref(self.data), c_size_t(self.host.nbytes))
        hip("hipMemcpy", self.data, c_void_p(self.host.ctypes.data), c_size_t(self.host.nbytes), 1)
        self.sizes = (c_int64 * self.host.ndim)(*self.shape)
        bits = 8 * self.host.itemsize
        self.tensor = DLTensor(self.data.value, ROCM, 0, self.host.ndim, 2, bits, 1, self.sizes, None, 0)
        self.managed = Managed(self.tensor, None, None)

    def __del__(self):
        hip("hipFree", self.data)

    def numpy(self):
        hip("hipMemcpy", c_void_p(self.host.ctypes.data), self.data, c_size_t(self.host.nbytes), 2)
        return self.host

    def __dlpack_device__(self):
        return ROCM, 0

    def __dlpack__(self, *, stream=None):
        self.asked.append(stream)
        return new_capsule(ctypes.addressof(self.managed), CAPSULE, None)


class CupyArray(DeviceArray):
    """A GPU array that CuPy seems to have made, by its name."""


CupyArray.__module__ = "cupy"


class TableArray(DeviceArray):
    """A GPU array of a library with DLPack's C functions, like PyTorch; `stream` is its current stream."""

    stream = None

    def __dlpack__(self, **_):
        raise AssertionError("the C functions are faster")


@CFUNCTYPE(c_int, ctypes.py_object, POINTER(DLTensor))
def _borrow(array, tensor):
    tensor[0] = array.tensor
    return 0


@CFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))
def _current_stream(device_type, device_id, stream):
    assert (device_type, device_id) == (ROCM, 0)
    stream[0] = TableArray.stream
    return 0


_API = ExchangeApi((1, 3), None, None, None, None, _borrow, _current_stream)
TableArray.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(_API), TABLE, None)
