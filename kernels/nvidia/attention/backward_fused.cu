// dk and dv, and dq's sums. The tiles are transposed, keys by queries: S^T = K Q^T and dP^T = V dO^T are computed once,
// dV = P^T dO and dK = dS^T Q stay in registers, dQ = dS K is added to memory, where all workgroups of a head add.
//
// A workgroup has the keys of RAPT_WAVES / RAPT_HEAD_SLICES groups of waves, 16 * RAPT_QUERY_TILES each, of a head of
// k, and runs over steps of RAPT_BLOCK_K queries of each head of q that shares it. Each of the RAPT_HEAD_SLICES waves
// of a group computes S^T and dP^T of its part of a step's queries, and dV and dK of its slice of the head dimension:
// they give one another P^T and dS^T through shared memory, where all waves find dS for dQ.
//
// Inf and NaN: as in backward_dkv for those in Q and dO, with a second run that does not add to dQ. Those in K reach
// the lse of each row that attends the key; for the product that other rows share, they are taken for 0.
#include "kernels/nvidia/tile/dq_sums.hpp"
#include "kernels/nvidia/tile/not_finite.hpp"
#include "kernels/nvidia/tile/query_steps.hpp"
#include "kernels/nvidia/tile/result.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kQueries = RAPT_BLOCK_K, kWaves = RAPT_WAVES;
inline constexpr int kThreads = kWaves * kWave, kSlices = RAPT_HEAD_SLICES, kSliceDims = kHeadDim / kSlices;
inline constexpr int kKeyTiles = RAPT_QUERY_TILES, kWaveKeys = kKeyTiles * kTile, kKeys = kWaves / kSlices * kWaveKeys;
inline constexpr bool kGeneral = RAPT_GENERAL;
// A wave computes S^T of kPart queries at once, the waves of a group that of kPassQueries.
inline constexpr int kPart = kQueries / kSlices < 32 ? kQueries / kSlices : 32, kPassQueries = kSlices * kPart;
// Of dQ a wave computes 32 rows, and the waves with the same rows kWaveDims dimensions each.
inline constexpr int kRowGroups = kQueries / 32, kWaveDims = kHeadDim / (kWaves / kRowGroups);
inline constexpr int kDqDims = kWaveDims < 32 ? kWaveDims : 32;
static_assert(kQueries % kPassQueries == 0 && (kSlices == 1 || kPassQueries == kQueries));

using StagedKeys = StagedRows<T, kHeadDim, kKeys, kThreads>;
using Steps = QuerySteps<T, kHeadDim, kQueries, kThreads>;
using Exchanged = SharedRows<T, kQueries>;  // P^T or dS^T of all waves, a row for each key
using Part = Rounded<T, kKeyTiles, kPart / 8>;
using Gradient = TileC[kKeyTiles][kSliceDims / 8];

// What all lanes of a wave know, in shared memory: the registers are all in use.
struct Known {
  Block block;
  Queries rows;         // that attend the workgroup's keys
  Queries own[kWaves];  // that attend a wave's keys
};

// Shared memory: K, V, dS^T, P^T if waves exchange it, one or two steps, Known.
inline constexpr int kExchangedBytes = kKeys * Exchanged::kStride, kExchangedAt = 2 * StagedKeys::kBytes;
inline constexpr int kWeightsAt = kExchangedAt + (kSlices == 1 ? 0 : kExchangedBytes);
inline constexpr int kStepsAt = kWeightsAt + kExchangedBytes, kKnownBytes = static_cast<int>(sizeof(Known));
inline constexpr int kBuffers = RAPT_SHARED_BYTES == kStepsAt + Steps::kBytes + kKnownBytes ? 1 : 2;
inline constexpr int kKnownAt = kStepsAt + kBuffers * Steps::kBytes;
static_assert(RAPT_SHARED_BYTES == kKnownAt + kKnownBytes, "shared= of the row");

// `thread` is read anew in each step: what depends on it occupies no registers between steps.
struct Workgroup {
  BackwardArguments& a;
  char* shared;

  DEVICE_MEMBER Known& known() const { return *reinterpret_cast<Known*>(shared + kKnownAt); }
  DEVICE_MEMBER const Block& block() const { return known().block; }
  DEVICE_MEMBER StagedKeys k(int thread) const { return staged(a.k, a.problem.head_dim, 0, thread); }
  DEVICE_MEMBER StagedKeys v(int thread) const { return staged(a.v, a.problem.head_dim_v, StagedKeys::kBytes, thread); }
  DEVICE_MEMBER Exchanged gradients(int thread) const { return {shared + kExchangedAt, thread}; }
  DEVICE_MEMBER Exchanged weights(int thread) const { return {shared + kWeightsAt, thread}; }
  DEVICE_MEMBER Steps steps() const { return {a, block(), known().rows, shared + kStepsAt}; }

