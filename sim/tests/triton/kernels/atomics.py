"""Atomics: every operation, type, order and scope. What is expected does not depend on who comes first."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import bits, empty, whole, zeros
from support.case import AnyOrder, Case, Exact
from support.language import jit, tl

BINS, COUNT, GROUPS = 38, 512, 4


@jit
def into_bins(
    values, bins, target, count, OPERATION: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr, N: tl.constexpr
):
    """Many lanes and workgroups meet in few places; lanes beyond the count are masked off."""
    at = tl.program_id(0) * N + tl.arange(0, N)
    inside = at < count
    place = target + tl.load(bins + at, mask=inside, other=0)
    x = tl.load(values + at, mask=inside, other=0)
    if OPERATION == "add":
        tl.atomic_add(place, x, mask=inside, sem=SEM, scope=SCOPE)
    elif OPERATION == "max":
        tl.atomic_max(place, x, mask=inside, sem=SEM, scope=SCOPE)
    elif OPERATION == "min":
        tl.atomic_min(place, x, mask=inside, sem=SEM, scope=SCOPE)
    elif OPERATION == "and":
        tl.atomic_and(place, x, mask=inside, sem=SEM, scope=SCOPE)
    elif OPERATION == "or":
        tl.atomic_or(place, x, mask=inside, sem=SEM, scope=SCOPE)
    else:
        tl.atomic_xor(place, x, mask=inside, sem=SEM, scope=SCOPE)


FUNCTIONS = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def bins_case(format, operation, sem="acq_rel", scope="gpu", hints=True, name="", positive=False):
    if format.is_float:  # whole numbers, whose sums are exact
        most = {formats.bf16: 2, formats.f16: 20}.get(format, 1000)
        values, target = whole(format, COUNT, -most, most), whole(format, BINS, -9, 9, seed=4)
    else:
        values, target = bits(format, COUNT), bits(format, BINS, seed=4)
    mistakes = {}
    if format in (formats.i32, formats.i64) and operation in ("max", "min"):
        mistakes = dict.fromkeys(
            ("gfx942", "gfx950"), "lanes that meet are compared without a sign (v_max_u32) beforehand"
        )
    if positive:
        values.raw, mistakes = np.abs(values.raw), {}
    bins = whole(formats.i32, COUNT, 0, BINS - 1, seed=5)
    count = COUNT - 12

    def expected():
        result = target.raw.copy() if format is not formats.bf16 else target.values
        x = values.raw if format is not formats.bf16 else values.values
        FUNCTIONS[operation].at(result, bins.raw[:count], x[:count])
        return {"target": Exact(result if format is not formats.bf16 else format.encode(result))}

    return Case(
        name or f"into_bins.{operation}.{format.name}{'' if hints else '.plain'}",
        into_bins,
        (GROUPS,),
        {"values": values, "bins": bins, "target": target, "count": count},
        expected,
        {"OPERATION": operation, "SEM": sem, "SCOPE": scope, "N": COUNT // GROUPS},
        hints=hints,
        left_out=mistakes,
    )


def all_bins():
    for operation in FUNCTIONS:
        for format in (formats.i32, formats.u32, formats.i64, formats.u64, *formats.floats):
            if operation in ("and", "or", "xor") and (format.is_float or format in formats.unsigned):
                continue
            if operation in ("min", "max") and format in (formats.f16, formats.bf16):
                continue
            for hints in (True, False):
                yield bins_case(format, operation, hints=hints)
    for operation in ("max", "min"):
        for format in (formats.i32, formats.i64):
            yield bins_case(format, operation, name=f"into_bins.{operation}.{format.name}.positive", positive=True)
    for sem in ("relaxed", "acquire", "release", "acq_rel"):
        for scope in ("gpu", "cta", "sys"):
            if scope != "cta":  # the bins are shared by workgroups
                yield bins_case(formats.f32, "add", sem, scope, name=f"into_bins.{sem}.{scope}")


@jit
def old_values(target, tickets, flags, N: tl.constexpr):
    """Each lane draws a number, by one atomic per lane or one per workgroup."""
    at = tl.program_id(0) * N + tl.arange(0, N)
    zero = at * 0
    ticket = tl.atomic_add(target + zero, 1)
    tl.store(tickets + at, ticket)
    first = tl.atomic_add(target + 1, N)
    tl.store(flags + first + tl.arange(0, N), tl.program_id(0))
    tl.atomic_max(target + 2, tl.program_id(0) * 10)
    tl.atomic_xchg(target + 3 + tl.program_id(0), first)


def tickets():
    for format in (formats.i32, formats.i64):
        yield Case(
            f"old_values.{format.name}",
            old_values,
            (GROUPS,),
            {"target": zeros(format, 3 + GROUPS), "tickets": empty(format, COUNT), "flags": empty(format, COUNT)},
            lambda f=format: {
                "tickets": AnyOrder(np.arange(COUNT, dtype=f.storage)),
                "flags": AnyOrder(np.repeat(np.arange(GROUPS, dtype=f.storage), 128)),
                "target": AnyOrder(f.encode([COUNT, COUNT, 30, 0, 128, 256, 384])),
            },
            {"N": COUNT // GROUPS},
            warps=2,
        )


@jit
def exchange(target, old, values, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(old + at, tl.atomic_xchg(target + at, tl.load(values + at)))


@jit
def compare_and_swap(target, old, expected, values, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(old + at, tl.atomic_cas(target + at, tl.load(expected + at), tl.load(values + at)))


def swaps():
    for format in (formats.i32, formats.i64, formats.u32, formats.f32, formats.f64):
        target, values = bits(format, 256, 1), bits(format, 256, 2)
        refused = ("gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201") if format is formats.f64 else ()
        yield Case(
            f"exchange.{format.name}",
            exchange,
            (1,),
            {"target": target, "old": empty(format, 256), "values": values},
            lambda t=target.raw, v=values.raw: {"target": Exact(v), "old": Exact(t)},
            {"N": 256},
            refused=dict.fromkeys(refused, "Cannot select"),
        )
    for format in (
        formats.i16,
        formats.i32,
        formats.i64,
        formats.u32,
        formats.u64,
        formats.f16,
        formats.f32,
        formats.f64,
    ):
        target, values, guess = bits(format, 256, 1), bits(format, 256, 2), bits(format, 256, 3)
        guess.raw[::3] = target.raw[::3]
        word = f"u{guess.raw.itemsize}"
        new = np.where(guess.raw.view(word) == target.raw.view(word), values.raw, target.raw)
        yield Case(
            f"compare_and_swap.{format.name}",
            compare_and_swap,
            (1,),
            {"target": target, "old": empty(format, 256), "expected": guess, "values": values},
            lambda t=target.raw, n=new: {"target": Exact(n), "old": Exact(t)},
            {"N": 256},
        )


@jit
def locked_sum(values, lock, total, order, N: tl.constexpr):
    """A lock by compare-and-swap; behind it, plain loads and stores of what all workgroups share."""
    x = tl.load(values + tl.program_id(0) * N + tl.arange(0, N))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.debug_barrier()
    at = tl.arange(0, N)
    tl.store(total + at, tl.load(total + at) + x)
    seen = tl.load(order)
    tl.store(order + 1 + seen, tl.program_id(0))
    tl.store(order, seen + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@jit
def last_one_adds(values, partial, arrived, total, N: tl.constexpr):
    """Every workgroup leaves its part; the one that arrives last adds them."""
    sums = tl.sum(tl.load(values + tl.program_id(0) * N + tl.arange(0, N)))
    tl.store(partial + tl.program_id(0), sums)
    tl.debug_barrier()
    if tl.atomic_add(arrived, 1, sem="acq_rel") == tl.num_programs(0) - 1:
        tl.store(total, tl.sum(tl.load(partial + tl.arange(0, 8))))


def protocols():
    values = whole(formats.f32, (8, 64), -99, 99)
    yield Case(
        "locked_sum",
        locked_sum,
        (8,),
        {
            "values": values,
            "lock": zeros(formats.i32, 1),
            "total": zeros(formats.f32, 64),
            "order": zeros(formats.i32, 9),
        },
        lambda: {
            "total": Exact(values.raw.sum(0)),
            "order": AnyOrder(np.int32([8, *range(8)])),
            "lock": Exact(np.int32([0])),
        },
        {"N": 64},
        warps=1,
    )
    yield Case(
        "last_one_adds",
        last_one_adds,
        (8,),
        {
            "values": values,
            "partial": empty(formats.f32, 8),
            "arrived": zeros(formats.i32, 1),
            "total": empty(formats.f32, 1),
        },
        lambda: {"total": Exact(np.float32([values.raw.sum()]))},
        {"N": 64},
        warps=1,
    )


@jit
def pass_along(flags, data, target, N: tl.constexpr):
    """Workgroup n waits until n - 1 has published its sum, then publishes its own: an atomic load and store."""
    n = tl.program_id(0)
    own = tl.sum(tl.load(data + n * N + tl.arange(0, N)))
    before = 0
    if n > 0:
        while tl.atomic_load(flags + n - 1, sem="acquire", scope="gpu") == 0:
            pass
        before = tl.load(target + n - 1, volatile=True)
    tl.store(target + n, before + own)
    tl.debug_barrier()
    tl.atomic_store(flags + n, 1, sem="release", scope="gpu")


def chains():
    data = whole(formats.i32, (6, 64), -1000, 1000)
    yield Case(
        "pass_along",
        pass_along,
        (6,),
        {"flags": zeros(formats.i32, 6), "data": data, "target": empty(formats.i32, 6)},
        lambda: {"target": Exact(np.cumsum(data.raw.sum(1, dtype=np.int32), dtype=np.int32))},
        {"N": 64},
        warps=1,
    )


def cases():
    for group in (all_bins, tickets, swaps, protocols, chains):
        yield from group()
