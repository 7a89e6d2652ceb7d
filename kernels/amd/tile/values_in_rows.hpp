// One tile of V, not transposed, for the transposing LDS reads of gfx950 (CDNA4 ISA, 11.4): 16 lanes read 4 rows of 16
// elements, and each gets a column, 4 keys of one dimension.
#pragma once

#include "kernels/amd/tile/not_finite.hpp"
#include "kernels/amd/tile/staged_rows.hpp"

namespace rapt::amd {

// The stride is an odd multiple of 64 bytes, so that the 4 rows of 64 bytes that 32 lanes read, and that 16 lanes
// write, are in different ones of the 64 banks.
template <int HeadDim>
struct ValueOrder {
  static constexpr int padding = HeadDim * 2 % 128 == 0 ? 64 : 0;
  DEVICE int slot(int row) { return row; }
  DEVICE int unslot(int place) { return place; }
  DEVICE int lane_row(int lane) { return lane / 4; }
};

template <class T, int HeadDim, int KeyCount, int Waves>
class ValuesInRows : public StagedRows<T, HeadDim, KeyCount, Waves, ValueOrder<HeadDim>> {
  using Base = StagedRows<T, HeadDim, KeyCount, Waves, ValueOrder<HeadDim>>;

 public:
  DEVICE_MEMBER ValuesInRows(const char* v, int64_t seq, int head_dim_v, const Keys& attended, char* lds, int thread,
                             int pass)
      : Base(v, seq, head_dim_v, attended, lds, thread), pass_(pass) {}

  DEVICE_MEMBER void store(int first) const {
    Base::store(first);
    replace<T, Waves>(pass_, *this);
  }

  // Step `step` of operand A for dimensions [first_dim, first_dim + kTile).
  DEVICE_MEMBER u32x4 fragment(int first_dim, int step, int lane) const {
    const int key = step * 16 + lane / 32 * 8 + lane % 16 / 4;
    // Columns are in the order of lanes; slots are in that of Matrix::slot.
    const int dim = first_dim + (lane & 16) + Matrix<T>::unslot(lane % 4 * 4);
    const u32x2 low = read(key, dim), high = read(key + 4, dim);
    return {low[0], low[1], high[0], high[1]};
  }

 private:
  DEVICE_MEMBER u32x2 read(int key, int dim) const {
    using Four = vec<short, 4>;
    using Shared = __attribute__((address_space(3))) Four;
    char* const place = this->row(key) + dim * 2;
    return __builtin_bit_cast(u32x2, __builtin_amdgcn_ds_read_tr16_b64_v4i16((Shared*)place));
  }

  const int pass_;
};

}  // namespace rapt::amd
