"""A step of a language model: rotary positions, a paged cache, attention over its pages, a recurrence."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import Array, empty, filled, normal, of, uniform
from support.case import Case, Close, Exact
from support.language import jit, tl

U = formats.f32.unit


@jit
def rotate(x, cosines, sines, y, positions, heads, HALF: tl.constexpr, INTERLEAVED: tl.constexpr):
    """Pairs of elements turn by their position's angle: neighbours, or one from each half."""
    token, head, h = tl.program_id(0), tl.program_id(1), tl.arange(0, HALF)
    position = tl.load(positions + token)
    c, s = tl.load(cosines + position * HALF + h), tl.load(sines + position * HALF + h)
    base = (token * heads + head) * (2 * HALF)
    first = base + (2 * h if INTERLEAVED else h)
    second = first + (1 if INTERLEAVED else HALF)
    a, b = tl.load(x + first).to(tl.float32), tl.load(x + second).to(tl.float32)
    tl.store(y + first, (a * c - b * s).to(y.dtype.element_ty))
    tl.store(y + second, (b * c + a * s).to(y.dtype.element_ty))


def rotations():
    positions = of(formats.i64, [0, 3, 17, 63, 20])
    angle = np.arange(64)[:, None] / 10000.0 ** (np.arange(32) / 32)
    cosines, sines = of(formats.f32, np.cos(angle)), of(formats.f32, np.sin(angle))
    for format in (formats.f16, formats.bf16, formats.f32):
        for interleaved in (False, True):
            x = normal(format, (5, 2, 64))

            def expected(x=x.values, interleaved=interleaved):
                c, s = (t.values[positions.raw][:, None] for t in (cosines, sines))
                a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :32], x[..., 32:])
                y = np.stack([a * c - b * s, b * c + a * s], -1 if interleaved else -2).reshape(x.shape)
                size = np.stack([np.abs(a) + np.abs(b)] * 2, -1 if interleaved else -2).reshape(x.shape)
                return {"y": Close(y, 2 * U * size)}

            yield Case(
                f"rotate.{format.name}{'.interleaved' if interleaved else ''}",
                rotate,
                (5, 2),
                {
                    "x": x,
                    "cosines": cosines,
                    "sines": sines,
                    "y": empty(format, (5, 2, 64)),
                    "positions": positions,
                    "heads": 2,
                },
                expected,
                {"HALF": 32, "INTERLEAVED": interleaved},
                warps=1,
            )


