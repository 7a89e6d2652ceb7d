// Decode with mma.sync and cp.async: 16 rows of q that share a head of k, against one split of the keys, with the
// products of forward.cu. The time is that of reading K and V.
//
// Each of RAPT_WAVES waves has every RAPT_WAVES'th tile of RAPT_BLOCK_K keys, a softmax and O of its own. K and V of
// its tiles pass in turn through its own ring of buffers in shared memory, so a wave waits for nothing but its copies.
// At the end the waves' results are merged. A variant is RAPT_HEAD_DIM (any head_dim and head_dim_v up to it),
// RAPT_DTYPE and RAPT_GENERAL.
#include "kernels/common/append.hpp"
#include "kernels/nvidia/attention/attend.hpp"
#include "kernels/nvidia/tile/merge.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr int kKeyTiles = kKeys / 8, kDimTiles = kHeadDim / 8, kKeysOfWaves = kKeys * kWaves;
inline constexpr bool kGeneral = RAPT_GENERAL;
static_assert(kKeys == kRowGroup && kTile == kDecodeRows);
using Tile = StagedRows<T, kHeadDim, kKeys, kWave>;
using Results = WaveResults<T, kGeneral, kHeadDim, kWaves>;

// One is multiplied, the others are being copied.
inline constexpr int kBuffers = RAPT_SHARED_BYTES / (kWaves * Tile::kBytes);
static_assert(kBuffers % 2 == 1 && kBuffers >= 3, "K is copied into the place of V, and V into that of K");
inline constexpr int kRingBytes = kBuffers * Tile::kBytes, kAfterRings = RAPT_SHARED_BYTES - kWaves * kRingBytes;
inline constexpr bool kKeepQ = kAfterRings == 0;  // in registers; or else it stays in shared memory, after the rings
static_assert(kKeepQ || kAfterRings == Tile::kBytes, "shared= of the row");
static_assert(sizeof(Results) <= RAPT_SHARED_BYTES);
inline constexpr int kAhead = (kBuffers - 1) / 2 * kKeysOfWaves;  // keys

// A wave's buffers: K of its first tile, V of it, K of the next, and so on.
struct Ring {
  char* shared;
  int first;  // the one that is multiplied

  DEVICE_MEMBER char* at(int i) const {
    return shared + (first + i < kBuffers ? first + i : first + i - kBuffers) * Tile::kBytes;
  }
  // Frees the first buffer, which all lanes have read.
  DEVICE_MEMBER void advance() {
    wave_barrier();
    first = first + 1 < kBuffers ? first + 1 : 0;
  }
};

DEVICE Tile staged(char* buffer, int lane) { return Tile(nullptr, 0, 0, 0, 0, buffer, lane); }

// Starts to copy the tile of rows from `first` on, as one group.
DEVICE void load(const CacheRows& rows, int dims, const Keys& keys, int first, char* buffer, int lane) {
  if (first < keys.end)
    Tile(rows.group(first / kRowGroup), rows.seq, dims, keys.begin, keys.end, buffer, lane).load(first);
  end_group();
}

DEVICE void wait_for_first() {
  wait_for_groups<kBuffers - 1>();
  wave_barrier();
}

// Starts to copy the tile's rows of q to `buffer`, as one group. A barrier must follow.
DEVICE void load_q(DecodeArguments& a, const DecodeBlock& b, char* buffer, int thread) {
  const Tile tile = staged(buffer, thread % kWave);
  const int dims = a.problem.head_dim;
  const char* const data = static_cast<const char*>(a.q.data);
  if (a.new_keys.rotary_dim > 0 || dims * Tile::kSize % 16 != 0 || !aligned(data, a.q.batch | a.q.seq | a.q.head)) {
    stage_q<T, kHeadDim, kThreads>(a, b, thread, [&](int row, int x) { return tile.at(row) + x; });
  } else {
    constexpr int chunk = 16 / Tile::kSize, chunks = kHeadDim / chunk;
#pragma unroll
    for (int n = thread; n < kTile * chunks; n += kThreads) {
      const DecodeRow row = decode_row(a, b, n / chunks);
      const int dim = n % chunks * chunk;
      const bool there = row.query < b.q.count && dim < dims;
      const char* const from = first_row_of(a.q, b.batch, b.q, row.head) + row.query * a.q.seq + dim * Tile::kSize;
      copy_async(shared_address(tile.at(n / chunks) + dim), there ? from : data, there);
    }
  }
  end_group();
}

// Merges and stores the waves' results of a pass. Returns true if a row has an Inf or NaN that may come from a key it
// does not attend.
DEVICE bool store(DecodeArguments& a, int pass, Results& results) {
  const DecodeBlock b = decode_block(a, workgroup_id());
  const int thread = thread_id(), rows = decode_rows(a.problem, b), dims = a.problem.head_dim_v;
  const bool whole = a.splits == 1;
  if (thread < rows) {
    const int64_t partial = partial_row(a, b, thread);
    const DecodeRow row = decode_row(a, b, thread);
    auto& merged = results.rows[thread];
    auto softmax = results.merge(thread);
    merged.factor = 1;
    if (whole) {
      const Block block = b.block(a.problem, row.head);
      merged.out = first_row_of(a.out, b.batch, b.q, row.head) + row.query * a.out.seq;
      merged.factor = softmax.finish_total(sink_of<kGeneral>(a.problem, block)) * (kGeneral ? a.problem.keep_scale : 1);
      if (pass < kAbove) store_lse(a, block, row.query, softmax.lse());
    } else {
      merged.out = reinterpret_cast<char*>(a.partial.out + partial * a.partial.dims);
      if (pass < kAbove) a.partial.softmax[partial] = {softmax.reference, softmax.sum};
    }
  }
  barrier();
  bool again = false;
#pragma unroll 4
  for (int n = thread; n < rows * kHeadDim; n += kThreads) {
    const int row = n / kHeadDim, dim = n % kHeadDim;
    const auto& merged = results.rows[row];
    if (dim >= dims || (!whole && merged.sum == 0)) continue;
    const float x = results.merged(row, dim);
    auto* const out = reinterpret_cast<typename T::element*>(merged.out) + dim;
    float* const partial = reinterpret_cast<float*>(merged.out) + dim;
    if (pass >= kAbove) {
      if (x == 0) continue;
      if (whole) *out = T::round(T::to_float(*out) + added<kGeneral>(pass));
      else *partial += added<kGeneral>(pass);
      continue;
    }
    const float zero = 0 * x;
    again |= zero != zero && merged.sum == merged.sum;
    if (whole) *out = T::round(x * merged.factor);
    else *partial = x;
  }
  return again;
}

