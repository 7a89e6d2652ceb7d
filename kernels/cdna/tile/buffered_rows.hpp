// Two tiles of K in LDS (and of V if the hardware transposes): one is read while the next is written. A third one is on
// its way from memory, in registers.
#pragma once

#include "kernels/cdna/tile/buffer_rows.hpp"
#include "kernels/cdna/tile/swizzle.hpp"

namespace rapt::amd {

// Order says which row is at which slot, and where the bytes of a slot are in LDS.
template <class T, int HeadDim, int KeyCount, int Waves, class Order>
class BufferedRows {
 public:
  static constexpr int element_bytes = sizeof(typename T::element), row_bytes = HeadDim * element_bytes;
  static constexpr int bytes = KeyCount * row_bytes;

 private:
  static constexpr int kThreads = Waves * kWave, kChunks = row_bytes / 16, kTotal = KeyCount * kChunks;
  static_assert(kTotal % kWave == 0);

 public:
  static constexpr int kParts = (kTotal + kThreads - 1) / kThreads;  // loads of a lane

  DEVICE_MEMBER BufferedRows(const char* rows, int64_t seq, int head_dim, const Keys& attended, char* lds, int thread,
                             int pass)
      : rows_(rows, seq, head_dim, attended, pass), lds_(lds), wave_(uniform(thread / kWave)) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      // A wave writes 16 bytes a lane side by side, and permutes what it reads.
      const int slot = (i * kThreads + thread) / kChunks, at = (i * kThreads + thread) % kChunks * 16;
      from_[i] = rows_.offset(Order::unslot(slot), Order::Place::permuted(slot, at) / element_bytes);
    }
    to_ = thread * 16;
  }

  // Starts the loads of the next tile.
  DEVICE_MEMBER void start() {
    const auto tile = next();
#pragma unroll
    for (int i = 0; i < kParts; ++i) load_part(tile, i);
  }
  // Writes the tile whose loads were started last, and starts those of the next one.
  DEVICE_MEMBER void stage(int buffer) {
    if (__builtin_expect(vectors(), 1)) {
#pragma unroll
      for (int i = 0; i < kParts; ++i) store_part(buffer, i);
    } else {
      copy(buffer, 1);
    }
    start();
  }

  // The same part by part. Without vectors() nothing is loaded, and copy() must follow what other waves store.
  DEVICE_MEMBER bool vectors() const { return rows_.vectors(); }
  DEVICE_MEMBER __amdgpu_buffer_rsrc_t next() { return rows_.next(); }
  DEVICE_MEMBER void load_part(const __amdgpu_buffer_rsrc_t& tile, int i) {
    if (has(i)) part_[i] = __builtin_amdgcn_raw_buffer_load_b128(tile, static_cast<int>(from_[i]), 0, 0);
  }
  DEVICE_MEMBER void store_part(int buffer, int i) {
    if (has(i)) *reinterpret_cast<u32x4*>(lds_ + (buffer * bytes + i * kThreads * 16) + to_) = part_[i];
  }
  // Element by element, of the tile that next() returned `back` calls ago.
  DEVICE_MEMBER void copy(int buffer, int back) const {
    using element = typename T::element;
    rows_.template each_element<HeadDim, kThreads>(
        [&](int row, int dim, element x) {
          const int at = Order::Place::place(Order::slot(row), dim * element_bytes);
          *reinterpret_cast<element*>(lds_ + buffer * bytes + at) = rows_.in_pass(x);
        },
        back);
  }

 protected:
  DEVICE_MEMBER const char* tile(int buffer) const { return lds_ + buffer * bytes; }

 private:
  // Whether this wave has an i-th load.
  DEVICE_MEMBER bool has(int i) const { return (i + 1) * kThreads <= kTotal || (i * Waves + wave_) * kWave < kTotal; }

  BufferRows<T, KeyCount> rows_;
  char* const lds_;
  const int wave_;
  uint32_t from_[kParts];
  int to_;
  u32x4 part_[kParts];
};

}  // namespace rapt::amd
