"""Which rows of which head a workgroup computes, and which keys they attend: kernels/common/order.hpp, block.hpp and
keys.hpp in Triton."""

from collections import namedtuple

import triton
import triton.language as tl
from triton.language.target_info import is_hip

Work = namedtuple("Work", "batch head head_k q_first q_count k_first k_count first_row")


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
def rows_of(p, tiles, BLOCK_Q: tl.constexpr):
    """The workgroup's sequence, head and first row of q. Its head of k is a division: with_head_k makes it."""
    flat_head, tile = turn_of(tiles, p.heads_q * p.batch, p.xcds, p.heads_at_once, p.units, tl.program_id(0))
    head = flat_head % p.heads_q
    batch = flat_head // p.heads_q
    q_first, q_count = sequence(p.cu_seqlens_q, batch, p.total_q, p.seqlen_q)
    k_first, k_count = sequence(p.cu_seqlens_k, batch, p.total_k, p.seqlen_k)
    first_row = tl.where(p.heads_at_once > 0, tiles - 1 - tile, tile) * BLOCK_Q
    return Work(batch, head, 0, q_first, q_count, k_first, k_count, first_row)


@triton.jit
def with_head_k(work, group):
    """The same with the head of k. Kernels ask for it where they first need it, so that no register holds it before."""
    return Work(
        work.batch, work.head, work.head // group, work.q_first, work.q_count, work.k_first, work.k_count,
        work.first_row,
    )  # fmt: skip


@triton.jit
def later(work, zero):
    """The same numbers for code after a loop. With nvidia_tiles.py's unknown_zero ptxas keeps no addresses for it."""
    return Work(
        work.batch + zero, work.head + zero, work.head_k + zero, work.q_first + zero, work.q_count + zero,
        work.k_first + zero, work.k_count + zero, work.first_row + zero,
    )  # fmt: skip


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
    """A row's address, from the strides in bytes of kernels/abi.h, for elements of SIZE bytes."""
    return rows.data + (
        batch.to(tl.int64) * tl.multiple_of(rows.batch // SIZE, 16 // SIZE)
        + row.to(tl.int64) * tl.multiple_of(rows.seq // SIZE, 16 // SIZE)
        + head.to(tl.int64) * tl.multiple_of(rows.head // SIZE, 16 // SIZE)
    )


@triton.jit
def tile_offsets(rows, ROWS: tl.constexpr, HEAD_DIM: tl.constexpr, SIZE: tl.constexpr):
    """The offsets of a tile's elements from one of its rows, and that row's number. On AMD the row is the first one in
    memory: the tile's last, if rows are in the opposite order there. Selection refuses large distances, so 32-bit
    offsets are never negative, and become buffer loads. Two assumptions joined by `&` would count for nothing."""
    row = tl.arange(0, ROWS)
    first = 0
    distance = tl.multiple_of((rows.seq // SIZE).to(tl.int32), 16 // SIZE)
    if is_hip():
        distance = tl.multiple_of((tl.abs(rows.seq) // SIZE).to(tl.int32), 16 // SIZE)
        tl.assume(distance >= 0)
        tl.assume(distance < 1048576)
        row = tl.where(rows.seq < 0, ROWS - 1 - row, row)
        first = tl.where(rows.seq < 0, ROWS - 1, 0)
    return row[:, None] * distance + tl.arange(0, HEAD_DIM)[None, :], first


@triton.jit
def addresses(rows, batch, row, head, zero, ROWS: tl.constexpr, HEAD_DIM: tl.constexpr):
    """The addresses of a tile's elements, from its first row's number. `zero` is nvidia_tiles.py's unknown_zero."""
    if is_hip():
        offsets, lowest = tile_offsets(rows, ROWS, HEAD_DIM, 2)
        return row_address(rows, batch, row + lowest, head, 2) + offsets
    else:
        seq = tl.multiple_of((rows.seq + zero) // 2, 8)
        first = rows.data + (
            batch.to(tl.int64) * tl.multiple_of((rows.batch + zero) // 2, 8)
            + row.to(tl.int64) * seq
            + head.to(tl.int64) * tl.multiple_of((rows.head + zero) // 2, 8)
        )
        return first + ((tl.arange(0, ROWS) + zero)[:, None] * seq.to(tl.int32) + tl.arange(0, HEAD_DIM)[None, :])
