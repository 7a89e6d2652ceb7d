// Like split.cu, for rows that do not fit in one wave's registers: all waves attend the same keys, each with a slice
// of the head dimension. Each multiplies its slice of q and K, and the products are summed through shared memory. Each
// wave computes the same softmax and its own slice of the result, so there is nothing to merge at the end.
//
// K and V of a tile pass in turn through one ring of buffers in shared memory.
#include "kernels/common/sink.hpp"
#include "kernels/nvidia/attention/split_rows.hpp"
#include "kernels/nvidia/tile/appended_rows.hpp"
#include "kernels/nvidia/tile/fold.hpp"
#include "kernels/nvidia/tile/slices.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave, kKeyTiles = kKeys / 8;
inline constexpr bool kGeneral = RAPT_GENERAL;
// P is two numbers of 16 bits: with one, an element of fp16 missed the rule by 7 %. Reading K and V takes
// longer than the second product.
inline constexpr bool kTwoParts = sizeof(T::element) == 2;
static_assert(RAPT_HEAD_SLICES == kWaves && kKeys == kRowGroup && kTile == kQueryRows);
template <int HeadDim>
using Part = WavePart<kWaves, HeadDim / kWaves>;
template <int HeadDim>
using Accumulators = TileC[1][HeadDim / kWaves / 8];
using Softmaxes = Softmax<T, kGeneral>[1][2];

// Shared memory: a ring of buffers, and the waves' sums. One buffer is multiplied while copies arrive in the rest.
template <int HeadDim>
struct Layout {
  using Tile = StagedRows<T, HeadDim, kKeys, kThreads>;
  template <class Sums>
  static constexpr int kRoom = (RAPT_SHARED_BYTES - kWaves * Sums::kWaveBytes) / Tile::kBytes;
  // Sums take turns where that makes room for a third buffer of fp32, which most architectures do not have otherwise.
  static constexpr bool kInTurn =
      kRoom<SliceSums<kKeyTiles, kWaves>> < 3 && kRoom<SliceSums<kKeyTiles, kWaves, true>> >= 3;
  using Sums = SliceSums<kKeyTiles, kWaves, kInTurn>;
  static constexpr int kBuffers = kRoom<Sums>, kBytes = kBuffers * Tile::kBytes + kWaves * Sums::kWaveBytes;
  static_assert(kBuffers >= 2);
  // While a tile of K is multiplied, the tile after the ones in the ring is copied: of K if the ring is odd, else of V.
  static constexpr bool kOdd = kBuffers % 2 == 1;
  static constexpr int kAhead = (kBuffers - 1) / 2 * kKeys;
};
static_assert(RAPT_SHARED_BYTES == Layout<RAPT_HEAD_DIM>::kBytes ||
                  RAPT_SHARED_BYTES == Layout<kShortRows<RAPT_HEAD_DIM>>::kBytes,
              "shared= of the row");

// Stores a wave's slice of the rows: out, or a partial result. Returns true if it has an Inf or NaN that may come from
// a key that its row does not attend.
template <int HeadDim>
DEVICE bool store(SplitArguments& a, const SplitBlock& b, int pass, const Part<HeadDim>& part, Softmaxes& softmax,
                  Accumulators<HeadDim>& o) {
  Problem& p = a.problem;
  const int rows = query_rows(p, b), dims = part.dims(p.head_dim_v);
  bool again = false;
  for_rows<1>([&](int m, int half) {
    const int row = row_in_wave(m, half, part.lane);
    Softmax<T, kGeneral>& own = softmax[m][half];
    own.sum = query_sum(own.sum + own.rest);
    const float sum = own.sum;
    const bool unsure = !kGeneral && huge(own.reference);
    if (row >= rows) return;
    const bool first_lane = part.first_slice() && part.lane % 4 == 0 && pass < kAbove;
    const auto put = [&]<class To>(To, char* to) {
      if (pass >= kAbove) return add_where_weighted<To>(to, dims, added<kGeneral>(pass), o[m], half, part.lane);
      again |= unsure || (not_finite(o[m], half) && sum == sum);
      store_elements<To>(to, dims, o[m], half, part.lane);
    };
    if (a.splits > 1) {
      const int64_t at = partial_row(a, b, row);
      if (first_lane) a.partial.softmax[at] = {own.reference, sum};
      return put(fp32(), part.template at<fp32>(reinterpret_cast<char*>(a.partial.out + at * a.partial.dims)));
    }
    const SplitRow of_tile = split_row(a, b, row);
    const Block block = b.block(p, of_tile.head);
    if (pass < kAbove) {
      const Sink sink = Sink::of<kGeneral>(p, block);
      const float factor = own.finish_total(sink.logit) * (kGeneral ? p.keep_scale : 1);
#pragma unroll
      for (int d = 0; d < HeadDim / kWaves / 8; ++d) o[m][d][2 * half] *= factor, o[m][d][2 * half + 1] *= factor;
      if (first_lane) store_lse(a, block, of_tile.query, sink.lse(own.lse()));
    }
    put(T(), part.template at<T>(first_row_of(a.out, b.batch, b.q, of_tile.head) + of_tile.query * a.out.seq));
  });
  return again;
}