 private:
  DEVICE_MEMBER StagedKeys staged(const rapt_abi_rows& tensor, int dims, int at, int thread) const {
    const Block& b = block();
    return {first_row_of(tensor, b.batch, b.k, b.head), tensor.seq, dims, 0, b.k.count, shared + at, thread};
  }
};

// A wave's first key, of the workgroup's, and its slice.
struct Wave {
  int index, key, slice;
  DEVICE_MEMBER explicit Wave(int thread)
      : index(thread / kWave), key(index / kSlices * kWaveKeys), slice(index % kSlices) {}
  DEVICE_MEMBER int dim() const { return slice * kSliceDims; }
};

// A step in a wave.
struct Turn {
  const Workgroup& group;
  Step step;
  int buffer, thread;
  Wave wave;
  Steps::Staged q, dout;

  DEVICE_MEMBER Turn(const Workgroup& group, const Step& step, int buffer, int thread)
      : group(group),
        step(step),
        buffer(buffer),
        thread(thread),
        wave(thread),
        q(group.steps().q(step, buffer, thread)),
        dout(group.steps().dout(step, buffer, thread)) {}
  DEVICE_MEMBER bool attends(int query) const {
    const Queries& own = group.known().own[wave.index];
    return step.first + query < own.end && step.first + query + kPart > own.begin;
  }
  DEVICE_MEMBER bool masked(int query) const {
    const Queries& own = group.known().own[wave.index];
    return step.first + query < own.full_begin || step.first + query + kPart > own.full_end;
  }
  DEVICE_MEMBER void put(const Exchanged& to, int query, const Part& part) const {
#pragma unroll
    for (int m = 0; m < kKeyTiles; ++m)
#pragma unroll
      for (int n = 0; n < kPart / 8; n += 2)
        to.store_a(wave.key + m * kTile, query + n * 8, operand_of<T, kKeyTiles, kPart / 8>(part, m, n));
  }
};

DEVICE void zero(Part& part) {
  for_rows<kKeyTiles>([&](int m, int half) {
#pragma unroll
    for (int n = 0; n < kPart / 8; ++n) part[m][n][half] = 0;
  });
}

// S^T and dP^T of the queries from `query` on, and what they add to dv and dk. It is long without a branch, so that the
// compiler interleaves products with exponentials.
template <bool Finite>
DEVICE void compute_part(const Turn& turn, int query, bool masked, Part& weights, Part& gradients, Gradient& dv,
                         Gradient& dk) {
  Problem& p = turn.group.a.problem;
  const Wave& wave = turn.wave;
  const StagedKeys k = turn.group.k(turn.thread), v = turn.group.v(turn.thread);
  const char* const statistics = turn.group.steps().statistics(turn.buffer, query);
  Block block = turn.group.block();
  block.head = turn.step.head;
  const int first_key = block.first_row + wave.key, first_row = turn.step.first + query;
  TileC s[kKeyTiles][kPart / 8], ds[kKeyTiles][kPart / 8];
  multiply_transposed<T>([&](int m, int dim) { return k.operand_a(wave.key + m * kTile, dim); }, turn.q.from(query, 0),
                         s);
  if (!kGeneral) {
    transposed_weights(p, block, first_key, first_row, masked, statistics, s);
    round_tiles<T>(s, weights);
  }
  multiply_transposed<T>([&](int m, int dim) { return v.operand_a(wave.key + m * kTile, dim); },
                         turn.dout.from(query, 0), ds);
  if (kGeneral) {
    transposed_gradients<true>(p, block, first_key, first_row, masked, statistics, s, ds);
    round_tiles<T>(s, weights);
  }
  if (kSlices > 1) turn.put(turn.group.weights(turn.thread), query, weights);
  if (!Finite) add_product<T>(weights, turn.dout.from(query, wave.dim()), dv);
  if (!kGeneral) transposed_gradients(masked, statistics, s, ds);
  round_tiles<T>(ds, gradients);
  turn.put(turn.group.gradients(turn.thread), query, gradients);
  if (!Finite) add_product<T>(gradients, turn.q.from(query, wave.dim()), dk);
}

