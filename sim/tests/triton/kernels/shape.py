"""Elements that change places: transposes, joins, splits, gathers, tables, histograms. Every bit counts."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import bits, empty, filled, whole
from support.case import Case, Exact
from support.language import jit, tl


@jit
def transpose(source, target, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    x = tl.load(source + r[:, None] * C + c[None, :])
    tl.store(target + c[:, None] * R + r[None, :], tl.trans(x))


def transposes():
    """The compiler takes the way through LDS, with its own padding or swizzle for each type and shape."""
    for format in (*formats.signed, formats.f16, formats.bf16, formats.f64, formats.e5m2):
        for r, c, hints in ((32, 32, True), (64, 16, True), (8, 128, True), (32, 32, False)):
            source = bits(format, (r, c))
            yield Case(
                f"transpose.{format.name}.{r}x{c}{'' if hints else '.plain'}",
                transpose,
                (1,),
                {"source": source, "target": empty(format, (c, r))},
                lambda x=source.raw: {"target": Exact(x.T)},
                {"R": r, "C": c},
                hints=hints,
            )


@jit
def permute_axes(source, target, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    x = tl.load(source + (a[:, None, None] * B + b[None, :, None]) * C + c[None, None, :])
    tl.store(target + (c[:, None, None] * A + a[None, :, None]) * B + b[None, None, :], tl.permute(x, 2, 0, 1))


@jit
def pair_up(a, b, joined, mixed, first, second, N: tl.constexpr):
    """Join, interleave, and split what is in pairs."""
    at = tl.arange(0, N)
    x, y = tl.load(a + at), tl.load(b + at)
    both = tl.join(x, y)
    tl.store(joined + at[:, None] * 2 + tl.arange(0, 2)[None, :], both)
    tl.store(mixed + tl.arange(0, 2 * N), tl.interleave(x, y))
    even, odd = tl.split(tl.reshape(x, N // 2, 2))
    tl.store(first + tl.arange(0, N // 2), even)
    tl.store(second + tl.arange(0, N // 2), odd)


def pairs():
    for format in (formats.i8, formats.f16, formats.f32, formats.i64):
        a, b = bits(format, 256, 1), bits(format, 256, 2)
        both = np.stack([a.raw, b.raw], 1)
        yield Case(
            f"pair_up.{format.name}",
            pair_up,
            (1,),
            {
                "a": a,
                "b": b,
                "joined": empty(format, (256, 2)),
                "mixed": empty(format, 512),
                "first": empty(format, 128),
                "second": empty(format, 128),
            },
            lambda a=a, both=both: {
                "joined": Exact(both),
                "mixed": Exact(both.ravel()),
                "first": Exact(a.raw[::2]),
                "second": Exact(a.raw[1::2]),
            },
            {"N": 256},
        )


@jit
def reshape_and_sum(source, target, N: tl.constexpr, R: tl.constexpr):
    """A line as a table whose columns are summed, beside the sum broadcast back."""
    x = tl.load(source + tl.arange(0, N))
    table = tl.reshape(x, R, N // R)
    total = tl.broadcast_to(tl.sum(table, axis=0)[None, :], R, N // R)
    tl.store(target + tl.arange(0, N), tl.reshape(table + total, N))


@jit
def gather_axis(source, index, target, AXIS: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(target + at, tl.gather(tl.load(source + at), tl.load(index + at), AXIS))


def gathers():
    for format in (formats.i8, formats.f16, formats.f32, formats.i64):
        for r, c, axis in ((8, 64, 1), (64, 8, 0), (2, 256, 1)):
            source = bits(format, (r, c))
            index = whole(formats.i32, (r, c), 0, (r, c)[axis] - 1, seed=2)
            yield Case(
                f"gather_axis.{format.name}.{r}x{c}.{axis}",
                gather_axis,
                (1,),
                {"source": source, "index": index, "target": empty(format, (r, c))},
                lambda x=source.raw, i=index.raw, a=axis: {"target": Exact(np.take_along_axis(x, i, a))},
                {"AXIS": axis, "R": r, "C": c},
            )


@jit
def embed(table, tokens, target, count, width, D: tl.constexpr):
    """Rows of a table, chosen by 64-bit numbers in memory; a negative one gives zeros."""
    token = tl.load(tokens + tl.program_id(0))
    column = tl.arange(0, D)
    value = tl.load(table + token * width + column, mask=(column < width) & (token >= 0), other=0)
    tl.store(target + tl.program_id(0) * width + column, value, mask=column < width)


def embeddings():
    for format in (formats.i8, formats.bf16, formats.f64):
        table, tokens = bits(format, (20, 48)), whole(formats.i64, 12, -2, 19)
        expected = np.where(tokens.raw[:, None] < 0, format.storage(0), table.raw[tokens.raw])
        yield Case(
            f"embed.{format.name}",
            embed,
            (12,),
            {"table": table, "tokens": tokens, "target": empty(format, (12, 48)), "count": 12, "width": 48},
            lambda e=expected: {"target": Exact(e)},
            {"D": 64},
            warps=1,
        )


@jit
def scatter(source, index, target, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(target + tl.load(index + at), tl.load(source + at))


@jit
def count_bins(source, target, BINS: tl.constexpr, N: tl.constexpr):
    tl.store(target + tl.arange(0, BINS), tl.histogram(tl.load(source + tl.arange(0, N)), BINS))


@jit
def count_bins_masked(source, target, count, BINS: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(source + at, mask=at < count, other=0)
    tl.store(target + tl.arange(0, BINS), tl.histogram(x, BINS, mask=at < count))


def histograms():
    for bins, count in ((8, 1024), (64, 512), (256, 2048)):
        source = whole(formats.i32, count, 0, bins - 1)
        yield Case(
            f"count_bins.{bins}",
            count_bins,
            (1,),
            {"source": source, "target": empty(formats.i32, bins)},
            lambda x=source.raw, n=bins: {"target": Exact(np.bincount(x, minlength=n))},
            {"BINS": bins, "N": count},
        )
    source = whole(formats.i32, 900, 0, 31)
    yield Case(
        "count_bins_masked",
        count_bins_masked,
        (1,),
        {"source": source, "target": empty(formats.i32, 32), "count": 900},
        lambda: {"target": Exact(np.bincount(source.raw, minlength=32))},
        {"BINS": 32, "N": 1024},
    )


def singles():
    cube = bits(formats.i16, (8, 16, 4))
    yield Case(
        "permute_axes",
        permute_axes,
        (1,),
        {"source": cube, "target": empty(formats.i16, (4, 8, 16))},
        lambda: {"target": Exact(cube.raw.transpose(2, 0, 1))},
        {"A": 8, "B": 16, "C": 4},
    )
    line = bits(formats.i32, 512)
    table = line.raw.reshape(16, 32)
    yield Case(
        "reshape_and_sum",
        reshape_and_sum,
        (1,),
        {"source": line, "target": empty(formats.i32, 512)},
        lambda: {"target": Exact((table + table.sum(0, dtype=np.int32)).ravel())},
        {"N": 512, "R": 16},
    )
    order = np.random.default_rng(4).permutation(512).astype(np.int32)
    source, target = bits(formats.f16, 512), filled(formats.f16, 600)
    expected = target.raw.copy()
    expected[order] = source.raw
    index = whole(formats.i32, 512, 0, 0)
    index.raw[:] = order
    yield Case(
        "scatter",
        scatter,
        (1,),
        {"source": source, "index": index, "target": target},
        lambda: {"target": Exact(expected)},
        {"N": 512},
    )


def cases():
    for group in (transposes, pairs, gathers, embeddings, histograms, singles):
        yield from group()
