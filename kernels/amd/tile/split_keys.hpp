// A wave's next block of keys for split-KV, loaded from memory straight into registers: rows of K as fragments, rows of
// V as they are. Also their products with 16 rows of q and of P. The wave may have a slice of the head dimension.
#pragma once

#include "kernels/amd/isa/rows16.hpp"
#include "kernels/amd/tile/not_finite.hpp"
#include "kernels/common/append.hpp"

namespace rapt::amd {

// An opaque copy of this thread's place. It is computed from unsigned numbers, whose quotients and remainders take one
// instruction each.
struct ThreadPlace {
  int thread, lane, wave, row;  // row: lane % 16
  DEVICE ThreadPlace of_thread() {
    const auto thread = static_cast<uint32_t>(opaque_thread_id());
    const uint32_t lane = thread % kWave;
    return {static_cast<int>(thread), static_cast<int>(lane), uniform(static_cast<int>(thread / kWave)),
            static_cast<int>(lane % 16)};
  }
};

// Rows [begin, end) of one head of k or v, from dimension first_dim on; the rows that a block has beyond them are
// replaced by the nearest. A lane loads `At_once` elements of a row at a time.
template <class T, int At_once>
class SplitKeyRows {
 public:
  // How rows are read: vectors of all the tile's dimensions, vectors of the dimensions that exist, or single elements.
  enum Access { kWhole, kVectors, kElements };
  using Vector = vec<typename T::element, At_once>;
  static constexpr int size = sizeof(typename T::element);
  static constexpr int groups = Rows16<T>::keys / kRowGroup;

  // The kernel's tile has `tile_dims` dimensions.
  DEVICE_MEMBER SplitKeyRows(const CacheRows& rows, int dims, int tile_dims, const Keys& keys, int first_dim)
      : access(!aligned(rows.origin(), rows.strides()) || dims % At_once != 0 ? kElements
               : dims == tile_dims                                            ? kWhole
                                                                              : kVectors),
        rows_(rows),
        dims_(dims - first_dim),
        first_byte_(first_dim * size),
        begin_(keys.begin),
        last_(keys.end - 1),
        seq_(rows.seq) {}

  const Access access;

  // Finds the group of this lane's rows in the block that begins at `first`; `row` is one of them. The addresses come
  // from scalar loads, which do not wait for rows on their way.
  DEVICE_MEMBER void find(int first, int row) {
    first_ = first;
    const char* all[groups];
#pragma unroll
    for (int g = 0; g < groups; ++g)
      all[g] = rows_.group(uniform(clamp(first / kRowGroup + g, begin_ / kRowGroup, last_ / kRowGroup)));
    group_ = (groups == 1 || row < kRowGroup ? all[0] : all[groups - 1]) + first_byte_;
  }

  // Address of row `row` of the block, of the lane's group.
  DEVICE_MEMBER const char* at(int row) const {
    return group_ + static_cast<int64_t>(clamp(first_ + row, begin_, last_)) * seq_;
  }

  // Elements from dimension `dim` on, zeros from the head dimension on. They are read once: no cache need keep them.
  template <Access A>
  DEVICE_MEMBER Vector load(const char* row, int dim) const {
    using element = typename T::element;
    typedef Vector __attribute__((aligned(size))) Packed;
    using Global = const __attribute__((address_space(1))) Packed;
    const auto whole = [&] {
      return __builtin_nontemporal_load(reinterpret_cast<Global*>(reinterpret_cast<uint64_t>(row + dim * size)));
    };
    if constexpr (A == kWhole) return whole();
    Vector x = {};
    const int at = opaque_copy(dim);  // otherwise the loop over keys would keep the masks of all loads
    if constexpr (A == kVectors) {
      if (at < dims_) x = whole();
    } else {
#pragma unroll
      for (int i = 0; i < At_once; ++i) {
        const element value = load_unaligned<element, size>(row + min(at + i, dims_ - 1) * size);
        x[i] = at + i < dims_ ? value : element{};
      }
      __builtin_amdgcn_sched_barrier(0);  // or else all loads of a block would begin first, with a register each
    }
    return x;
  }

 private:
  const CacheRows& rows_;
  const int dims_, first_byte_, begin_, last_;
  const int64_t seq_;
  int first_ = 0;
  const char* group_ = nullptr;
};

// The block, and its products.
template <class T, int Dims, int Keys>
struct SplitKeys {
  using R = Rows16<T>;
  static constexpr int size = sizeof(typename T::element);
  static constexpr int steps = Dims / R::step, blocks = Keys / R::keys;
  // A row of V is loaded in chunks of 16 lanes. A lane has `each` neighbouring dimensions, and each product takes one.
  static constexpr int chunks = (Dims / 16 * size + 15) / 16, each = Dims / 16 / chunks, chunk_dims = 16 * each;
  using RowsOfK = SplitKeyRows<T, 16 / size>;
  using RowsOfV = SplitKeyRows<T, each>;
  using Part = vec<typename T::element, each>;
  using Scores = float[blocks][R::scores];
  using Result = Result16[chunks][each];  // of O^T
  DEVICE int query_row(int row) { return row; }

  typename R::A k[blocks][R::products][steps];
  Part v[blocks][R::scores][chunks];

  DEVICE_MEMBER SplitKeys() {
#pragma unroll
    for (auto& block : k)
#pragma unroll
      for (auto& product : block)
#pragma unroll
        for (auto& fragment : product) any_value(fragment);
#pragma unroll
    for (auto& block : v)
#pragma unroll
      for (auto& row : block)
#pragma unroll
        for (Part& part : row) any_value(part);
  }

