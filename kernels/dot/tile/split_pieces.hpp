// A wave's next 16 keys for split-KV: pieces of rows of K and V, straight from memory to registers, and their products
// with 16 rows of q, which are in LDS, and of P.
#pragma once

#include "kernels/amd/tile/split_keys.hpp"

namespace rapt::amd {

// The wave has Dims dimensions; a row of q in LDS takes QueryBytes. The first QueryRows rows, 4 or 16, are computed.
template <class T, int Dims, int QueryBytes, int QueryRows>
struct SplitPieces {
  using R = Rows16<T>;
  static constexpr int size = sizeof(typename T::element), blocks = 1;
  // A row is read in chunks of 16 lanes, with `each` neighbouring dimensions a lane.
  static constexpr int chunks = (Dims / 16 * size + 15) / 16, each = Dims / 16 / chunks, chunk_dims = 16 * each;
  using Rows = SplitKeyRows<T, each>;
  using Part = vec<typename T::element, each>;
  using Parts = Part[R::scores][chunks];
  using Scores = float[blocks][R::scores];
  using Result = ResultRows<QueryRows>[chunks][each];  // of O^T
  static constexpr int query_rows = QueryRows;
  DEVICE int query_row(int row) { return row % QueryRows; }

  Parts k, v;

  DEVICE_MEMBER SplitPieces() {
#pragma unroll
    for (int i = 0; i < R::scores; ++i)
#pragma unroll
      for (int c = 0; c < chunks; ++c) {
        any_value(k[i][c]);
        any_value(v[i][c]);
      }
  }

  // Whole: all rows are read so, which the caller knows.
  template <bool Whole>
  DEVICE void load(Rows& rows, int first, Parts& parts) {
    if (Whole || rows.access == Rows::kWhole) load_as<Rows::kWhole>(rows, first, parts);
    else if (rows.access == Rows::kVectors) load_as<Rows::kVectors>(rows, first, parts);
    else load_as<Rows::kElements>(rows, first, parts);
  }

  // S^T = K Q^T.
  DEVICE_MEMBER void multiply_k(const char* q, Scores& s) const {
    constexpr int together = 2;  // keys whose sums are in registers
    const char* const own = q + ThreadPlace::of_thread().row * each * size;
#pragma unroll
    for (int first = 0; first < R::scores; first += together) {
      float sums[together][QueryRows] = {};
#pragma unroll
      for (int row = 0; row < QueryRows; ++row) {
#pragma unroll
        for (int c = 0; c < chunks; ++c) {
          const Part of_q = *reinterpret_cast<const Part*>(own + row * QueryBytes + c * chunk_dims * size);
#pragma unroll
          for (int i = 0; i < together; ++i) sums[i][row] = add_products<T, each>(k[first + i][c], of_q, sums[i][row]);
        }
        if (row % 4 == 3) __builtin_amdgcn_sched_barrier(0);  // or else too many pieces of q are read at once
      }
#pragma unroll
      for (int i = 0; i < together; ++i) {
        s[0][first + i] = gathered(sums[i]);
        computed_here(s[0][first + i]);
      }
    }
  }

  // O^T += V^T P^T.
  DEVICE_MEMBER void multiply_v(const Scores& weights, Result& o) const {
#pragma unroll
    for (int i = 0; i < R::scores; ++i) {
      float values[chunks][each];
#pragma unroll
      for (int c = 0; c < chunks; ++c)
#pragma unroll
        for (int e = 0; e < each; ++e) values[c][e] = T::to_float(v[i][c][e]);
      for_rotations<QueryRows>([&]<int N>() {
        const float weight = rotated<QueryRows, N>(weights[0][i]);
#pragma unroll
        for (int c = 0; c < chunks; ++c)
#pragma unroll
          for (int e = 0; e < each; ++e) {
            o[c][e].x[N] = __builtin_fmaf(values[c][e], weight, o[c][e].x[N]);
            computed_here(o[c][e].x[N]);
          }
      });
    }
  }

  // For a pass after the first.
  template <bool Dropout>
  DEVICE_MEMBER void replace_values(int pass) {
#pragma unroll
    for (int i = 0; i < R::scores; ++i)
#pragma unroll
      for (int c = 0; c < chunks; ++c)
#pragma unroll
        for (int e = 0; e < each; ++e) v[i][c][e] = T::round(replaced<Dropout>(pass, T::to_float(v[i][c][e])));
  }

 private:
  template <typename Rows::Access A>
  DEVICE void load_as(Rows& rows, int first, Parts& parts) {
    const ThreadPlace place = ThreadPlace::of_thread();
    const int own = place.lane / 16 * R::scores;
    rows.find(first, own);
#pragma unroll
    for (int i = 0; i < R::scores; ++i) {
      const char* const row = rows.at(own + i);
#pragma unroll
      for (int c = 0; c < chunks; ++c)
        parts[i][c] = __builtin_bit_cast(Part, rows.template load<A>(row, c * chunk_dims + place.row * each));
    }
  }
};

}  // namespace rapt::amd
