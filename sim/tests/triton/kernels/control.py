"""Loops, branches and calls: on numbers that workgroups share, and on those of single elements."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import Scalar, bits, empty, filled, whole
from support.case import Case, Exact
from support.language import jit, tl


@jit
def collatz(source, target, N: tl.constexpr):
    """Steps until 1, of all elements at once: a while loop that ends when the last element has."""
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(source + at)
    steps = x * 0
    while tl.max(x, axis=0) > 1:
        steps += (x > 1).to(steps.dtype)
        x = tl.where(x <= 1, x, tl.where(x % 2 == 0, x // 2, 3 * x + 1))
    tl.store(target + at, steps)


def collatz_steps(x):
    steps = 0
    while x > 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        steps += 1
    return steps


@jit
def triangle(source, target, first, last, step):
    """A loop between run-time bounds, with two numbers carried along."""
    total = tl.load(source) * 0
    least = tl.load(source)
    for n in range(first, last, step):
        x = tl.load(source + n)
        total += (x * n).to(tl.int32)
        least = tl.minimum(least, x)
    tl.store(target, total)
    tl.store(target + 1, least)


@jit
def by_group(target, count):
    """Branches that a whole workgroup takes, with an early end and one inside another."""
    group = tl.program_id(0)
    if group >= count:
        return
    if group % 3 == 0:
        if group == 6:  # noqa: SIM108, a branch is wanted
            value = 666
        else:
            value = group * 2
    elif group % 3 == 1:
        value = group + 100
    else:
        value = -group
    tl.store(target + group, value)


@jit
def grid_of_three(target, X: tl.constexpr, Y: tl.constexpr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    sizes = tl.num_programs(0) + 10 * tl.num_programs(1) + 100 * tl.num_programs(2)
    tl.store(target + (z * Y + y) * X + x, x + 10 * y + 100 * z + 1000 * sizes)


@jit(noinline=True)
def horner(x, a, b, c):
    return (a * x + b) * x + c


@jit(noinline=True)
def twice(x, a):
    return horner(x, a, a + 1, a + 2) + horner(x, a + 3, a, a)


@jit
def called(source, target):
    """Functions that are called, not inlined: a return address, a stack. Their arguments are single numbers."""
    at = tl.program_id(0)
    x = tl.load(source + at)
    tl.store(target + at, twice(x, 3) + horner(x, 1, 2, 3))


@jit
def greatest_divisors(a, b, target, N: tl.constexpr):
    at = tl.arange(0, N)
    x, y = tl.load(a + at), tl.load(b + at)
    while tl.sum((y != 0).to(tl.int32)) > 0:
        rest = tl.where(y != 0, x % tl.where(y == 0, 1, y), y)
        x = tl.where(y != 0, y, x)
        y = rest
    tl.store(target + at, x)


@jit
def unrolled(source, target, N: tl.constexpr, TURNS: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(source + at)
    for n in tl.static_range(TURNS):
        x = (x << (n + 1)) ^ (x >> 3) ^ n
        if n % 2 == 1:
            x = x * 3
    tl.store(target + at, x)


@jit
def find_first(source, target, wanted, count, BLOCK: tl.constexpr):
    """Blocks of a line until one holds what is wanted."""
    place = -1
    start = tl.program_id(0) * 0
    while (place < 0) & (start < count):
        at = start + tl.arange(0, BLOCK)
        hit = tl.load(source + at, mask=at < count, other=0) == wanted
        nearest = tl.min(tl.where(hit, at, 1 << 30), axis=0)
        if nearest < (1 << 30):
            place = nearest
        start += BLOCK
    tl.store(target, place)


@jit
def mandelbrot(target, N: tl.constexpr, TURNS: tl.constexpr):
    """Each element's own end, under a mask. Coordinates and squares are exact for so few turns."""
    at = tl.arange(0, N)
    cx, cy = (at % 16).to(tl.float64) / 8 - 1.5, (at // 16).to(tl.float64) / 8 - 1
    x, y, turns = cx * 0, cx * 0, at * 0
    for _ in range(TURNS):
        inside = x * x + y * y <= 4
        x, y = tl.where(inside, x * x - y * y + cx, x), tl.where(inside, 2 * x * y + cy, y)
        turns += inside.to(tl.int32)
    tl.store(target + at, turns)


def mandelbrot_turns(at, turns):
    x = y = 0.0
    cx, cy, count = at % 16 / 8 - 1.5, at // 16 / 8 - 1, 0
    for _ in range(turns):
        if x * x + y * y > 4:
            break
        x, y, count = x * x - y * y + cx, 2 * x * y + cy, count + 1
    return count


@jit
def assembly(a, b, target, N: tl.constexpr):
    """An instruction by name, on elements that no compiler pass looks into."""
    at = tl.arange(0, N)
    x, y = tl.load(a + at), tl.load(b + at)
    z = tl.inline_asm_elementwise("v_xor_b32 $0, $1, $2", "=v,v,v", [x, y], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(target + at, z)


@jit
def split_halves(x, y):
    return x + y, x - y, x * y


@jit
def mapped(a, b, sums, differences, products, N: tl.constexpr):
    at = tl.arange(0, N)
    s, d, p = tl.map_elementwise(split_halves, tl.load(a + at), tl.load(b + at))
    tl.store(sums + at, s)
    tl.store(differences + at, d)
    tl.store(products + at, p)


def collatz_cases():
    for format in (formats.i32, formats.i64):
        source = whole(format, 256, 1, 500)
        yield Case(
            f"collatz.{format.name}",
            collatz,
            (2,),
            {"source": source, "target": empty(format, 256)},
            lambda x=source.raw, f=format: {"target": Exact(f.encode([collatz_steps(int(v)) for v in x]))},
            {"N": 128},
            warps=2,
        )


def sums(source):
    for first, last, step in ((0, 100, 1), (5, 100, 7), (30, 30, 2), (99, 0, 3)):
        chosen = np.arange(first, last, step)

        def expected(chosen=chosen):
            total = (source.raw[chosen].astype(np.int64) * chosen).sum().astype(np.int32)
            return {"target": Exact(np.array([total, min([source.raw[0], *source.raw[chosen]])], np.int32))}

        for wide in (False, True):
            bounds = {"first": first, "last": last, "step": step}
            bounds = {k: Scalar(formats.i64, v) for k, v in bounds.items()} if wide else bounds
            if not wide or step == 7:
                yield Case(
                    f"triangle.{first}.{last}.{step}{'.i64' if wide else ''}",
                    triangle,
                    (1,),
                    {"source": source, "target": empty(formats.i32, 2)} | bounds,
                    expected,
                    warps=1,
                )


def searches(source):
    for wanted in (int(source.raw[77]), 123456):
        place = 77 if wanted != 123456 else -1
        yield Case(
            f"find_first.{place}",
            find_first,
            (1,),
            {"source": source, "target": empty(formats.i32, 1), "wanted": wanted, "count": 100},
            lambda p=place: {"target": Exact(np.int32([p]))},
            {"BLOCK": 32},
            warps=1,
        )


def loops():
    yield from collatz_cases()
    source = bits(formats.i32, 100)
    yield from sums(source)
    yield from searches(source)
    a, b = whole(formats.u32, 256, 0, 10**9, 1), whole(formats.u32, 256, 0, 10**6, 2)
    yield Case(
        "greatest_divisors",
        greatest_divisors,
        (1,),
        {"a": a, "b": b, "target": empty(formats.u32, 256)},
        lambda: {"target": Exact(np.gcd(a.raw, b.raw))},
        {"N": 256},
    )
    turns = np.array([mandelbrot_turns(n, 6) for n in range(256)], np.int32)
    yield Case(
        "mandelbrot",
        mandelbrot,
        (1,),
        {"target": empty(formats.i32, 256)},
        lambda: {"target": Exact(turns)},
        {"N": 256, "TURNS": 6},
    )


def xor_shifts(x, turns):
    for n in range(turns):
        x = (x << (n + 1)) ^ (x >> 3) ^ n
        x = x * 3 if n % 2 == 1 else x
    return x


def others():
    target = filled(formats.i32, 12)
    values = target.raw.copy()
    for n in range(10):
        values[n] = (666 if n == 6 else n * 2) if n % 3 == 0 else n + 100 if n % 3 == 1 else -n
    yield Case("by_group", by_group, (12,), {"target": target, "count": 10}, lambda: {"target": Exact(values)}, warps=1)
    z, y, x = np.meshgrid(range(2), range(3), range(4), indexing="ij")
    yield Case(
        "grid_of_three",
        grid_of_three,
        (4, 3, 2),
        {"target": empty(formats.i32, (2, 3, 4))},
        lambda: {"target": Exact((x + 10 * y + 100 * z + 1000 * 234).astype(np.int32))},
        {"X": 4, "Y": 3},
        warps=1,
    )
    a, b = bits(formats.i32, 256, 1), bits(formats.i32, 256, 2)

    def polynomial(x, p, q, r):
        return (p * x + q) * x + r

    few = bits(formats.i32, 9, 3)
    called_sum = polynomial(few.raw, 3, 4, 5) + polynomial(few.raw, 6, 3, 3) + polynomial(few.raw, 1, 2, 3)
    yield Case(
        "called",
        called,
        (9,),
        {"source": few, "target": empty(formats.i32, 9)},
        lambda: {"target": Exact(called_sum)},
        warps=1,
    )
    yield Case(
        "unrolled",
        unrolled,
        (1,),
        {"source": a, "target": empty(formats.i32, 256)},
        lambda: {"target": Exact(xor_shifts(a.raw, 9))},
        {"N": 256, "TURNS": 9},
    )
    yield Case(
        "assembly",
        assembly,
        (1,),
        {"a": a, "b": b, "target": empty(formats.i32, 256)},
        lambda: {"target": Exact(a.raw ^ b.raw)},
        {"N": 256},
    )
    yield Case(
        "mapped",
        mapped,
        (1,),
        {"a": a, "b": b} | {n: empty(formats.i32, 256) for n in ("sums", "differences", "products")},
        lambda: {"sums": Exact(a.raw + b.raw), "differences": Exact(a.raw - b.raw), "products": Exact(a.raw * b.raw)},
        {"N": 256},
    )


def cases():
    for group in (loops, others):
        yield from group()
