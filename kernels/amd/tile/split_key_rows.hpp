// A wave's blocks of rows of K and V for split-KV, from memory to registers.
#pragma once

#include "kernels/amd/isa/rows16.hpp"
#include "kernels/amd/tile/not_finite.hpp"
#include "kernels/common/append.hpp"

namespace rapt::amd {

// An opaque copy of this thread's place. Of unsigned numbers: their quotients and remainders take one instruction each.
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
  // How rows are read: vectors of all dimensions of the tile, or of those that exist, or elements one by one.
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

  // Of the block that begins at `first`, the group of this lane's rows, of which `row` is one. The addresses come from
  // scalar loads, which do not wait for rows on their way.
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

}  // namespace rapt::amd