// One pass over the keys. Returns whether another must follow (not_finite.hpp).
DEVICE bool decode(DecodeArguments& a, char* shared, int pass) {
  const DecodeBlock b = decode_block(a, workgroup_id());
  if (decode_rows(a.problem, b) <= 0) return false;
  const int thread = thread_id(), lane = thread % kWave, wave = thread / kWave;
  const Keys keys = decode_keys(a, b);
  if (a.splits > 1 && keys.begin >= keys.end) {
    if (thread < decode_rows(a.problem, b)) a.partial.softmax[partial_row(a, b, thread)] = {kLowest, 0};
    return false;
  }
  const CacheRows k(a, b, a.k), v(a, b, a.v);
  Ring ring = {shared + wave * kRingBytes, 0};
  const auto load_k = [&](int first, int i) { load(k, a.problem.head_dim, keys, first, ring.at(i), lane); };
  const auto load_v = [&](int first, int i) { load(v, a.problem.head_dim_v, keys, first, ring.at(i), lane); };

  const int begin = keys.begin / kKeys * kKeys + wave * kKeys;
  // To be kept in registers, q passes through the buffer of the first wave that is used last.
  char* const shared_q = shared + (kKeepQ ? kRingBytes - Tile::kBytes : kWaves * kRingBytes);
  load_q(a, b, shared_q, thread);
#pragma unroll
  for (int i = 0; i < kBuffers - 1; i += 2) {
    load_k(begin + i / 2 * kKeysOfWaves, i);
    load_v(begin + i / 2 * kKeysOfWaves, i + 1);
  }
  wait_for_groups<kBuffers - 1>();  // of q
  barrier();
  Fragment kept_q[kHeadDim / kStep<T>];
  if constexpr (kKeepQ) {
#pragma unroll
    for (int dim = 0; dim < kHeadDim; dim += kStep<T>)
      kept_q[dim / kStep<T>] = staged(shared_q, lane).operand_a(0, dim);
    barrier();
  }

  TileC o[1][kDimTiles] = {};
  Softmax<T, kGeneral> softmax[1][2];
  for_rows<1>([&](int m, int half) { softmax[m][half] = Softmax<T, kGeneral>(); });
  const auto row_of = [&](int i) {
    const DecodeRow row = decode_row(a, b, i);
    const Block block = b.block(a.problem, row.head);
    return ResultRow{block, query_of(a.problem, block, row.query)};
  };
#pragma unroll 1
  for (int first = begin; first < keys.end; first += kKeysOfWaves) {
    load_k(first + kAhead, kBuffers - 1);
    wait_for_first();
    TileC s[1][kKeyTiles];
    multiply_transposed<T>(
        [&](int, int dim) {
          if constexpr (kKeepQ) return kept_q[dim / kStep<T>];
          else return staged(shared_q, lane).operand_a(0, dim);
        },
        staged(ring.at(0), lane), s);
    ring.advance();
    load_v(first + kAhead, kBuffers - 1);

    const bool partial = first < keys.full_begin || first + kKeys > keys.full_end;
    Rounded<T, 1, kKeyTiles> p;
    probabilities<T, kGeneral, 1>(a.problem, pass, partial, row_of, first - b.first_key, lane, s, softmax, o, p);
    wait_for_first();
    replace<kGeneral>(pass, staged(ring.at(0), lane));
    add_product<T>(p, staged(ring.at(0), lane), o);
    ring.advance();
  }

  Results& results = *reinterpret_cast<Results*>(shared);
  barrier();  // all waves have read their tiles
  results.put(softmax, o, wave, lane);
  barrier();
  const bool again = store(a, pass, results);
  return any_thread(again) || pass != kAll;
}

DEVICE void append_split(DecodeArguments& a) {
  const DecodeBlock b = decode_block(a, workgroup_id());
  const int begin = b.split * a.split_rows;
  append<T, kThreads>(a, b, thread_id(), CacheRows(a, b, a.k), CacheRows(a, b, a.v), begin, begin + a.split_rows);
  barrier();  // of global memory too
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_decode_args arguments) {
  extern __shared__ __align__(16) char shared[];
  if (arguments.new_keys.seqlen > 0) rapt::nvidia::append_split(arguments);
#pragma unroll 1
  for (int pass = rapt::nvidia::kAll; pass < rapt::nvidia::passes<rapt::nvidia::kGeneral>(arguments.problem); ++pass)
    if (!rapt::nvidia::decode(arguments, shared, pass)) break;
}
