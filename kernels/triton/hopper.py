"""What the kernels with options have in common: tiles in shared memory, which Hopper multiplies from there."""

from collections import namedtuple

from gradients import LOG2E
from not_finite import replaced
from nvidia_tiles import AGAIN_K, unknown_zero
from options import EXCLUDED, with_alibi
from place import end_key, first_key, within
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import async_copy, fence_async_shared


@gluon.constexpr_function
def copy_layout(columns, size, warps):
    """The layout of a tile that lanes copy in pieces of 16 bytes."""
    piece = 16 // size
    across = min(columns // piece, 32)
    return gl.BlockedLayout([1, piece], [32 // across, across], [warps, 1], [1, 0])


@gluon.constexpr_function
def product_layout(columns, warps):
    return gl.NVMMADistributedLayout([3, 0], [warps, 1], [16, columns, 16])


@gluon.constexpr_function
def swizzled(columns, size):
    """The layout of a tile where a lane reads two neighbours, eight rows at once."""
    piece = 16 // size
    phases = min(columns * size // 16, 8)
    return gl.SwizzledSharedLayout(piece, 8 // phases, phases, [1, 0])


@gluon.jit
def first_address(rows, batch, row, head):
    """The address of a row. It is computed in bytes, because ptxas would keep halves of strides in registers."""
    at = rows.data.to(gl.pointer_type(gl.int8))
    at += batch.to(gl.int64) * rows.batch + row.to(gl.int64) * rows.seq + head.to(gl.int64) * rows.head
    return gl.multiple_of(at.to(rows.data.dtype), 16)


@gluon.jit
def copy_rows(to, rows, at, exist, zero, ROWS: gl.constexpr, HEAD_DIM: gl.constexpr):
    """Starts to copy a tile of ROWS rows, the first at `at`. Rows from `exist` on do not exist and become zeros."""
    layout: gl.constexpr = copy_layout(HEAD_DIM, 2, gl.num_warps())
    row = gl.arange(0, ROWS, gl.SliceLayout(1, layout)) + zero
    column = gl.arange(0, HEAD_DIM, gl.SliceLayout(0, layout))
    seq = gl.multiple_of(((rows.seq + zero) // 2).to(gl.int32), 8)
    async_copy.async_load(to, at + (row[:, None] * seq + column[None, :]), mask=(row < exist)[:, None])


@gluon.jit
def score_address(scores, batch, head, row, key, DTYPE: gl.constexpr):
    size: gl.constexpr = DTYPE.primitive_bitwidth // 8
    at = scores.data + (batch.to(gl.int64) * scores.batch + head.to(gl.int64) * scores.head)
    at += row.to(gl.int64) * scores.query + key * size
    return gl.multiple_of(at.to(gl.pointer_type(DTYPE)), 16)


@gluon.jit
def copy_scores(to, scores, at, rows, keys, zero, ROWS: gl.constexpr, KEYS: gl.constexpr):
    """Starts to copy a tile of a bias or mask that has `rows` rows and `keys` keys left. Missing rows are like the last
    one."""
    size: gl.constexpr = to.dtype.primitive_bitwidth // 8
    layout: gl.constexpr = copy_layout(KEYS, size, gl.num_warps())
    row = gl.minimum(gl.arange(0, ROWS, gl.SliceLayout(1, layout)) + zero, rows - 1)
    key = gl.arange(0, KEYS, gl.SliceLayout(0, layout))
    query = gl.multiple_of(gl.multiple_of(scores.query + zero, 16) // size, 16 // size)
    at += row[:, None].to(gl.int64) * query + key[None, :]
    if keys >= KEYS:
        async_copy.async_load(to, at)
    else:
        later = unknown_zero()
        to.store(gl.load(at + later, mask=(key + later < keys)[None, :], other=0))


@gluon.jit
def head_and_batch(p, flat_head, heads):
    """Sequences that share a bias are neighbours, which read it once."""
    shared = (p.bias.data.to(gl.int64) != 0) & (p.bias.batch == 0) & (p.bias.head != 0)
    head = gl.where(shared, flat_head // p.batch, flat_head % heads)
    return head, gl.where(shared, flat_head % p.batch, flat_head // heads)


@gluon.jit
def with_mask(o, s, mask):
    if o.has_mask:
        s = gl.where(mask.load(s.type.layout) != 0, s, EXCLUDED)
    return s


@gluon.jit
def exponents(o, s, reference, bias, mask, slope, distance, columns):
    """log2 of P in the backward pass, from the products q k, which softcap may have capped, and the rows' lse in its
    domain: without a bias one instruction. Keys are distance + columns from the queries."""
    if o.has_bias:
        s = (s * o.factor + bias.load(s.type.layout).to(gl.float32) - reference) * LOG2E
    else:
        s = s * (o.factor * LOG2E) - reference
    s = with_alibi(o, s, slope * LOG2E, distance, columns)
    return with_mask(o, s, mask)


@gluon.jit
def logits(o, s, bias, mask, slope, distance, columns):
    """Natural logits, for a second run: only excluded keys have -inf, whatever the lse and however low a bias."""
    s = s * o.factor
    if o.has_bias:
        s += bias.load(s.type.layout).to(gl.float32)
    s = with_alibi(o, s, slope, distance, columns)
    return with_mask(o, s, mask)


KeyRange = namedtuple("KeyRange", "diagonal begin end whole_begin whole_end")


@gluon.jit
def keys_of(p, first_row, q_count, k_count, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr):
    """Tiles of keys that rows attend, from begin to end; all rows attend the keys from whole_begin to whole_end."""
    diagonal = gl.where(p.top_left != 0, 0, k_count - q_count)
    last_row = gl.minimum(first_row + BLOCK_Q, q_count) - 1
    return KeyRange(
        diagonal,
        first_key(p.window_left, diagonal, k_count, first_row) // BLOCK_K,
        (end_key(p.window_right, diagonal, k_count, last_row) + BLOCK_K - 1) // BLOCK_K,
        first_key(p.window_left, diagonal, k_count, last_row),
        end_key(p.window_right, diagonal, k_count, first_row),
    )


@gluon.jit
def addresses(rows, batch, row, head, layout: gl.constexpr, ROWS: gl.constexpr, HEAD_DIM: gl.constexpr):
    """The addresses of a tile of rows, and the rows' numbers in it. For code after a loop: nothing is computed before
    the loop."""
    zero = unknown_zero()
    i = gl.arange(0, ROWS, gl.SliceLayout(1, layout)) + zero
    column = gl.arange(0, HEAD_DIM, gl.SliceLayout(0, layout)) + zero
    seq = gl.multiple_of(((rows.seq + zero) // 2).to(gl.int32), 8)
    return first_address(rows, batch + zero, row + zero, head + zero) + (i[:, None] * seq + column[None, :]), i


Tiles = namedtuple("Tiles", "k v bias mask")
Places = namedtuple("Places", "k v bias mask")  # addresses of a tile


@gluon.jit
def places_of(a, batch, head, first_row, k_first, first, DTYPE: gl.constexpr):
    """The addresses of the tile whose first key is `first`."""
    head_k = head // a.problem.group
    return Places(
        first_address(a.k, batch, k_first + first, head_k),
        first_address(a.v, batch, k_first + first, head_k),
        score_address(a.problem.bias, batch, head, first_row, first, DTYPE),
        score_address(a.problem.mask, batch, head, first_row, first, gl.int8),
    )


@gluon.jit
def of_second_run(tiles, BLOCK_Q: gl.constexpr, HEAD_DIM: gl.constexpr):
    """The same memory for tiles of few keys, so that the second run, which is rare, has few registers."""
    dtype: gl.constexpr = tiles.k.dtype
    layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([AGAIN_K, HEAD_DIM], dtype)
    return Tiles(
        tiles.k.reinterpret(dtype, [1, AGAIN_K, HEAD_DIM], layout),
        tiles.v.reinterpret(dtype, [1, AGAIN_K, HEAD_DIM], layout),
        tiles.bias.reinterpret(dtype, [1, BLOCK_Q, AGAIN_K], swizzled(AGAIN_K, 2)),
        tiles.mask.reinterpret(gl.int8, [1, BLOCK_Q, AGAIN_K], swizzled(AGAIN_K, 1)),
    )


@gluon.jit
def copy_keys(
    a, tiles, at, places, keys, zero, BLOCK_K: gl.constexpr, HEAD_DIM: gl.constexpr, WITH_V: gl.constexpr,
):  # fmt: skip
    """Starts to copy a tile of at most `keys` keys, while wgmma runs: before a branch it would end."""
    zero += unknown_zero()
    copy_rows(tiles.k.index(at), a.k, places.k, keys, zero, BLOCK_K, HEAD_DIM)
    if WITH_V:
        copy_rows(tiles.v.index(at), a.v, places.v, keys, zero, BLOCK_K, HEAD_DIM)


@gluon.jit
def copy_options(a, o, tiles, at, places, rows, keys, zero, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr):
    """Starts to copy the tile of bias and mask, where `rows` rows are left."""
    if (keys > 0) & (o.has_bias | o.has_mask):
        zero += unknown_zero()
        if o.has_bias:
            copy_scores(tiles.bias.index(at), a.problem.bias, places.bias, rows, keys, zero, BLOCK_Q, BLOCK_K)
        if o.has_mask:
            copy_scores(tiles.mask.index(at), a.problem.mask, places.mask, rows, keys, zero, BLOCK_Q, BLOCK_K)


@gluon.jit
def copy_first(
    a, o, tiles, places, rows, keys, zero, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr, HEAD_DIM: gl.constexpr,
):  # fmt: skip
    """Starts to copy a tile of everything, before a loop or in a second run."""
    copy_options(a, o, tiles, 0, places, rows, keys, zero, BLOCK_Q, BLOCK_K)
    copy_keys(a, tiles, 0, places, keys, zero, BLOCK_K, HEAD_DIM, True)
    async_copy.commit_group()


@gluon.jit
def await_copies():
    async_copy.wait_group(0)
    fence_async_shared()
    gl.barrier()


@gluon.jit
def exclude(p, s, range, rows, first, columns, k_count, BLOCK_K: gl.constexpr):
    """Excludes keys that a row does not attend, where some row of the tile does not attend some key of it."""
    if (first < range.whole_begin) | (first + BLOCK_K > range.whole_end):
        later = unknown_zero()
        low = first_key(p.window_left, range.diagonal, k_count, rows + later)[:, None]
        high = end_key(p.window_right, range.diagonal, k_count, rows + later)[:, None]
        s = gl.where(within(columns + later, low - first, high - first), s, EXCLUDED)
    return s


@gluon.jit
def following(a, places, BLOCK_K: gl.constexpr):
    """The tile of the next keys."""
    return Places(
        places.k + gl.multiple_of(a.k.seq // 2 * BLOCK_K, 8), places.v + gl.multiple_of(a.v.seq // 2 * BLOCK_K, 8),
        places.bias + BLOCK_K, places.mask + BLOCK_K,
    )  # fmt: skip


@gluon.jit
def replace(to, tile, turn):
    """Writes a tile in shared memory as a pass has it to itself or another one."""
    x = tile.load(copy_layout(tile.shape[1], 2, gl.num_warps()))
    gl.barrier()
    to.store(replaced(x, turn))
