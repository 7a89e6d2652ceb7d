// One tile of V that does not fit in LDS: each fragment is gathered from memory, as a column of V.
#pragma once

#include "kernels/amd/tile/not_finite.hpp"
#include "kernels/amd/tile/rows.hpp"

namespace rapt::amd {

template <class T>
class ValuesInMemory {
  using M = Matrix<T>;

 public:
  static constexpr int bytes = 0;  // of LDS

  DEVICE_MEMBER ValuesInMemory(const char* v, int64_t seq, int head_dim_v, const Keys& attended, char*, int, int pass)
      : rows_(v, seq, head_dim_v, attended, 1), pass_(pass) {}

  DEVICE_MEMBER void load(int) {}
  DEVICE_MEMBER void store(int first) { first_ = first; }

  // Step `step` of operand A for dimensions [first_dim, first_dim + kTile).
  DEVICE_MEMBER typename M::A fragment(int first_dim, int step, int lane) const {
    using element = typename T::element;
    constexpr int size = sizeof(element), count = sizeof(typename M::A) / size;
    const int dim = first_dim + M::unslot(M::a_row(lane)), key = first_ + step * M::step + M::a_offset(lane) / size;
    const char* const column = rows_.at(0, min(dim, rows_.head_dim - 1));
    vec<element, count> x;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int row = clamp(key + i, rows_.begin, rows_.end - 1);
      const element value = load_unaligned<element, size>(column + row * rows_.seq);
      x[i] = row == key + i && dim < rows_.head_dim ? value : element{};
      // Without a branch: after one, clang 22 leaves too few wait states between gfx908's products and reads of them.
      const element other = T::round(replaced(pass_, T::to_float(x[i])));
      x[i] = pass_ == kAll ? x[i] : other;
    }
    return __builtin_bit_cast(typename M::A, x);
  }

 private:
  const Rows<T> rows_;
  const int pass_;
  int first_ = 0;
};

}  // namespace rapt::amd