@jit
def append(k, cache, lengths, table, pages_of_row, PAGE: tl.constexpr, D: tl.constexpr):
    """A new row goes to its sequence's page. Rows of the table end with pages that are never read."""
    b, d = tl.program_id(0), tl.arange(0, D)
    length = tl.load(lengths + b)
    page = tl.load(table + b * pages_of_row + length // PAGE)
    tl.store(cache + (page * PAGE + length % PAGE) * D + d, tl.load(k + b * D + d))


PAGE, D, PAGES = 16, 64, 4
TABLE = np.array([[5, 2, 7, 1], [3, 0, 6, -1], [4, -1, -1, -1]], np.int32)
LENGTHS = np.array([50, 33, 7], np.int32)


def appends():
    for format in (formats.f16, formats.e4m3):
        cache, k = filled(format, (8, PAGE, D)), normal(format, (3, D))
        after = cache.raw.copy()
        for b, length in enumerate(LENGTHS):
            after[TABLE[b, length // PAGE], length % PAGE] = k.raw[b]
        yield Case(
            f"append.{format.name}",
            append,
            (3,),
            {
                "k": k,
                "cache": cache,
                "lengths": Array(formats.i32, LENGTHS),
                "table": Array(formats.i32, TABLE),
                "pages_of_row": PAGES,
            },
            lambda a=after: {"cache": Exact(a)},
            {"PAGE": PAGE, "D": D},
            warps=1,
        )


@jit
def decode_part(
    q,
    k,
    v,
    lengths,
    table,
    part_out,
    part_lse,
    pages_of_row,
    scale,
    HEADS: tl.constexpr,
    PARTS: tl.constexpr,
    PAGE: tl.constexpr,
    D: tl.constexpr,
):
    """All heads of a sequence against one part of its pages; a part without keys gives 0 and -inf."""
    b, part = tl.program_id(0), tl.program_id(1)
    h, d, n = tl.arange(0, HEADS), tl.arange(0, D), tl.arange(0, PAGE)
    length = tl.load(lengths + b)
    x = tl.load(q + (b * HEADS + h[:, None]) * D + d[None, :])
    most, total = tl.full([HEADS], -1e30, tl.float32), tl.zeros([HEADS], tl.float32)
    sums = tl.zeros([HEADS, D], tl.float32)
    for block in range(part, tl.cdiv(length, PAGE), PARTS):
        page = tl.load(table + b * pages_of_row + block)
        inside = block * PAGE + n < length
        row = (page * PAGE + n).to(tl.int64) * D
        y = tl.load(k + row[None, :] + d[:, None], mask=inside[None, :], other=0.0).to(x.dtype)
        logit = tl.where(inside[None, :], tl.dot(x, y) * scale, -1e30)
        new = tl.maximum(most, tl.max(logit, 1))
        p, correction = tl.exp(logit - new[:, None]), tl.exp(most - new)
        z = tl.load(v + row[:, None] + d[None, :], mask=inside[:, None], other=0.0).to(x.dtype)
        sums = sums * correction[:, None] + tl.dot(p.to(x.dtype), z)
        total = total * correction + tl.sum(p, 1)
        most = new
    place = (b * PARTS + part) * HEADS + h
    some = total > 0
    tl.store(part_lse + place, tl.where(some, most + tl.log(total), float("-inf")))
    tl.store(part_out + place[:, None] * D + d[None, :], sums / tl.where(some, total, 1.0)[:, None])


@jit
def decode_merge(part_out, part_lse, out, HEADS: tl.constexpr, PARTS: tl.constexpr, D: tl.constexpr):
    b, h, d, part = tl.program_id(0), tl.program_id(1), tl.arange(0, D), tl.arange(0, PARTS)
    place = (b * PARTS + part) * HEADS + h
    lse = tl.load(part_lse + place)
    share = tl.exp(lse - tl.max(lse))
    value = tl.load(part_out + place[:, None] * D + d[None, :])
    tl.store(out + (b * HEADS + h) * D + d, tl.sum(value * share[:, None], 0) / tl.sum(share))


def keys_of(cache, b):
    """The rows of a sequence, in order."""
    rows = np.arange(LENGTHS[b])
    return cache.values[TABLE[b, rows // PAGE], rows % PAGE]


def decodes():
    heads, parts, scale = 16, 2, D**-0.5
    for format, stored in ((formats.f16, formats.f16), (formats.bf16, formats.bf16), (formats.f16, formats.e5m2)):
        q, k, v = normal(format, (3, heads, D), 1), normal(stored, (8, PAGE, D), 2), normal(stored, (8, PAGE, D), 3)

        def expected(q=q, k=k, v=v, unit=format.unit):
            """As in attention.py."""
            out, lse, error, lse_error = (np.zeros((3, parts, heads, *tail)) for tail in ((D,), (), (D,), ()))
            for b in range(3):
                for part in range(parts):
                    mine = np.arange(LENGTHS[b]) // PAGE % parts == part
                    keys, values = keys_of(k, b)[mine], keys_of(v, b)[mine]
                    if not mine.any():
                        lse[b, part] = -np.inf
                        continue
                    s = q.values[b] @ keys.T * scale
                    e = (np.abs(q.values[b]) @ np.abs(keys).T * scale * (D + 8) * U + 4 * U * np.abs(s)).max(
                        1, keepdims=True
                    )
                    top = s.max(1, keepdims=True)
                    lse[b, part] = (top + np.log(np.exp(s - top).sum(1, keepdims=True)))[:, 0]
                    p = np.exp(s - lse[b, part][:, None])
                    out[b, part] = p @ values
                    spread = 4 * U * (top - s.min(1, keepdims=True))
                    error[b, part] = (unit + 2 * e + spread + (len(keys) + 16) * U) * (p @ np.abs(values))
                    lse_error[b, part] = (e + spread)[:, 0] + (len(keys) + 16) * U * (1 + np.abs(lse[b, part]))
            return {"part_out": Close(out, error), "part_lse": Close(lse, lse_error)}

        yield Case(
            f"decode_part.{format.name}.{stored.name}",
            decode_part,
            (3, parts),
            {
                "q": q,
                "k": k,
                "v": v,
                "lengths": Array(formats.i32, LENGTHS),
                "table": Array(formats.i32, TABLE),
                "part_out": empty(formats.f32, (3, parts, heads, D)),
                "part_lse": empty(formats.f32, (3, parts, heads)),
                "pages_of_row": PAGES,
                "scale": scale,
            },
            expected,
            {"HEADS": heads, "PARTS": parts, "PAGE": PAGE, "D": D},
        )


def merges():
    out, lse = normal(formats.f32, (3, 4, 2, D), 1), normal(formats.f32, (3, 4, 2), 2, scale=3)
    lse.raw[1, 2] = -np.inf

    def expected():
        share = np.exp(lse.values - lse.values.max(1, keepdims=True))
        share /= share.sum(1, keepdims=True)
        size = (np.abs(out.values) * share[..., None]).sum(1)
        return {"out": Close((out.values * share[..., None]).sum(1), 80 * U * size)}

    yield Case(
        "decode_merge",
        decode_merge,
        (3, 2),
        {"part_out": out, "part_lse": lse, "out": empty(formats.f32, (3, 2, D))},
        expected,
        {"HEADS": 2, "PARTS": 4, "D": D},
        warps=1,
    )


@jit
def state_step(state, x, decay, b, c, y, STATES: tl.constexpr):
    """h = decay * h + b x, in place; y = c . h: a recurrence's step, a channel a workgroup."""
    channel, n = tl.program_id(0), tl.arange(0, STATES)
    at = channel * STATES + n
    h = tl.load(state + at) * tl.exp(tl.load(decay + at)) + tl.load(b + n) * tl.load(x + channel)
    tl.store(state + at, h)
    tl.store(y + channel, tl.sum(h * tl.load(c + n)))


def states():
    state, decay = normal(formats.f32, (10, 16), 1), uniform(formats.f32, (10, 16), -2, 0, 2)
    x, b, c = normal(formats.f32, 10, 3), normal(formats.f32, 16, 4), normal(formats.f32, 16, 5)

    def expected():
        kept, added = state.values * np.exp(decay.values), b.values * x.values[:, None]
        size = np.abs(kept) * 10 + np.abs(added) * 2
        sizes = ((size + 18 * np.abs(kept + added)) * np.abs(c.values)).sum(1)
        return {"state": Close(kept + added, size * U), "y": Close((kept + added) @ c.values, sizes * U)}

    yield Case(
        "state_step",
        state_step,
        (10,),
        {"state": state, "x": x, "decay": decay, "b": b, "c": c, "y": empty(formats.f32, 10)},
        expected,
        {"STATES": 16},
        warps=1,
    )


def cases():
    for group in (rotations, appends, decodes, merges, states):
        yield from group()
