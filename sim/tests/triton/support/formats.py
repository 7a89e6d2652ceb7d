"""Number formats: Triton's names, what numpy stores, and conversions where numpy has no such type."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Format:
    name: str  # as in the names of cases
    triton: str  # as in Triton's signatures
    storage: type
    mantissa: int | None = None  # stored bits; None: an integer
    bias: int | None = None  # None: numpy knows the format
    special: str = "ieee"  # "ieee": infinities and NaNs; "nan": only the largest code is NaN; "fnuz": only 0x80 is

    @property
    def bits(self):
        return 8 * np.dtype(self.storage).itemsize

    @property
    def is_float(self):
        return self.mantissa is not None

    @property
    def unit(self):
        """The largest relative error of rounding to nearest."""
        return 2.0 ** -(self.mantissa + 1)

    @property
    def smallest(self):
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias) if self.bias is not None else float(np.finfo(self.storage).tiny)

    @property
    def end(self):
        """From here on values round to infinity."""
        if self.bias is None:
            info = np.finfo(self.storage)
            return float(info.max) * (1 + 2.0 ** -(self.mantissa + 2)) if self.bits < 64 else np.inf
        return self._finite[-1] + (self._finite[-1] - self._finite[-2]) / 2

    @cached_property
    def _finite(self):
        return self._magnitudes[np.isfinite(self._magnitudes)]

    @cached_property
    def _magnitudes(self):
        """The values of all codes without a sign, infinities and NaNs included."""
        codes = np.arange(1 << (self.bits - 1))
        exponent, fraction = codes >> self.mantissa, codes & ((1 << self.mantissa) - 1)
        normal = (1 + fraction / 2**self.mantissa) * 2.0 ** (exponent - self.bias)
        values = np.where(exponent == 0, fraction * 2.0 ** (1 - self.bias - self.mantissa), normal)
        top = exponent == exponent[-1]
        if self.special == "ieee":
            values = np.where(top, np.where(fraction == 0, np.inf, np.nan), values)
        elif self.special == "nan":
            values[-1] = np.nan
        return values

    def decode(self, raw):
        """Values, as float64 where the format is not an integer."""
        if not self.is_float:
            return raw
        if self.bias is None:
            return raw.astype(np.float64)
        magnitude = self._magnitudes[raw & ((1 << (self.bits - 1)) - 1)]
        negative = raw >> (self.bits - 1) != 0
        values = np.where(negative, -magnitude, magnitude)
        return np.where(raw == 1 << (self.bits - 1), np.nan, values) if self.special == "fnuz" else values

    def encode(self, values, toward_zero=False, saturate=False):
        """Rounds to nearest even or toward zero; beyond the largest number to infinity, or NaN where there is none."""
        if not self.is_float:
            return np.asarray(values).astype(self.storage)
        values = np.asarray(values, np.float64)
        if self.bias is None:
            with np.errstate(over="ignore"):
                return values.astype(self.storage)
        table = self._finite
        magnitude = np.abs(values)
        below = np.clip(np.searchsorted(table, magnitude, side="right") - 1, 0, len(table) - 1)
        above = np.minimum(below + 1, len(table) - 1)
        down, up = magnitude - table[below], table[above] - magnitude
        takes_above = (up < down) | ((up == down) & (below % 2 == 1))
        code = np.where(takes_above & (not toward_zero), above, below)
        negative = np.signbit(values) & ((code != 0) | (self.special != "fnuz"))
        code = code | (negative << (self.bits - 1))
        over = np.isinf(values) | (magnitude >= self.end) & (not saturate) & (not toward_zero)
        code = np.where(over, self._code(np.inf, values), code)
        return np.where(np.isnan(values), self._code(np.nan, 0), code).astype(self.storage)

    def _code(self, special, sign_of):
        sign = np.signbit(sign_of) * (1 << (self.bits - 1))
        if self.special == "fnuz":
            return 1 << (self.bits - 1)
        if self.special == "nan":
            return sign + (1 << (self.bits - 1)) - 1
        top = ((1 << (self.bits - 1 - self.mantissa)) - 1) << self.mantissa
        return sign + top + (0 if np.isinf(special) else 1 << (self.mantissa - 1))


i8, i16, i32, i64 = (Format(f"i{n}", f"i{n}", getattr(np, f"int{n}")) for n in (8, 16, 32, 64))
u8, u16, u32, u64 = (Format(f"u{n}", f"u{n}", getattr(np, f"uint{n}")) for n in (8, 16, 32, 64))
f16 = Format("f16", "fp16", np.float16, 10)
bf16 = Format("bf16", "bf16", np.uint16, 7, 127)
f32 = Format("f32", "fp32", np.float32, 23)
f64 = Format("f64", "fp64", np.float64, 52)
e4m3 = Format("e4m3", "fp8e4nv", np.uint8, 3, 7, "nan")
e5m2 = Format("e5m2", "fp8e5", np.uint8, 2, 15)
e4m3fnuz = Format("e4m3fnuz", "fp8e4b8", np.uint8, 3, 8, "fnuz")
e5m2fnuz = Format("e5m2fnuz", "fp8e5b16", np.uint8, 2, 16, "fnuz")

signed = (i8, i16, i32, i64)
unsigned = (u8, u16, u32, u64)
integers = signed + unsigned
floats = (f16, bf16, f32, f64)
eights = (e4m3, e5m2, e4m3fnuz, e5m2fnuz)
every = integers + floats + eights
