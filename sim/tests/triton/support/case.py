"""A case: one kernel with its arguments, its constants, its grid and what it must give."""

import importlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from support.arrays import Array, Scalar
from support.formats import Format, f32, f64, i32


@dataclass
class Exact:
    """The very bits."""

    raw: np.ndarray

    def wrong(self, got):
        width = f"u{got.raw.dtype.itemsize}"
        return got.raw.view(width) != np.ascontiguousarray(self.raw, got.raw.dtype).view(width)

    def describe(self, got, place):
        return f"{got.raw[place]!r}, not {self.raw[place]!r}"


@dataclass
class Same:
    """The very values: any NaN for a NaN, and -0 for -0 unless `zeros` is false."""

    values: np.ndarray
    zeros: bool = True

    def wrong(self, got):
        values = got.values
        same = (values == self.values) & (
            (np.signbit(values) == np.signbit(self.values)) | (values != 0) | (not self.zeros)
        )
        return ~(same | (np.isnan(values) & np.isnan(self.values)))

    def describe(self, got, place):
        return f"{got.values[place]!r}, not {self.values[place]!r}"


@dataclass
class AnyOrder:
    """The very bits, in an order that is left to chance."""

    raw: np.ndarray

    def wrong(self, got):
        return np.sort(got.raw, axis=None) != np.sort(self.raw, axis=None)

    def describe(self, got, place):
        return f"{np.sort(got.raw, axis=None)[place]!r}, not {np.sort(self.raw, axis=None)[place]!r}, when sorted"


@dataclass
class Close:
    """Within `error` of the value, and half a unit of the format more for the result's own rounding; NaN where NaN is,
    and infinity where the format ends."""

    values: np.ndarray
    error: np.ndarray | float = 0.0

    def allowed(self, format):
        finite = np.where(np.isfinite(self.values), np.abs(self.values), 0)
        return np.broadcast_to(self.error + np.maximum(finite, format.smallest) * format.unit, np.shape(self.values))

    def wrong(self, got):
        values = got.values
        with np.errstate(invalid="ignore"):
            expected = np.where(np.abs(self.values) >= got.format.end, np.copysign(np.inf, self.values), self.values)
            far = ~(np.abs(values - expected) <= self.allowed(got.format))
        return far & ~((values == expected) | (np.isnan(values) & np.isnan(expected)))

    def describe(self, got, place):
        far, allowed = abs(got.values[place] - self.values[place]), self.allowed(got.format)[place]
        return f"{got.values[place]!r}, {far:.3e} off {self.values[place]!r}; {allowed:.3e} allowed"


def ulps(format, count, values):
    """So many units in the last place."""
    exponent = np.frexp(np.where(np.isfinite(values), values, 0))[1] - 1
    return count * np.maximum(np.ldexp(2.0, exponent - format.mantissa - 1), format.smallest * 2.0**-format.mantissa)


@dataclass
class Case:
    name: str
    kernel: object
    grid: tuple
    arguments: dict  # in the kernel's order; constants follow
    expected: object  # gives {argument: Exact or Close}
    constants: dict = field(default_factory=dict)
    warps: int = 4
    hints: bool = True  # tell the compiler what Triton's JIT finds out of arguments: multiples of 16, small tensors
    options: dict = field(default_factory=dict)
    refused: dict = field(default_factory=dict)  # {architecture: words of the compiler's error}
    left_out: dict = field(default_factory=dict)  # {architecture: the mistake in the code that the compiler makes}
    varies: tuple = ()  # architectures for which the compiler makes one of several codes, by chance

    @cached_property
    def results(self):
        return self.expected()

    @cached_property
    def passed(self):
        """What is passed: Triton's JIT compiles an integer argument that is 1 into the kernel, and so do we."""
        return {name: value for name, value in self.arguments.items() if not self._is_compiled_in(value)}

    def _is_compiled_in(self, value):
        return self.hints and type(value) is int and value == 1

    def scalar(self, value):
        if isinstance(value, Scalar):
            return value
        return Scalar(i32, value) if isinstance(value, int) else Scalar(f32, value)

    @cached_property
    def signature(self):
        types = {}
        for name, value in self.arguments.items():
            if self._is_compiled_in(value):
                types[name] = "constexpr"
            elif isinstance(value, Array):
                types[name] = "*" + value.format.triton
            else:
                types[name] = self.scalar(value).format.triton
        return types | dict.fromkeys(self.constants, "constexpr")

    @property
    def args(self):
        return ",".join(type for type in self.signature.values() if type != "constexpr")

    @property
    def compiled_in(self):
        """Constants by name, as numbers, strings or Formats."""
        return {n: v for n, v in self.arguments.items() if self._is_compiled_in(v)} | self.constants

    @property
    def attributes(self):
        """What the compiler may know, by the number of the argument."""
        known = {}
        for number, value in enumerate(self.arguments.values()):
            if not self.hints:
                continue
            if isinstance(value, Array):
                aligned = value.skew * value.raw.itemsize % 16 == 0
                known[(number,)] = [["tt.divisibility", 16]] * aligned + [["tt.pointer_range", 32]]
            elif not isinstance(self.scalar(value).value, float) and self.scalar(value).value % 16 == 0:
                known[(number,)] = [["tt.divisibility", 16]]
        return known


def load_cases():
    """Those of all files in kernels/, by name."""
    cases = {}
    for path in sorted((Path(__file__).parent.parent / "kernels").glob("*.py")):
        for case in importlib.import_module(f"kernels.{path.stem}").cases():
            case.name = f"{path.stem}.{case.name}"
            assert case.name not in cases, case.name
            cases[case.name] = case
    return cases


__all__ = ["Array", "Case", "Close", "Exact", "Format", "Scalar", "f64", "load_cases"]
