"""Which rows of which head a workgroup computes, and which keys they attend: kernels/common/order.hpp, block.hpp and
keys.hpp in Triton."""

import triton
import triton.language as tl


@triton.jit
def beside(units, turn, workgroups):
    """order.hpp: each unit is given one workgroup before any has a second one; those come shortest first."""
    end = tl.minimum(2 * units, workgroups)
    return tl.where((turn < units) | (turn >= end), turn, units + end - 1 - turn)


@triton.jit
def turn_of(tiles, heads, xcds, heads_at_once, units, workgroup):
    """The head and the tile of a workgroup, in the order of order.hpp."""
    share = heads // xcds
    left_over = heads - share * xcds
    whole = workgroup - left_over * tiles
    is_whole = whole >= 0
    turn = tl.where(is_whole, beside(units, whole // xcds, share * tiles), workgroup)
    begin = tl.where(is_whole, whole % xcds * share, share * xcds)
    count = tl.where(is_whole, share, left_over)
    at_once = tl.maximum(heads_at_once, 1)
    first = turn // (at_once * tiles) * at_once
    in_chunk = turn - first * tiles
    of_chunk = tl.minimum(at_once, count - first)
    return begin + first + in_chunk % of_chunk, in_chunk // of_chunk


@triton.jit
def sequence(cu_seqlens, batch, total, largest):
    """The first row of a sequence and the number of its rows. cu_seqlens outside the tensor are clamped to it."""
    first = 0
    count = largest
    if cu_seqlens.to(tl.int64) != 0:
        first = tl.minimum(tl.maximum(tl.load(cu_seqlens + batch), 0), total)
        end = tl.minimum(tl.maximum(tl.load(cu_seqlens + batch + 1), first), total)
        count = tl.minimum(end - first, largest)
    return first, count


@triton.jit
def first_key(window_left, diagonal, keys, row):
    return tl.where(window_left < 0, 0, tl.minimum(tl.maximum(row + diagonal - window_left, 0), keys))


@triton.jit
def end_key(window_right, diagonal, keys, row):
    return tl.where(window_right < 0, keys, tl.minimum(tl.maximum(row + diagonal + window_right + 1, 0), keys))


@triton.jit
def first_query(window_right, diagonal, queries, key):
    return tl.where(window_right < 0, 0, tl.minimum(tl.maximum(key - diagonal - window_right, 0), queries))


@triton.jit
def end_query(window_left, diagonal, queries, key):
    return tl.where(window_left < 0, queries, tl.minimum(tl.maximum(key - diagonal + window_left + 1, 0), queries))


@triton.jit
def tiles_of(
    FIRST: tl.constexpr, END: tl.constexpr, before, after, diagonal, own, others, first_row, OWN: tl.constexpr,
    OTHERS: tl.constexpr,
):  # fmt: skip
    """For OWN rows from first_row on: tiles of OTHERS rows of the other side from begin to end, of which those from
    whole_begin to whole_end attend all of them. FIRST and END are first_key and end_key, or first_query and
    end_query."""
    last_row = tl.minimum(first_row + OWN, own) - 1
    begin = FIRST(before, diagonal, others, first_row) // OTHERS
    end = (END(after, diagonal, others, last_row) + OTHERS - 1) // OTHERS
    whole_begin = (FIRST(before, diagonal, others, last_row) + OTHERS - 1) // OTHERS
    whole_end = END(after, diagonal, others, first_row) // OTHERS
    return begin, end, whole_begin, tl.maximum(whole_end, whole_begin)


@triton.jit
def within(key, low, high):
    """Whether low <= key < high, of whose two comparisons one can be left out, because low <= high."""
    return (key - low).to(tl.uint32, bitcast=True) < (high - low).to(tl.uint32, bitcast=True)


@triton.jit
def row_address(rows, batch, row, head, SIZE: tl.constexpr):
    """Of a row, from the strides in bytes of kernels/abi.h, for elements of SIZE bytes."""
    return rows.data + (
        batch.to(tl.int64) * tl.multiple_of(rows.batch // SIZE, 16 // SIZE)
        + row.to(tl.int64) * tl.multiple_of(rows.seq // SIZE, 16 // SIZE)
        + head.to(tl.int64) * tl.multiple_of(rows.head // SIZE, 16 // SIZE)
    )


@triton.jit
def tile_offsets(rows, ROWS: tl.constexpr, HEAD_DIM: tl.constexpr, SIZE: tl.constexpr, AMD: tl.constexpr):
    """Where a tile's elements are from one of its rows, and that row's number. On AMD it is the row that is first in
    memory: the tile's last, if rows are in the opposite order there. Selection refuses large distances: so 32-bit
    offsets are never negative, and become buffer loads. Two assumptions joined by `&` would count for nothing."""
    row = tl.arange(0, ROWS)
    first = 0
    distance = tl.multiple_of((rows.seq // SIZE).to(tl.int32), 16 // SIZE)
    if AMD:
        distance = tl.multiple_of((tl.abs(rows.seq) // SIZE).to(tl.int32), 16 // SIZE)
        tl.assume(distance >= 0)
        tl.assume(distance < 1048576)
        row = tl.where(rows.seq < 0, ROWS - 1 - row, row)
        first = tl.where(rows.seq < 0, ROWS - 1, 0)
    return row[:, None] * distance + tl.arange(0, HEAD_DIM)[None, :], first
