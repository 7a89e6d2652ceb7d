// The float32 sums of dQ of one head, which backward_fused adds to step after step. A lane has one dimension of the
// rows of a result, so that 32 lanes add to 128 bytes side by side. The hardware leaves out rows past the last one.
#pragma once

#include "kernels/cdna/isa/buffer.hpp"
#include "kernels/common/keys.hpp"

namespace rapt::amd {

template <class T, int HeadDim>
class DqSums {
  using M = Matrix<T>;
  static constexpr int kRowBytes = HeadDim * 4;

 public:
  // None are added to if not `adds`.
  DEVICE_MEMBER DqSums(const float* sums, const Queries& rows, bool adds, int lane, int wave)
      : next_(reinterpret_cast<char*>(uniform(reinterpret_cast<int64_t>(sums + rows.begin * HeadDim)))),
        left_(uniform(adds ? rows.end - rows.begin : 0)),
        left_before_(0),
        at_(M::element(0, lane / kTile) * kRowBytes + (wave * kTile + M::unslot(lane % kTile)) * 4) {}

  // The rows of the step before the one that is next; none in the first call.
  DEVICE_MEMBER __amdgpu_buffer_rsrc_t last() {
    const auto tile = tile_buffer(next_ - kTile * kRowBytes, left_before_, kRowBytes);
    left_before_ = left_;
    next_ += kTile * kRowBytes;
    left_ -= kTile;
    return tile;
  }
  DEVICE_MEMBER void add(const __amdgpu_buffer_rsrc_t& tile, const Tile& dq, int r) const {
    const int row = M::element(r, 0);  // 12 bits of the offset are in the instruction
    const int of_eight = row / 8 * 8 * kRowBytes;
#if __has_builtin(__builtin_amdgcn_raw_ptr_buffer_atomic_fadd_f32) && !defined(__gfx908__)
    __builtin_amdgcn_raw_ptr_buffer_atomic_fadd_f32(dq[r], tile, at_ + row % 8 * kRowBytes, of_eight, 0);
#else
    // clang 19 lacks the builtin, and 22 has it for GPUs only whose instruction can return the old value. The compiler
    // does not know that the move to %0 takes two wait states.
    asm volatile("s_nop 1\n\tbuffer_atomic_add_f32 %0, %1, %2, %3 offen offset:%4" ::"v"(dq[r]), "v"(at_), "s"(tile),
                 "s"(of_eight), "n"(row % 8 * kRowBytes));
#endif
  }

 private:
  char* next_;
  int left_, left_before_;
  const int at_;
};

}  // namespace rapt::amd