// The parts that the wave computes; what they add to dv and dk without Inf and NaN in dO and Q, if `Finite`.
template <bool Finite>
DEVICE void own_parts(const Workgroup& group, const Step& step, int buffer, Gradient& dv, Gradient& dk) {
#pragma unroll 1
  for (int pass = 0; pass < kQueries; pass += kPassQueries) {
    const Turn turn(group, step, buffer, thread_id());
    const int query = pass + turn.wave.slice * kPart;
    Part weights, gradients;
    if (!turn.attends(query)) {
      zero(weights);
      zero(gradients);
      if (kSlices > 1) turn.put(turn.group.weights(turn.thread), query, weights);
      turn.put(turn.group.gradients(turn.thread), query, gradients);
    } else if (kGeneral || turn.masked(query)) {
      compute_part<Finite>(turn, query, true, weights, gradients, dv, dk);
    } else {
      compute_part<Finite>(turn, query, false, weights, gradients, dv, dk);
    }
    if (!Finite) continue;
    remove_not_finite<kPassQueries, kThreads>(turn.q.from(pass, 0));
    remove_not_finite<kPassQueries, kThreads>(turn.dout.from(pass, 0));
    add_product<T>(weights, turn.dout.from(query, turn.wave.dim()), dv);
    add_product<T>(gradients, turn.q.from(query, turn.wave.dim()), dk);
  }
}

// Those of the other waves of its group, which a barrier has made visible.
DEVICE void other_parts(const Turn& turn, Gradient& dv, Gradient& dk) {
  const Wave& wave = turn.wave;
  const Exchanged weights = turn.group.weights(turn.thread), gradients = turn.group.gradients(turn.thread);
  const auto part = [&](const Exchanged& all, int query) {
    return [=](int m, int i) { return all.operand_a(wave.key + m * kTile, query + i); };
  };
#pragma unroll
  for (int other = 1; other < kSlices; ++other) {
    const int query = (wave.slice + other) % kSlices * kPart;
    add_product<T, kPart>(part(weights, query), turn.dout.from(query, wave.dim()), dv);
    add_product<T, kPart>(part(gradients, query), turn.q.from(query, wave.dim()), dk);
  }
}

// Adds dS K of a step to the sums of its rows: dimensions in parts, so that the additions of one overlap with the
// products of the next.
DEVICE void add_dq(const Workgroup& group, const Step& step) {
  const int thread = thread_id(), wave = thread / kWave;
  const int row = wave % kRowGroups * 32, dim = wave / kRowGroups * kWaveDims;
  const Block& block = group.block();
  const int64_t first = sum_row(group.a, block.batch, block.q, step.head, step.first + row);
  const Exchanged ds = group.gradients(thread);
#pragma unroll
  for (int part = 0; part < kWaveDims; part += kDqDims) {
    TileC dq[2][kDqDims / 8] = {};
    add_product<T, kKeys>([&](int m, int key) { return ds.operand_a_transposed(key, row + m * kTile); },
                          group.k(thread).from(0, dim + part), dq);
    add_to_dq_sums<kHeadDim>(group.a, first, (dim + part) / 8, dq);
  }
}
// The same where K has an Inf or NaN, which are taken for 0 meanwhile.
DEVICE void add_finite_dq(const Workgroup& group, const Step& step) {
  const StagedKeys k = group.k(thread_id());
  remove_not_finite(k);
  add_dq(group, step);
  barrier();
  k.load(group.block().first_row);
}

