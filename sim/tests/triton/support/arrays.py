"""A kernel's arrays, and the ways to fill them. Random ones are the same in every run."""

from dataclasses import dataclass

import numpy as np

from support.formats import Format


@dataclass
class Array:
    format: Format
    raw: np.ndarray  # as numpy stores the format
    written: bool = True  # False: the kernel finds memory that nobody wrote
    skew: int = 0  # elements between a 256-byte boundary and the first element

    @property
    def values(self):
        return self.format.decode(self.raw)

    @property
    def nbytes(self):
        return self.raw.nbytes


@dataclass
class Scalar:
    format: Format
    value: int | float


def of(format, values):
    return Array(format, np.ascontiguousarray(format.encode(values)))


def empty(format, shape):
    """What a kernel is to write as a whole."""
    return Array(format, np.zeros(shape, format.storage), written=False)


def filled(format, shape, byte=0xA5):
    """What a kernel is to write in part: the rest must stay."""
    raw = np.zeros(shape, format.storage)
    raw.view(np.uint8)[...] = byte
    return Array(format, raw)


def zeros(format, shape):
    return Array(format, np.zeros(shape, format.storage))


def bits(format, shape, seed=1):
    """Every bit random: infinities, NaNs and denormals among the floats."""
    count = int(np.prod(shape))
    data = np.random.default_rng(seed).bytes(count * np.dtype(format.storage).itemsize)
    return Array(format, np.frombuffer(data, format.storage).reshape(shape).copy())


def normal(format, shape, seed=1, scale=1.0):
    return of(format, np.random.default_rng(seed).standard_normal(shape) * scale)


def uniform(format, shape, low, high, seed=1):
    return of(format, np.random.default_rng(seed).uniform(low, high, shape))


def whole(format, shape, low, high, seed=1):
    """Whole numbers from low to high, both included."""
    return of(format, np.random.default_rng(seed).integers(low, high, shape, endpoint=True))
