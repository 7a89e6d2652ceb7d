// Steps of queries, for kernels whose workgroups have keys. Tiles are transposed: keys by queries.
#pragma once

#include "kernels/common/score_gradients.hpp"
#include "kernels/nvidia/tile/logits.hpp"
#include "kernels/nvidia/tile/not_finite.hpp"
#include "kernels/nvidia/tile/products.hpp"

namespace rapt::nvidia {

// Rows from `first` on of head `head` of q.
struct Step {
  int head, first;
};

// The steps of a workgroup: rows that attend its keys, `Queries` at a time, of each head of q that shares its head of
// k. Shared memory has one buffer for steps, or two.
template <class T, int HeadDim, int Queries, int Threads>
struct QuerySteps {
  using Staged = StagedRows<T, HeadDim, Queries, Threads>;
  static constexpr int kBytes = 2 * Staged::kBytes + Queries * static_cast<int>(sizeof(rapt_abi_row_statistics));

  BackwardArguments& a;
  const Block& block;
  const ::rapt::nvidia::Queries& rows;
  char* shared;

  DEVICE_MEMBER Step first() const {
    const int head = block.head * a.problem.group;
    return {rows.begin < rows.end ? head : head + a.problem.group, begin()};
  }
  DEVICE_MEMBER Step next(const Step& step) const {
    if (step.first + Queries < rows.end) return {step.head, step.first + Queries};
    return {step.head + 1, begin()};
  }
  DEVICE_MEMBER bool has(const Step& step) const { return step.head < (block.head + 1) * a.problem.group; }

  DEVICE_MEMBER Staged q(const Step& step, int buffer, int thread) const {
    return {first_row_of(a.q, block.batch, block.q, step.head),
            a.q.seq,
            a.problem.head_dim,
            rows.begin,
            rows.end,
            shared + buffer * kBytes,
            thread};
  }
  DEVICE_MEMBER Staged dout(const Step& step, int buffer, int thread) const {
    return {first_row_of(a.dout, block.batch, block.q, step.head),
            a.dout.seq,
            a.problem.head_dim_v,
            rows.begin,
            rows.end,
            shared + buffer * kBytes + Staged::kBytes,
            thread};
  }
  // The statistics of the step's rows from `row` on.
  DEVICE_MEMBER char* statistics(int buffer, int row) const {
    return shared + buffer * kBytes + 2 * Staged::kBytes + row * static_cast<int>(sizeof(rapt_abi_row_statistics));
  }

  // Starts to copy a step's rows of q and dout and their statistics; zeros where rows do not exist. Later runs have the
  // lse itself, which statistics may not have (huge.hpp).
  DEVICE_MEMBER void load(int run, const Step& step, int buffer, int thread) const {
    if (thread < Queries) {
      const bool there = step.first + thread < block.q.count;
      const int row = there ? step.first + thread : 0;
      const rapt_abi_row_statistics* const own = statistics_of(a, block.batch, block.q, step.head) + row;
      const uint32_t to = shared_address(statistics(buffer, thread));
      if (run == kFirstRun) {
        copy_async_8(to, own, there);
      } else {
        copy_async_4(to, lse_at(a, block.batch, step.head, block.q, row), there);
        copy_async_4(to + sizeof(float), &own->delta, there);
      }
    }
    q(step, buffer, thread).load(step.first);
    dout(step, buffer, thread).load(step.first);
  }

  // Prepares a step's rows and statistics for the last products (runs.hpp). All earlier products have been made.
  DEVICE_MEMBER void prepare(int run, const Step& step, int buffer, int thread) const {
    if (run == kFirstRun) return;
    if (thread < Queries) {
      auto& own = *reinterpret_cast<rapt_abi_row_statistics*>(statistics(buffer, thread));
      if (own.lse == -__builtin_inff()) own.lse = __builtin_inff();
      own.delta *= gradient_scale<T>(run);
    }
    remove_not_finite<2 * Queries, Threads>(q(step, buffer, thread).from(0, 0));  // dO is behind Q
  }

 private:
  DEVICE_MEMBER int begin() const { return rows.begin / Queries * Queries; }
};

// f(n, column, statistics) for each column that a lane has of a transposed tile, with the statistics of its query.
template <int QueryTiles, class F>
DEVICE void for_columns(int lane, const char* statistics, F f) {
#pragma unroll
  for (int n = 0; n < QueryTiles; ++n) {
    const int row = n * 8 + lane % 4 * 2;
    const float4 pair = *reinterpret_cast<const float4*>(statistics + row * sizeof(rapt_abi_row_statistics));
    f(n, 0, rapt_abi_row_statistics{pair.x, pair.y});
    f(n, 1, rapt_abi_row_statistics{pair.z, pair.w});
  }
}

template <class T, int KeyTiles, int QueryTiles>
DEVICE void round_tiles(const TileC (&x)[KeyTiles][QueryTiles], Rounded<T, KeyTiles, QueryTiles>& rounded) {
#pragma unroll
  for (int n = 0; n < QueryTiles; ++n)
    for_rows<KeyTiles>(
        [&](int m, int half) { rounded[m][n][half] = T::pack(x[m][n][2 * half], x[m][n][2 * half + 1]); });
}

// S^T and dP^T become P^T and dS^T. The block's head is one of q.
template <bool General, int KeyTiles, int QueryTiles>
DEVICE void transposed_gradients(Problem& p, const Block& block, int first_key, int first_row, bool masked, bool again,
                                 const char* statistics, TileC (&s)[KeyTiles][QueryTiles],
                                 TileC (&ds)[KeyTiles][QueryTiles]) {
  const int lane = thread_id() % kWave;
  using Column = ColumnLogits<KeyTiles, QueryTiles>;
  for_columns<QueryTiles>(lane, statistics, [&](int n, int column, const rapt_abi_row_statistics& row) {
    score_gradients<General>(
        p, block, first_key, masked, again,
        [&] { return query_of(p, block, first_row + n * 8 + lane % 4 * 2 + column); }, row, Column{s, n, column, lane},
        Column{ds, n, column, lane});
  });
}

}  // namespace rapt::nvidia