  // Whole: all rows are read so, which the caller knows. Then the compiler counts the loads that are on their way.
  template <bool Whole>
  DEVICE_MEMBER void load_k(RowsOfK& rows, int first) {
    with_access<Whole>(rows, [&]<RowsOfK::Access A> { load_k_as<A>(rows, first); });
  }
  template <bool Whole>
  DEVICE_MEMBER void load_v(RowsOfV& rows, int first) {
    with_access<Whole>(rows, [&]<RowsOfV::Access A> { load_v_as<A>(rows, first); });
  }

  // S^T = K Q^T, times `own` if q is raised.
  DEVICE_MEMBER void multiply_k(const typename R::B (&q)[steps], float own, Scores& s) const {
    constexpr int of_product = R::scores / R::products;
    const Raised<T> raised = Raised<T>::of(k);
#pragma unroll
    for (int b = 0; b < blocks; ++b)
#pragma unroll
      for (int i = 0; i < R::products; ++i) {
        Result16 x = {};
#pragma unroll
        for (int c = 0; c < steps; ++c) x = R::multiply(raised.fitting(k[b][i][c]), q[c], x);
#pragma unroll
        for (int r = 0; r < of_product; ++r)
          s[b][i * of_product + r] = kRaises<T> ? x[r] * (own * raised.undo()) : x[r];
      }
#pragma unroll
    for (int b = 0; b < blocks; ++b)
#pragma unroll
      for (int i = 0; i < R::scores; ++i) keep_above(s[b][i]);
  }

  // O^T += V^T P^T, raised.
  DEVICE_MEMBER void multiply_v(const Scores& weights, Raised<T>& raised, Result& o) const {
    raised.follow(v, o);
#pragma unroll
    for (int b = 0; b < blocks; ++b)
#pragma unroll
      for (int part = 0; part < R::steps; ++part) {
        const typename R::B p = R::weights(weights[b], part);
#pragma unroll
        for (int c = 0; c < chunks; ++c)
#pragma unroll
          for (int e = 0; e < each; ++e) o[c][e] = R::multiply(raised.fitting(column(v[b], part, c, e)), p, o[c][e]);
      }
#pragma unroll
    for (int c = 0; c < chunks; ++c)
#pragma unroll
      for (int e = 0; e < each; ++e) keep_above(o[c][e]);
  }

  // For a pass after the first.
  template <bool Dropout>
  DEVICE_MEMBER void replace_values(int pass) {
#pragma unroll
    for (int b = 0; b < blocks; ++b)
#pragma unroll
      for (int i = 0; i < R::scores; ++i)
#pragma unroll
        for (int c = 0; c < chunks; ++c)
#pragma unroll
          for (int e = 0; e < each; ++e) {
            Part& x = v[b][i][c];
            x[e] = T::round(replaced<Dropout>(pass, T::to_float(x[e])));
          }
  }

 private:
  template <bool Whole, class Rows, class Load>
  DEVICE void with_access(const Rows& rows, Load load) {
    if (Whole || rows.access == Rows::kWhole) load.template operator()<Rows::kWhole>();
    else if (rows.access == Rows::kVectors) load.template operator()<Rows::kVectors>();
    else load.template operator()<Rows::kElements>();
  }

  template <typename RowsOfK::Access A>
  DEVICE_MEMBER void load_k_as(RowsOfK& rows, int first) {
    const int lane = ThreadPlace::of_thread().lane;
    // Two loads read each cache line, half of it each. Other waves' lines must not take its place between them.
    __builtin_amdgcn_s_setprio(1);
#pragma unroll
    for (int b = 0; b < blocks; ++b) {
      rows.find(first + b * R::keys, R::key_row(0, lane));
#pragma unroll
      for (int p = 0; p < R::products; ++p) {
        const char* const row = rows.at(R::key_row(p, lane));
#pragma unroll
        for (int c = 0; c < steps; ++c)
          k[b][p][c] =
              __builtin_bit_cast(typename R::A, rows.template load<A>(row, c * R::step + R::a_offset(lane) / size));
      }
    }
    __builtin_amdgcn_s_setprio(0);
  }

  template <typename RowsOfV::Access A>
  DEVICE_MEMBER void load_v_as(RowsOfV& rows, int first) {
    const int lane = ThreadPlace::of_thread().lane;
#pragma unroll
    for (int b = 0; b < blocks; ++b) {
      rows.find(first + b * R::keys, R::value_row(0, lane));
#pragma unroll
      for (int i = 0; i < R::scores; ++i) {
        const char* const row = rows.at(R::value_row(i, lane));
#pragma unroll
        for (int c = 0; c < chunks; ++c)
          v[b][i][c] = rows.template load<A>(row, c * chunk_dims + R::column(lane) * each);
      }
    }
  }

  // Dimension `e` of a chunk, of the rows of a part of the keys: operand A.
  DEVICE typename R::A column(const Part (&rows)[R::scores][chunks], int part, int chunk, int e) {
    constexpr int rows_of_part = R::scores / R::steps;
    vec<typename T::element, rows_of_part> x;
#pragma unroll
    for (int i = 0; i < rows_of_part; ++i) x[i] = rows[part * rows_of_part + i][chunk][e];
    return __builtin_bit_cast(typename R::A, x);
  }
};

}  // namespace rapt::amd