// Stores dk and dv through the rows of K and V in shared memory.
DEVICE void stage_gradient(const StagedKeys& to, const Gradient& sums, float factor) {
  const Wave wave(to.thread);
  const int lane = to.thread % kWave;
  for_rows<kKeyTiles>([&](int m, int half) {
    stage<T>(to.at(wave.key + row_in_wave(m, half, lane)) + wave.dim(), sums[m], half, lane, factor);
  });
}
DEVICE void store(const rapt_abi_rows& tensor, const Block& block, const StagedKeys& from, int dims) {
  if (tensor.data == nullptr) return;
  constexpr int kRows = kKeys / kWaves;
  const int row = from.thread / kWave * kRows, first = block.first_row + row;
  store_rows<kRows>(from, row, first_row_of(tensor, block.batch, block.k, block.head) + first * tensor.seq, tensor.seq,
                    block.k.count - first, dims);
}
DEVICE void store(const Workgroup& group, bool with_dv, const Gradient& dk, const Gradient& dv) {
  BackwardArguments& a = group.a;
  const int thread = thread_id();
  const StagedKeys k = group.k(thread), v = group.v(thread);
  barrier();  // K and V have been read
  stage_gradient(k, dk, a.problem.scale);
  if (with_dv) stage_gradient(v, dv, 1);
  barrier();
  store(a.dk, group.block(), k, a.problem.head_dim);
  if (with_dv) store(a.dv, group.block(), v, a.problem.head_dim_v);
}
// Of the second run: rows of dv whose dk is finite. The others attend an Inf or NaN in dO, and are the first run's.
DEVICE void store_finite_dv(const Workgroup& group, const Gradient& dk, const Gradient& dv) {
  BackwardArguments& a = group.a;
  if (a.dv.data == nullptr) return;
  const Block& block = group.block();
  const int lane = thread_id() % kWave;
  const Wave wave(thread_id());
  char* const rows =
      first_row_of(a.dv, block.batch, block.k, block.head) + wave.dim() * static_cast<int>(sizeof(typename T::element));
  for_rows<kKeyTiles>([&](int m, int half) {
    const int key = block.first_row + wave.key + row_in_wave(m, half, lane);
    if (key < block.k.count && !not_finite(dk[m], half))
      store_elements<T>(rows + key * a.dv.seq, a.problem.head_dim_v - wave.dim(), dv[m], half, lane);
  });
}

// False if the workgroup has no keys.
DEVICE bool find_rows(const Workgroup& group) {
  Problem& p = group.a.problem;
  const int thread = thread_id();
  const Wave wave(thread);
  const Block block = key_block_of(p, group.a.tiles, kKeys);
  const int first_key = block.first_row + wave.key;
  if (block.first_row >= block.k.count) return false;
  Queries own = queries_of(p, block, first_key, kWaveKeys);
  // The dS of keys that do not exist meets their zeros of K, and may be infinite: it must be masked.
  if (first_key + kWaveKeys > block.k.count) own.full_begin = own.end;
  if (thread == 0) {
    group.known().block = block;
    group.known().rows = queries_of(p, block, block.first_row, kKeys);
  }
  if (thread % kWave == 0) group.known().own[wave.index] = own;
  barrier();
  return true;
}

// Returns whether it must run again, without Inf and NaN in Q and dO; dQ is complete then.
template <bool Finite>
DEVICE bool backward_fused(const Workgroup& group) {
  if (!find_rows(group)) return false;
  Step step = group.steps().first();
  bool more = group.steps().has(step);
  {
    const int thread = thread_id(), first_row = group.block().first_row;
    group.k(thread).load(first_row);
    group.v(thread).load(first_row);
    if (more) group.steps().load(step, 0, thread);
  }
  wait_for_copies();
  barrier();
  const bool k_is_finite = !any_not_finite(group.k(thread_id()));
  Gradient dv = {}, dk = {};
#pragma unroll 1
  for (int buffer = 0; more; buffer = kBuffers - 1 - buffer) {
    wait_for_copies();
    barrier();  // and the last step's rows have been read
    const int thread = thread_id();
    const Step next = group.steps().next(step);
    more = group.steps().has(next);
    if (kBuffers == 2 && more) group.steps().load_q(next, 1 - buffer, thread);
    own_parts<Finite>(group, step, buffer, dv, dk);
    barrier();  // P and dS are there, and K has been read
    if (kBuffers == 2 && more) group.steps().load_dout(next, 1 - buffer, thread_id());
    other_parts(Turn(group, step, buffer, thread_id()), dv, dk);
    if (kBuffers == 1) {
      if (kSlices > 1) barrier();  // Q and dO have been read
      if (more) group.steps().load(next, 0, thread_id());
    }
    if (!Finite) {
      if (k_is_finite) add_dq(group, step);
      else add_finite_dq(group, step);
    }
    step = next;
  }

  wait_for_copies();
  store(group, !Finite, dk, dv);
  if (Finite) {
    store_finite_dv(group, dk, dv);
    return false;
  }
  bool again = false;
  for_rows<kKeyTiles>([&](int m, int half) { again |= not_finite(dk[m], half) || not_finite(dv[m], half); });
  return any_thread(again);
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_backward_args arguments) {
  using namespace rapt::nvidia;
  const Workgroup group = {arguments, dynamic_shared()};
  if (backward_fused<false>(group)) backward_fused<true>(group);
}
