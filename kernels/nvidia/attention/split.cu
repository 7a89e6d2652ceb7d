// Split-KV attention with mma.sync and cp.async: 16 rows of q that share a head of k, against one split of the keys, or
// several or all splits one after another. Products are as in forward.cu. Reading K and V takes the time.
//
// Each of RAPT_WAVES waves has every RAPT_WAVES'th tile of RAPT_BLOCK_K keys, a softmax and O of its own. K and V of
// its tiles pass in turn through its own ring of buffers in shared memory, so a wave waits for nothing but its copies.
// At the end of a split the waves' results are merged. A variant is RAPT_HEAD_DIM (any head_dim and head_dim_v up to
// it), RAPT_DTYPE and RAPT_GENERAL.
#include "kernels/nvidia/attention/split_rows.hpp"
#include "kernels/nvidia/attention/split_result.hpp"
#include "kernels/nvidia/isa/overlap.hpp"
#include "kernels/nvidia/tile/appended_rows.hpp"

namespace rapt::nvidia {

using Accumulators = TileC[1][kDimTiles];
using Softmaxes = Softmax<T, kGeneral>[1][2];
using KeptQ = Fragment[kHeadDim / kStep<T>];

// Attends the ring's first tile of keys, from `first` on, and starts to copy the tile kAhead behind it: load_k and
// load_v copy to a buffer. q_of(dim) is q's operand.
template <class LoadK, class LoadV, class QueryOf>
DEVICE void attend_tile(SplitArguments& a, const SplitBlock& b, const Keys& keys, const LoadK& load_k,
                        const LoadV& load_v, const QueryOf& q_of, const int& pass, const int& first, const int& lane,
                        Ring& ring, Softmaxes& softmax, Accumulators& o) {
  load_k(first + kAhead, kBuffers - 1);
  wait_for_first();
  TileC s[1][kKeyTiles];
  multiply_logits<T>(q_of, Tile{ring.at(0), lane}, s);
  ring.advance();
  load_v(first + kAhead, kBuffers - 1);

  const bool partial = first < keys.full_begin || first + kKeys > keys.full_end;
  const auto row_of = [&](int i) { return result_row(a, b, i); };
  Rounded<T, 1, kKeyTiles> p;
  probabilities<T, kGeneral, 1>(a.problem, pass, partial, row_of, first - b.first_key, lane, s, softmax, o, p);
  wait_for_first();
  replace<kGeneral>(pass, Tile{ring.at(0), lane});
  add_product<T>(p, Tile{ring.at(0), lane}, o);
  if constexpr (kTwoParts) add_rest<T>(s, p, Tile{ring.at(0), lane}, o);
  ring.advance();
}

// Whether arguments are in memory that the kernel in front may write.
DEVICE bool reads_lengths(SplitArguments& a) {
  return a.problem.cu_seqlens_q != nullptr || a.problem.cu_seqlens_k != nullptr || a.cache.seqused != nullptr ||
         a.cache.leftpad != nullptr || a.cache.batch_idx != nullptr || a.new_keys.seqlen > 0;
}

DEVICE void store_no_keys(SplitArguments& a, const SplitBlock& b, const Splits& splits, int thread) {
  wait_for_previous();
  if (thread >= query_rows(a.problem, b)) return;
#pragma unroll 1
  for (int split = splits.first; split <= splits.last; ++split)
    a.partial.softmax[partial_row(a, b, split, thread)] = no_keys();
}

// q's operands, from shared memory, which is then free.
DEVICE void keep_q(const Tile& q, KeptQ& kept) {
#pragma unroll
  for (int dim = 0; dim < kHeadDim; dim += kStep<T>) kept[dim / kStep<T>] = q.operand_a(0, dim);
  barrier();
}

// One pass over the keys. Returns true if another must follow (not_finite.hpp).
DEVICE bool attend_split(SplitArguments& a, char* shared, int pass) {
  const SplitBlock b = block_of_workgroup(a);
  if (query_rows(a.problem, b) <= 0) {
    wait_for_previous();  // on every path: kernels behind this one rely on it
    return false;
  }
  const int thread = thread_id(), lane = thread % kWave, wave = thread / kWave;
  const Splits splits = splits_of(a, b);
  const Keys& keys = splits.keys;
  if (!splits.all && keys.begin >= keys.end) {
    store_no_keys(a, b, splits, thread);
    return false;
  }
  const CacheRows k(a, b, a.k), v(a, b, a.v);
  Ring ring = {shared + wave * kRingBytes, 0};
  const auto load_k = [&](int first, int i) { load(k, a.problem.head_dim, keys, first, ring.at(i), lane); };
  const auto load_v = [&](int first, int i) { load(v, a.problem.head_dim_v, keys, first, ring.at(i), lane); };

  // A wave's first tile, by its number in the sequence: its tiles of a split do not depend on other workgroups.
  int first = keys.begin / kKeysOfWaves * kKeysOfWaves + wave * kKeys;
  if (first + kKeys <= keys.begin) first += kKeysOfWaves;
  wait_for_previous();
  // On its way to registers, q passes through the buffer that the first wave uses last.
  char* const shared_q = shared + (kKeepQ ? kRingBytes - Tile::kBytes : kWaves * kRingBytes);
  load_q(a, b, shared_q, thread);
#pragma unroll 1
  for (int i = 0; i < kBuffers - 1; i += 2) {
    load_k(first + i / 2 * kKeysOfWaves, i);
    load_v(first + i / 2 * kKeysOfWaves, i + 1);
  }
  wait_for_groups<kBuffers - 1>();  // of q
  barrier();
  KeptQ kept_q;
  if constexpr (kKeepQ) keep_q(Tile{shared_q, lane}, kept_q);
  const auto q_of = [&](int, int dim) {
    if constexpr (kKeepQ) return kept_q[dim / kStep<T>];
    else return Tile{shared_q, lane}.operand_a(0, dim);
  };
  Folded folded = {};
  bool again = false;
#pragma unroll 1
  for (int split = splits.first; split <= splits.last; ++split) {
    const int end = min(keys.end, (split + 1) * a.split_rows);
    Accumulators o = {};
    Softmaxes softmax;
    for_rows<1>([&](int m, int half) { softmax[m][half] = Softmax<T, kGeneral>(); });
#pragma unroll 1
    for (; first < end; first += kKeysOfWaves)
      attend_tile(a, b, keys, load_k, load_v, q_of, pass, first, lane, ring, softmax, o);
    if constexpr (!kFolds) barrier();  // all waves have read their tiles: the rings are free
    char* const exchange = kFolds ? ring.at(kBuffers - 1) : ring.shared;
    Waves& waves = *reinterpret_cast<Waves*>(shared + (kFolds ? RAPT_SHARED_BYTES - kMergingBytes : Tile::kBytes));
    again |= end_split(a, b, pass, splits, split, shared, exchange, waves, softmax, o, folded);
  }
  if constexpr (kFolds)
    if (splits.all && pass < kAbove)
      store(a, b, *reinterpret_cast<Waves*>(shared + RAPT_SHARED_BYTES - kMergingBytes), folded);
  return any_thread(again) || pass != kAll;
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_split_args arguments) {
  extern __shared__ __align__(1024) char shared[];
  if (rapt::nvidia::reads_lengths(arguments)) rapt::nvidia::wait_for_previous();
  if constexpr (rapt::nvidia::kFolds) rapt::nvidia::let_next_start();  // split_combine
  if (arguments.new_keys.seqlen > 0) rapt::nvidia::append_split<rapt::nvidia::T, rapt::nvidia::kThreads>(arguments);
  rapt::nvidia::run_passes<rapt::nvidia::kGeneral, rapt::nvidia::attend_split>(arguments, shared);
}