// The ring of buffers through which tiles of K and V pass in turn.
template <int HeadDim>
struct Ring {
  using Tile = typename Layout<HeadDim>::Tile;
  static constexpr int kBuffers = Layout<HeadDim>::kBuffers;

  const Keys& keys;
  char* shared;
  int thread;
  int next = 0, current = 0;  // the buffers of the next copy, and of the tile that is multiplied

  // Starts to copy a tile, as one group.
  DEVICE_MEMBER void load(const CacheRows& rows, int dims, int first) {
    if (first < keys.end)
      Tile(rows.group(first / kRowGroup), rows.seq, dims, keys.begin, keys.end, shared + next * Tile::kBytes, thread)
          .load(first);
    end_group();
    next = next + 1 < kBuffers ? next + 1 : 0;
  }
  DEVICE_MEMBER SharedRows<T, HeadDim> rows() const { return {shared + current * Tile::kBytes, thread}; }
  DEVICE_MEMBER void advance() { current = current + 1 < kBuffers ? current + 1 : 0; }
};

// One pass over the keys. Returns true if another must follow (not_finite.hpp).
template <int HeadDim>
DEVICE bool attend_split(SplitArguments& a, char* shared, int pass) {
  using Of = Layout<HeadDim>;
  constexpr int kSlice = HeadDim / kWaves, kAhead = Of::kAhead;
  Problem& p = a.problem;
  const SplitBlock b = split_block(a, workgroup_id());
  if (query_rows(p, b) <= 0) return false;
  const int thread = thread_id(), split_begin = b.split * a.split_rows;
  const Part<HeadDim> part = Part<HeadDim>::of(thread);
  const Keys keys = split_keys(a, b, split_begin, a.splits == 1 ? INT32_MAX : split_begin + a.split_rows);
  if (a.splits > 1 && keys.begin >= keys.end) {
    if (thread < query_rows(p, b)) a.partial.softmax[partial_row(a, b, thread)] = no_keys();
    return false;
  }
  const CacheRows k(a, b, a.k), v(a, b, a.v);
  Ring<HeadDim> ring = {keys, shared, thread};
  const int begin = keys.begin / kKeys * kKeys;
#pragma unroll 1
  for (int first = begin; first < begin + kAhead; first += kKeys) {
    ring.load(k, p.head_dim, first);
    ring.load(v, p.head_dim_v, first);
  }
  if (!Of::kOdd) ring.load(k, p.head_dim, begin + kAhead);
  // q passes through the only free buffer.
  const SharedRows<T, HeadDim> staged_q = {shared + (Of::kBuffers - 1) * Of::Tile::kBytes, thread};
  stage_q<T, HeadDim, kThreads>(a, b, thread, [&](int row, int x) { return staged_q.at(row) + x; });
  barrier();
  KeptSlice<T, kSlice> q;
  q.load(staged_q, 0, part.dim);

  const typename Of::Sums sums = {shared + Of::kBuffers * Of::Tile::kBytes, part.wave, part.lane};
  const auto row_of = [&](int i) { return result_row(a, b, i); };
  Accumulators<HeadDim> o = {};
  Softmaxes softmax;
  for_rows<1>([&](int m, int half) { softmax[m][half] = Softmax<T, kGeneral>(); });
#pragma unroll 1
  for (int first = begin; first < keys.end; first += kKeys) {
    wait_for_groups<Of::kBuffers - 2>();  // of K
    barrier();                            // and the last tile's V and sums have been read
    Of::kOdd ? ring.load(k, p.head_dim, first + kAhead) : ring.load(v, p.head_dim_v, first + kAhead);
    TileC s[1][kKeyTiles];
    clear(s);
    if (part.dim < p.head_dim) add_transposed<T, 0, kSlice>(q, ring.rows().from(0, part.dim), 0, s);
    sums.put(s);
    ring.advance();
    wait_for_groups<Of::kBuffers - 2>();  // of V
    barrier();                            // K has been read, and the sums are there
    Of::kOdd ? ring.load(v, p.head_dim_v, first + kAhead) : ring.load(k, p.head_dim, first + kAhead + kKeys);
    replace<kGeneral, kKeys, kThreads>(pass, ring.rows());
    sums.get(s);
    Rounded<T, 1, kKeyTiles> weights;
    const bool partial = first < keys.full_begin || first + kKeys > keys.full_end;
    probabilities<T, kGeneral, 1>(p, pass, partial, row_of, first - b.first_key, part.lane, s, softmax, o, weights);
    const auto values = ring.rows().from(0, part.dim);
    add_product<T>(weights, values, o);
    if constexpr (kTwoParts) add_rest<T>(s, weights, values, o);
    ring.advance();
  }

  return any_thread(store<HeadDim>(a, b, pass, part, softmax, o)) || pass != kAll;
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_split_args arguments) {
  extern __shared__ __align__(16) char shared[];
  using namespace rapt::nvidia;
  if (arguments.new_keys.seqlen > 0) append_split<T, kThreads>(arguments);
  constexpr int kShort = kShortRows<RAPT_HEAD_DIM>;
  if (fits<kShort>(arguments.problem)) run_passes<kGeneral, attend_split<kShort>>(arguments, shared);
  else run_passes<kGeneral, attend_split<RAPT_HEAD_DIM>>(arguments, shared);
}
