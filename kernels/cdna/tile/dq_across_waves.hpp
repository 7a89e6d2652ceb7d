// dQ where lanes have keys: a row's sum is over the keys of all waves, and of all workgroups.
#pragma once

#include "kernels/amd/isa/matrix.hpp"
#include "kernels/cdna/tile/buffer_tiles.hpp"
#include "kernels/common/keys.hpp"

namespace rapt::amd {

// dS of a step in LDS: a wave's lanes have a key each and write its column; then every wave reads whole rows, the
// operand A of dQ = dS K. No access has bank conflicts.
template <class T, int Keys>
class ExchangedGradients {
  using M = Matrix<T>;
  static constexpr int kRowBytes = Keys * 2, kPlaces = 128 / kStepBytes;
  static_assert(sizeof(typename T::element) == 2 && kTile == 32 && kRowBytes % 128 == 0);

 public:
  static constexpr int bytes = kTile * kRowBytes, kSteps = Keys / M::step;

  // `key` is the lane's, of the workgroup's keys; the wave reads steps from first_step on.
  DEVICE_MEMBER ExchangedGradients(char* lds, int lane, int key, int first_step) : lds_(lds) {
    const int half = lane / kTile;
#pragma unroll
    for (int j = 0; j < 4; ++j) to_[j] = M::slot(8 * half) * kRowBytes + ((key * 2) ^ (M::slot(8 * half) + j) * 16);
#pragma unroll
    for (int c = 0; c < kPlaces; ++c) {
      const int row = M::a_row(lane);
      from_[c] = row * kRowBytes + first_step / kPlaces * 128 +
                 ((c * kStepBytes + M::a_offset(lane)) ^ (row ^ row >> 3) % 8 * 16);
    }
  }

  template <int Threads>
  DEVICE_MEMBER void clear(int thread) const {
    for (int at = thread * 16; at < bytes; at += Threads * 16) *reinterpret_cast<u32x4*>(lds_ + at) = u32x4{};
  }
  // Stores the lane's key of query element(r, half): the low or the high half of `pair`, which has both of r and r ^ 1.
  DEVICE_MEMBER void store(int r, uint32_t pair) const {
    const int row = M::slot(M::element(r, 0));  // without the half's bit
    auto* const place = reinterpret_cast<uint16_t*>(lds_ + row * kRowBytes + to_[(row ^ row >> 3) % 4]);
    *place = static_cast<uint16_t>(r % 2 ? pair >> 16 : pair);
  }
  DEVICE_MEMBER typename M::A fragment(int step) const {
    return *reinterpret_cast<const typename M::A*>(lds_ + step / kPlaces * 128 + from_[step % kPlaces]);
  }

 private:
  char* const lds_;
  int to_[4], from_[kPlaces];
};

// The float32 sums of dQ of one head, which backward_fused adds to step after step. A lane has one dimension of the
// rows of a result, so that 32 lanes add to 128 bytes side by side. The hardware leaves out rows past the last one.
template <class T, int HeadDim>
class DqSums {
  using M = Matrix<T>;
  static constexpr int kRowBytes = HeadDim * 4;

 public:
  // None are added to if not `adds`.
  DEVICE_MEMBER DqSums(const float* sums, const Keys& rows, bool adds, int lane, int wave)
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
