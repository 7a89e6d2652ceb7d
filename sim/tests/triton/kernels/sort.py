"""Sorting and choosing, by exchanges between lanes."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import bits, empty, normal, of
from support.case import Case, Close, Exact, ulps
from support.language import jit, tl


@jit
def sort_rows(source, target, R: tl.constexpr, C: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(target + at, tl.sort(tl.load(source + at), dim=1, descending=DESCENDING))


def sorts():
    for format in (*formats.integers, formats.f16, formats.bf16, formats.f32, formats.f64):
        for r, c in ((1, 256), (8, 32), (64, 4)):
            for descending in (False, True):
                source = normal(format, (r, c)) if format.is_float else bits(format, (r, c))

                def expected(source=source, descending=descending):
                    order = np.argsort(source.values, 1, kind="stable")
                    raw = np.take_along_axis(source.raw, order, 1)
                    return {"target": Exact(raw[:, ::-1] if descending else raw)}

                yield Case(
                    f"sort_rows.{format.name}.{r}x{c}{'.descending' if descending else ''}",
                    sort_rows,
                    (1,),
                    {"source": source, "target": empty(format, (r, c))},
                    expected,
                    {"R": r, "C": c, "DESCENDING": descending},
                )


@jit
def largest(source, target, R: tl.constexpr, C: tl.constexpr, K: tl.constexpr):
    x = tl.load(source + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    tl.store(target + tl.arange(0, R)[:, None] * K + tl.arange(0, K)[None, :], tl.topk(x, K))


def choices():
    for format in (formats.i16, formats.f32, formats.i64):
        source = normal(format, (16, 64)) if format.is_float else bits(format, (16, 64))
        yield Case(
            f"largest.{format.name}",
            largest,
            (1,),
            {"source": source, "target": empty(format, (16, 8))},
            lambda x=source.raw: {"target": Exact(np.sort(x, 1)[:, :-9:-1])},
            {"R": 16, "C": 64, "K": 8},
        )


@jit
def route(scores, experts, weights, R: tl.constexpr, E: tl.constexpr, K: tl.constexpr):
    """The K best experts of each row, one after another, and their shares."""
    x = tl.load(scores + tl.arange(0, R)[:, None] * E + tl.arange(0, E)[None, :])
    column = tl.arange(0, E)[None, :]
    total = tl.zeros([R], tl.float32)
    row = tl.arange(0, R)
    for k in tl.static_range(K):
        best = tl.argmax(x, axis=1)
        score = tl.exp2(tl.max(x, axis=1))
        total += score
        tl.store(experts + row * K + k, best)
        tl.store(weights + row * K + k, score)
        x = tl.where(column == best[:, None], float("-inf"), x)
    for k in tl.static_range(K):
        score = tl.load(weights + row * K + k)
        tl.store(weights + row * K + k, score / total)


def routes():
    """Scores are whole, so that exp2 is a power of two and only the quotient rounds, by 2.5 units."""
    scores = of(formats.f32, np.random.default_rng(3).permuted(np.tile(np.arange(16.0) - 8, (32, 1)), axis=1))

    def expected():
        order = np.argsort(-scores.values, 1)[:, :4]
        size = 2.0 ** np.take_along_axis(scores.values, order, 1)
        share = size / size.sum(1, keepdims=True)
        return {"experts": Exact(order.astype(np.int32)), "weights": Close(share, ulps(formats.f32, 3, share))}

    yield Case(
        "route",
        route,
        (1,),
        {"scores": scores, "experts": empty(formats.i32, (32, 4)), "weights": empty(formats.f32, (32, 4))},
        expected,
        {"R": 32, "E": 16, "K": 4},
    )


@jit
def flip_rows(source, target, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(target + at, tl.flip(tl.load(source + at), 1))


def flips():
    for format in (formats.i8, formats.f16, formats.i32, formats.f64):
        source = bits(format, (8, 64))
        yield Case(
            f"flip_rows.{format.name}",
            flip_rows,
            (1,),
            {"source": source, "target": empty(format, (8, 64))},
            lambda x=source.raw: {"target": Exact(x[:, ::-1])},
            {"R": 8, "C": 64},
        )


def cases():
    for group in (sorts, choices, routes, flips):
        yield from group()
