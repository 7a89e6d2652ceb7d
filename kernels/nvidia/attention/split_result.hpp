// The end of a split in a split kernel: the waves' results are merged, and stored as a partial result or as out, or
// folded into the results of earlier splits.
#pragma once

#include "kernels/common/sink.hpp"
#include "kernels/nvidia/attention/split_several.hpp"
#include "kernels/nvidia/attention/split_tile.hpp"

namespace rapt::nvidia {

inline constexpr int kHalves = kTile / kRowsAtOnce, kOfHalf = kRowsAtOnce * kHeadDim / kThreads;

// The rows' results over the splits so far: a thread's elements of O, `kOfHalf` of each half of the tile.
struct Folded {
  float part[kHalves][kOfHalf], row[kHalves][kOfHalf];
};

// f(i, row, dim) for the thread's elements of a half of the tile.
template <class F>
DEVICE void for_elements(int half, int thread, const F& f) {
#pragma unroll
  for (int i = 0; i < kOfHalf; ++i) {
    const int n = thread + i * kThreads;
    f(i, half * kRowsAtOnce + n / kHeadDim, n % kHeadDim);
  }
}

// The splits that a workgroup computes. It folds the results of all splits; with some, each has a partial result.
struct Splits {
  bool all;
  int first, last;  // last < first: none that may have keys
  Keys keys;
};

DEVICE Splits splits_of(SplitArguments& a, const SplitBlock& b) {
  const bool all = a.splits == 1;
  const int begin = b.split * a.split_rows, count = kFolds ? splits_of_workgroup(a) : 1;
  const Keys keys = split_keys(a, b, begin, all ? INT32_MAX : begin + count * a.split_rows);
  if (!all && !kTakesSeveral) return {all, b.split, b.split, keys};
  if (!all) return {all, b.split, min(b.split + count, splits_with_keys(a, b)) - 1, keys};
  if (!kFolds) return {all, b.split, b.split, keys};
  return {all, divide(keys.begin, a.by_split_rows), divide(max(keys.end - 1, keys.begin), a.by_split_rows), keys};
}

// The number of a split's row `row` among the partial results.
DEVICE int64_t partial_row(SplitArguments& a, const SplitBlock& b, int split, int row) {
  return partial_row(a, b, row) - b.split + split;
}

// Called by the thread that has the row: stores its lse, and the factor of out.
DEVICE void finish(SplitArguments& a, const SplitBlock& b, const rapt_abi_partial& result, Waves& waves, int row) {
  const SplitRow of_tile = split_row(a, b, row);
  const Block block = b.block(a.problem, of_tile.head);
  Waves::Row softmax;
  softmax.reference = result.reference, softmax.sum = result.sum;
  const Sink sink = Sink::of<kGeneral>(a.problem, block);
  waves.rows[row].factor = softmax.finish_total(sink.logit) * (kGeneral ? a.problem.keep_scale : 1);
  store_lse(a, block, of_tile.query, sink.lse(softmax.lse()));
}

// Called by the thread that has the row: merges the waves' softmaxes of a split.
DEVICE void merge_row(SplitArguments& a, const SplitBlock& b, int pass, const Splits& splits, int split, bool ends_part,
                      Waves& waves, int row) {
  auto& to = waves.rows[row];
  if (!splits.all) {
    to.out = reinterpret_cast<char*>(a.partial.out + partial_row(a, b, split, row) * a.partial.dims);
  } else if (split == splits.first) {
    const SplitRow of_tile = split_row(a, b, row);
    to.part = to.row = no_keys();
    to.out = first_row_of(a.out, b.batch, b.q, of_tile.head) + of_tile.query * a.out.seq;
  }
  const rapt_abi_partial result = waves.merge(row);
  if (pass >= kAbove) return;
  if (!splits.all) {
    a.partial.softmax[partial_row(a, b, split, row)] = result;
  } else if constexpr (kFolds) {
    to.of_part = fold(to.part, result, Waves::Row::kPower);
    if (!ends_part) return;
    to.of_row = fold(to.row, to.part, Waves::Row::kPower);
    to.part = no_keys();
  } else {
    finish(a, b, result, waves, row);
  }
}

// Merges the waves' results of a split and stores or folds them. Returns true if a row has an Inf or NaN that may come
// from a key it does not attend. `exchange` is the wave's, in shared memory.
DEVICE bool end_split(SplitArguments& a, const SplitBlock& b, int pass, const Splits& splits, int split, char* shared,
                      char* exchange, Waves& waves, const Waves::Row (&softmax)[1][2], const TileC (&o)[1][kDimTiles],
                      Folded& folded) {
  const int thread = thread_id(), lane = thread % kWave, rows = query_rows(a.problem, b);
  const int dims = a.problem.head_dim_v;
  const bool ends_part = split % kSplitsOfPart == kSplitsOfPart - 1 || split == splits.last;
  bool again = false;
  for_rows<1>([&](int m, int half) { again |= !kGeneral && huge(softmax[m][half].reference); });
  waves.put_softmax(softmax, static_cast<int>(exchange - shared), thread / kWave, lane);
#pragma unroll
  for (int half = 0; half < kHalves; ++half) {
    if (half * kRowsAtOnce >= rows) break;
    if (half > 0) barrier();  // the other half has been read
    waves.put(o, half, exchange, lane);
    barrier();
    if (half == 0) {
      if (thread < rows) merge_row(a, b, pass, splits, split, ends_part, waves, thread);
      barrier();
    }
    // No branches, so that all loads are in flight together.
    float x[kOfHalf];
    for_elements(half, thread, [&](int i, int row, int dim) {
      const float sum = waves.rows[row].sum, merged = waves.merged(shared, row, dim);
      x[i] = row < rows && sum != 0 ? merged : 0;
      const float zero = 0 * x[i];
      again |= zero != zero && sum == sum;
    });
    if (splits.all && kFolds && pass < kAbove) {
      for_elements(half, thread, [&](int i, int row, int) {
        folded.part[half][i] = waves.rows[row].of_part(folded.part[half][i], x[i]);
      });
      if (!ends_part) continue;
      for_elements(half, thread, [&](int i, int row, int) {
        folded.row[half][i] = waves.rows[row].of_row(folded.row[half][i], folded.part[half][i]);
        folded.part[half][i] = 0;
      });
      continue;
    }
    for_elements(half, thread, [&](int i, int row, int dim) {
      if (row >= rows || dim >= dims) return;
      const auto& merged = waves.rows[row];
      auto* const out = reinterpret_cast<typename T::element*>(merged.out) + dim;
      float* const partial = reinterpret_cast<float*>(merged.out) + dim;
      if (pass >= kAbove) {
        if (x[i] == 0) return;
        if (splits.all) *out = T::round(T::to_float(*out) + added<kGeneral>(pass));
        else *partial += added<kGeneral>(pass);
      } else if (splits.all) {
        *out = T::round(x[i] * merged.factor);
      } else {
        *partial = x[i];
      }
    });
  }
  barrier();  // the exchanges have been read
  return again;
}

// Stores the rows' results once all splits are folded.
DEVICE void store(SplitArguments& a, const SplitBlock& b, Waves& waves, const Folded& folded) {
  const int thread = thread_id(), rows = query_rows(a.problem, b), dims = a.problem.head_dim_v;
  if (thread < rows) finish(a, b, waves.rows[thread].row, waves, thread);
  barrier();
#pragma unroll
  for (int half = 0; half < kHalves; ++half)
    for_elements(half, thread, [&](int i, int row, int dim) {
      if (row >= rows || dim >= dims) return;
      const auto& merged = waves.rows[row];
      reinterpret_cast<typename T::element*>(merged.out)[dim] = T::round(folded.row[half][i] * merged.factor);
    });
}

}  // namespace rapt::nvidia
