// Tiles that are read from memory through buffer descriptors. The hardware checks offsets against a descriptor's
// length: loads from outside give zeros, and what is stored or added there is left out.
#pragma once

#include "kernels/amd/isa/matrix.hpp"
#include "kernels/amd/tile/not_finite.hpp"
#include "kernels/common/keys.hpp"

namespace rapt::amd {

inline constexpr int kBufferOfBytes = 0x00027000;  // the last word of a descriptor of bytes (CDNA3 ISA, 9.1.8)

// A tile of rows side by side, where `left` rows are left: no rows if that is not above 0.
DEVICE __amdgpu_buffer_rsrc_t tile_buffer(char* data, int left, int row_bytes) {
  const int rows = left > kTile ? kTile : left;
  return __builtin_amdgcn_make_buffer_rsrc(data, 0, rows > 0 ? rows * row_bytes : 0, kBufferOfBytes);
}

// Rows of K or V, read tile after tile. What is outside becomes zeros without a branch: rows past the last one, and
// dimensions past head_dim, whose lanes have the offset kOutside.
template <class T, int TileRows>
class BufferRows {
 public:
  static constexpr int element_bytes = sizeof(typename T::element);
  static constexpr uint32_t kOutside = 0x80000000u;

  // The first tile begins at row attended.begin. Scalars are made uniform, or else the compiler would load with a loop
  // over the lanes' descriptors.
  DEVICE_MEMBER BufferRows(const char* data, int64_t seq, int head_dim, const Keys& attended, int pass)
      : next_(reinterpret_cast<char*>(uniform(reinterpret_cast<int64_t>(data + attended.begin * seq)))),
        seq_(uniform(seq)),
        left_(uniform(attended.end - attended.begin)),
        head_dim_(uniform(head_dim)),
        pass_(pass),
        vectors_(uniform(pass == kAll && aligned(data, seq) && head_dim % (16 / element_bytes) == 0 && seq >= 0 &&
                         seq < 0x7FFFFFFF / TileRows) != 0),
        loadable_(vectors_ ? left_ : 0) {}

  // Whether rows are taken as they are, can be read 16 bytes at a time (4 elements of V), and a tile spans less than
  // 2^31 bytes.
  DEVICE_MEMBER bool vectors() const { return vectors_; }

  DEVICE_MEMBER uint32_t offset(int row, int dim) const {
    return dim < head_dim_ ? static_cast<uint32_t>(row * static_cast<int>(seq_) + dim * element_bytes) : kOutside;
  }

  // The descriptor of the next tile; empty without vectors(), whose rows' offsets need not fit its 32 bits.
  DEVICE_MEMBER __amdgpu_buffer_rsrc_t next() {
    const int bytes = (min(loadable_, TileRows) - 1) * static_cast<int>(seq_) + head_dim_ * element_bytes;
    const auto tile = __builtin_amdgcn_make_buffer_rsrc(next_, 0, loadable_ > 0 ? bytes : 0, kBufferOfBytes);
    next_ += TileRows * seq_;
    left_ -= TileRows;
    loadable_ -= TileRows;
    return tile;
  }

  // Without vectors(), by as many threads: calls put(row, dim, x) for each element of the tile that next() returned
  // `back` calls ago. Elements outside are 0.
  template <int Dims, int Threads, class F>
  DEVICE_MEMBER void each_element(F put, int back = 1) const {
    using element = typename T::element;
    const char* const tile = next_ - back * TileRows * seq_;
    const int left = left_ + back * TileRows;
#pragma nounroll
    for (int n = opaque_thread_id() % Threads; n < TileRows * Dims; n += Threads) {
      const int row = n / Dims, dim = n % Dims;
      element x = {};
      if (row < left && dim < head_dim_)
        x = load_unaligned<element, element_bytes>(tile + row * seq_ + dim * element_bytes);
      put(row, dim, x);
    }
  }

  // An element as the pass has it (not_finite.hpp).
  DEVICE_MEMBER typename T::element in_pass(typename T::element x) const {
    return pass_ == kAll ? x : T::round(replaced(pass_, T::to_float(x)));
  }

 private:
  char* next_;
  const int64_t seq_;
  int left_;  // rows from next_ on
  const int head_dim_, pass_;
  const bool vectors_;
  int loadable_;  // of the rows left
};

}  // namespace rapt::amd
