// A tile of rows whose columns are operand A: V in the forward pass. gfx950 transposes 16-bit elements when it reads
// them from LDS. Elsewhere a tile is transposed on the way to LDS, or read from memory if LDS is too small.
// StagedValues is the way that a kernel's tile takes.
#pragma once

#include "kernels/amd/tile/not_finite.hpp"
#include "kernels/amd/tile/lds_rows.hpp"

namespace rapt::amd {

// A tile in LDS like StagedRows, but transposed: a row of V^T is one dimension of all keys, so that both operands are
// read as fragments of rows. Blocks of 4 keys by 4 dimensions are transposed in registers.
template <class T, int HeadDim, int KeyCount, int Waves>
class TransposedValues {
  using M = Matrix<T>;

 public:
  static constexpr int element_bytes = sizeof(typename T::element);
  static constexpr int row_bytes = KeyCount * element_bytes;
  static constexpr int stride = row_bytes + 16, bytes = HeadDim * stride;

  DEVICE_MEMBER TransposedValues(const char* v, int64_t seq, int head_dim_v, const Keys& attended, char* lds,
                                 int thread, int pass, const Raised<T>& raised)
      : rows_(v, seq, head_dim_v, attended, KeyCount),
        lds_(lds),
        wave_(uniform(thread / kWave)),
        lane_(thread % kWave),
        pass_(pass),
        raised_(raised) {}

  // Starts the loads of keys [first, first + KeyCount); keys that no query attends become zeros.
  DEVICE_MEMBER void load(int first) {
    rows_.template load<TransposedValues, Four, KeyCount, HeadDim, 4>(
        first, lane_, [&](auto f) { for_pieces(f); }, [&](int i, int j) -> Four& { return part_[i][j]; });
  }

  // Writes the loaded keys [first, first + KeyCount) to LDS.
  DEVICE_MEMBER void store(int first) const {
    if (rows_.vectors) {
      char* const to = lds_ + M::slot(lane_dim(lane_)) * stride + lane_row(lane_) * element_bytes;
      for_pieces([&](int i, int row, int dim) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          *reinterpret_cast<Four*>(to + (M::slot(dim + j) * stride + row * element_bytes)) =
              raised_.fitting(column(part_[i], j));
      });
    } else {
      rows_.template copy<KeyCount, HeadDim, Waves * kWave>(
          first, lds_, raised_, [](int row, int dim) { return M::slot(dim) * stride + row * element_bytes; });
    }
    replace<T, Waves>(pass_, *this);
  }

  // Step `step` of operand A for dimensions [first_dim, first_dim + kTile).
  DEVICE_MEMBER typename M::A fragment(int first_dim, int step, int lane) const {
    return amd::fragment<M>(row(first_dim + M::a_row(lane)), step, lane);
  }

  static constexpr int lds_rows = HeadDim, row_elements = KeyCount;
  DEVICE_MEMBER char* row(int slot) const { return lds_ + slot * stride; }

 private:
  friend Rows<T>;
  using Four = vec<uint32_t, element_bytes>;  // 4 elements
  // A wave loads 8 blocks of 4 keys by kWave / 8 blocks of 4 dimensions at once: whole sectors of memory. Lanes 8 apart
  // write to neighbouring addresses in LDS, that is, to different banks.
  static constexpr int down = 32, dims = kWave / 2, rows_of_pieces = KeyCount / down;
  static constexpr int pieces = rows_of_pieces * (HeadDim / dims), loads = (pieces + Waves - 1) / Waves;
  static_assert(KeyCount % down == 0 && HeadDim % dims == 0);

  DEVICE int lane_row(int lane) { return lane % 8 * 4; }
  DEVICE int lane_dim(int lane) { return 4 * ((lane >> 2 & 2) | (lane >> 4 & 1) | (lane >> 3 & 4)); }

  // Calls f(i, row, dim) with where the wave's i-th piece begins.
  template <class F>
  DEVICE_MEMBER void for_pieces(F f) const {
    const int wave = opaque_uniform(wave_);
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const int piece = i * Waves + wave;
      if (pieces % Waves != 0 && piece >= pieces) break;
      f(i, piece % rows_of_pieces * down, piece / rows_of_pieces * dims);
    }
  }

  // Column j of 4 rows of 4 elements.
  DEVICE u32x2 column(const u32x2* row, int j) { return amd::column(row, j); }
  DEVICE u32x4 column(const u32x4* row, int j) { return {row[0][j], row[1][j], row[2][j], row[3][j]}; }

  const Rows<T> rows_;
  char* const lds_;
  const int wave_, lane_, pass_;
  const Raised<T> raised_;
  Four part_[loads][4];
};

// A tile that does not fit in LDS: each fragment is gathered from memory, as a column of V.
template <class T>
class ValuesInMemory {
  using M = Matrix<T>;

 public:
  static constexpr int bytes = 0;  // of LDS

  DEVICE_MEMBER ValuesInMemory(const char* v, int64_t seq, int head_dim_v, const Keys& attended, char*, int, int pass,
                               const Raised<T>&)
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

#ifdef __gfx950__

// The stride is an odd multiple of 64 bytes. 32 lanes read, and 16 lanes write, 4 rows of 64 bytes, which are then in
// different banks.
template <int HeadDim>
struct ValueOrder {
  static constexpr int padding = HeadDim * 2 % 128 == 0 ? 64 : 0;
  DEVICE int slot(int row) { return row; }
  DEVICE int unslot(int place) { return place; }
  DEVICE int lane_row(int lane) { return lane / 4; }
};

// A tile in LDS as it is in memory, for the transposing reads of gfx950 (section 11.4 of the CDNA4 ISA). 16 lanes read
// 4 rows of 16 elements, and each lane gets a column: 4 keys of one dimension.
template <class T, int HeadDim, int KeyCount, int Waves>
class ValuesInRows : public StagedRows<T, HeadDim, KeyCount, Waves, ValueOrder<HeadDim>> {
  using Base = StagedRows<T, HeadDim, KeyCount, Waves, ValueOrder<HeadDim>>;

 public:
  DEVICE_MEMBER ValuesInRows(const char* v, int64_t seq, int head_dim_v, const Keys& attended, char* lds, int thread,
                             int pass, const Raised<T>& raised)
      : Base(v, seq, head_dim_v, attended, lds, thread, raised), pass_(pass) {}

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

#endif

inline constexpr int kLdsLimit = 65536;  // bytes per workgroup

template <class T, int HeadDim, int KeyCount, int Waves>
struct Values {
  using Transposed = TransposedValues<T, HeadDim, KeyCount, Waves>;
#ifdef __gfx950__
  using InLds =
      typename Choose<Transposed::element_bytes == 2, ValuesInRows<T, HeadDim, KeyCount, Waves>, Transposed>::type;
#else
  using InLds = Transposed;
#endif
  using type = typename Choose<(Transposed::bytes <= kLdsLimit), InLds, ValuesInMemory<T>>::type;
};

template <class T, int HeadDim, int KeyCount, int Waves>
using StagedValues = typename Values<T, HeadDim, KeyCount, Waves>::type;

}  // namespace rapt::amd
