// Two tiles of K and two of V in LDS: one is read while the next is written. A third one is on its way from memory, in
// registers.
#pragma once

#include "kernels/amd/tile/raised.hpp"
#include "kernels/cdna/tile/buffer_tiles.hpp"

namespace rapt::amd {

// Rows in LDS without padding and without bank conflicts. A row's granules are permuted by the row's number. Lanes that
// the banks serve together read the same granule of consecutive rows, which is then in different banks.
template <int RowBytes, int Granule = 16>
struct Swizzle {
#ifdef __gfx950__
  static constexpr int kBankBytes = 256;
#else
  static constexpr int kBankBytes = 128;
#endif
  // The largest power of two that divides both: where rows can begin within the banks.
  static constexpr int kSpan = (RowBytes & -RowBytes) < kBankBytes ? (RowBytes & -RowBytes) : kBankBytes;
  static constexpr int kRows = kBankBytes / kSpan;  // consecutive rows that begin at different banks
  static_assert(kSpan >= Granule);

  // Where byte `at` of a row is within it; its own inverse.
  DEVICE int permuted(int row, int at) { return at ^ row / kRows % (kSpan / Granule) * Granule; }
  DEVICE int place(int row, int at) { return row * RowBytes + permuted(row, at); }
};

// Two tiles as they are in memory: of K, and of V if the hardware transposes. Order says which row is at which slot,
// and where the bytes of a slot are in LDS.
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
                             int pass, const Raised<T>& raised = Raised<T>())
      : rows_(rows, seq, head_dim, attended, pass), lds_(lds), wave_(uniform(thread / kWave)), raised_(raised) {
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
  // Writes the tile whose loads were started last, and starts the loads of the next one.
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
    if (has(i)) *reinterpret_cast<u32x4*>(lds_ + (buffer * bytes + i * kThreads * 16) + to_) = raised_(part_[i]);
  }
  // Element by element, of the tile that next() returned `back` calls ago.
  DEVICE_MEMBER void copy(int buffer, int back) const {
    using element = typename T::element;
    rows_.template each_element<HeadDim, kThreads>(
        [&](int row, int dim, element x) {
          const int at = Order::Place::place(Order::slot(row), dim * element_bytes);
          *reinterpret_cast<element*>(lds_ + buffer * bytes + at) = raised_(rows_.in_pass(x));
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
  const Raised<T> raised_;
  uint32_t from_[kParts];
  int to_;
  u32x4 part_[kParts];
};

template <class T, int RowBytes>
struct BufferedKeyOrder {
  using Place = Swizzle<RowBytes>;
  DEVICE int slot(int row) { return Matrix<T>::slot(row); }
  DEVICE int unslot(int place) { return Matrix<T>::unslot(place); }
};

// Two tiles of K, in the order of Matrix::slot, read as fragments of rows.
template <class T, int HeadDim, int KeyCount, int Waves>
class BufferedKeys : public BufferedRows<T, HeadDim, KeyCount, Waves,
                                         BufferedKeyOrder<T, HeadDim* static_cast<int>(sizeof(typename T::element))>> {
  using M = Matrix<T>;
  using Place = Swizzle<HeadDim* static_cast<int>(sizeof(typename T::element))>;
  using Base = BufferedRows<T, HeadDim, KeyCount, Waves,
                            BufferedKeyOrder<T, HeadDim* static_cast<int>(sizeof(typename T::element))>>;

 public:
  DEVICE_MEMBER BufferedKeys(const char* rows, int64_t seq, int head_dim, const Keys& attended, char* lds, int thread,
                             const Raised<T>& raised = Raised<T>())
      : Base(rows, seq, head_dim, attended, lds, thread, kAll, raised) {
    const int lane = thread % kWave;
#pragma unroll
    for (int c = 0; c < kPlaces; ++c) fragment_[c] = Place::place(M::a_row(lane), c * kStepBytes + M::a_offset(lane));
  }

  // Step `step` of operand A for keys [tile * kTile, (tile + 1) * kTile).
  DEVICE_MEMBER typename M::A fragment(int buffer, int tile, int step) const {
    const int at = tile * kTile * Base::row_bytes + step / kPlaces * kPlaces * kStepBytes;
    return *reinterpret_cast<const typename M::A*>(this->tile(buffer) + at + fragment_[step % kPlaces]);
  }

 private:
  static constexpr int kPlaces = Place::kSpan / kStepBytes;  // steps whose places differ by more than a constant

  int fragment_[kPlaces];
};

// Two tiles of V^T, read as fragments of rows. Blocks of 4 keys by 4 dimensions are transposed in registers.
template <class T, int HeadDim, int KeyCount, int Waves>
class BufferedValues {
  using M = Matrix<T>;
  using element = typename T::element;
  using Buffer = BufferRows<T, KeyCount>;
  static constexpr int row_bytes = KeyCount * static_cast<int>(sizeof(element));
  using Place = Swizzle<row_bytes>;

 public:
  static constexpr int element_bytes = Buffer::element_bytes, bytes = HeadDim * row_bytes;
  static_assert(element_bytes == 2);

  DEVICE_MEMBER BufferedValues(const char* rows, int64_t seq, int head_dim_v, const Keys& attended, char* lds,
                               int thread, int pass, const Raised<T>& raised = Raised<T>())
      : rows_(rows, seq, head_dim_v, attended, pass), lds_(lds), wave_(uniform(thread / kWave)), raised_(raised) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int key = key_of(i, thread), dim = dim_of(i, thread);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        from_[i][j] = rows_.offset(key + j, dim);
        to_[i][j] = Place::place(row_of(M::slot(dim + j)), key * element_bytes);
      }
    }
    const int lane = thread % kWave;
#pragma unroll
    for (int c = 0; c < kPlaces; ++c)
      fragment_[c] = Place::place(row_of(M::a_row(lane)), c * kStepBytes + M::a_offset(lane));
  }

  DEVICE_MEMBER void start() {
    const auto tile = rows_.next();
#pragma unroll
    for (int i = 0; i < kLoads && has(i); ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        part_[i][j] = __builtin_amdgcn_raw_buffer_load_b64(tile, static_cast<int>(from_[i][j]), 0, 0);
  }
  // Writes the tile whose loads were started last, and starts the loads of the next one.
  DEVICE_MEMBER void stage(int buffer) {
    char* const tile = lds_ + buffer * bytes;
    if (__builtin_expect(rows_.vectors(), 1)) {
#pragma unroll
      for (int i = 0; i < kLoads && has(i); ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) *reinterpret_cast<u32x2*>(tile + to_[i][j]) = raised_.fitting(column(part_[i], j));
    } else {
      rows_.template each_element<HeadDim, Waves * kWave>([&](int key, int dim, element x) {
        *reinterpret_cast<element*>(tile + Place::place(row_of(M::slot(dim)), key * element_bytes)) =
            raised_(rows_.in_pass(x));
      });
    }
    start();
  }

  // Step `step` of operand A for dimensions [tile * kTile, (tile + 1) * kTile).
  DEVICE_MEMBER typename M::A fragment(int buffer, int tile, int step) const {
    const int at = buffer * bytes + tile * kTile * row_bytes + step / kPlaces * kPlaces * kStepBytes;
    return *reinterpret_cast<const typename M::A*>(lds_ + at + fragment_[step % kPlaces]);
  }

 private:
  // A wave loads 8 blocks of 4 keys by 8 blocks of 4 dimensions at once: whole sectors of memory.
  static constexpr int kPieces = KeyCount / 32 * (HeadDim / 32), kLoads = (kPieces + Waves - 1) / Waves;
  static_assert(KeyCount % 32 == 0 && HeadDim % 32 == 0);
  static constexpr int kPlaces = Place::kSpan / kStepBytes;

  // Whether this wave has an i-th piece.
  DEVICE_MEMBER bool has(int i) const { return (i + 1) * Waves <= kPieces || i * Waves + wave_ < kPieces; }
  DEVICE int key_of(int i, int thread) { return (i * Waves + thread / kWave) % (KeyCount / 32) * 32 + thread % 8 * 4; }
  // Lanes 8 apart, which the banks serve together, have dimensions 8 apart, that is, slots 4 apart.
  DEVICE int dim_of(int i, int thread) {
    const int lane = thread % kWave;
    return (i * Waves + thread / kWave) / (KeyCount / 32) * 32 +
           4 * ((lane >> 2 & 2) | (lane >> 4 & 1) | (lane >> 3 & 4));
  }
  // Where a slot's row is. Rows of half the banks alternate between the halves: so must slots that are written
  // together.
  DEVICE int row_of(int slot) { return Place::kRows == 1 ? slot : (slot & ~5) | (slot >> 2 & 1) | (slot & 1) << 2; }

  Buffer rows_;
  char* const lds_;
  const int wave_;
  const Raised<T> raised_;
  uint32_t from_[kLoads][4];
  int to_[kLoads][4], fragment_[kPlaces];
  u32x2 part_[kLoads][4];
};

#ifdef __gfx950__

// 32 lanes read 64 bytes of 4 consecutive rows.
template <int RowBytes>
struct BufferedValueOrder {
  using Place = Swizzle<RowBytes, 64>;
  DEVICE int slot(int row) { return row; }
  DEVICE int unslot(int place) { return place; }
};

// Two tiles of V as they are in memory, for the transposing reads of gfx950 (ValuesInRows in lds_columns.hpp).
template <class T, int HeadDim, int KeyCount, int Waves>
class BufferedValuesInRows : public BufferedRows<T, HeadDim, KeyCount, Waves, BufferedValueOrder<HeadDim * 2>> {
  using Base = BufferedRows<T, HeadDim, KeyCount, Waves, BufferedValueOrder<HeadDim * 2>>;
  using Place = Swizzle<HeadDim * 2, 64>;

 public:
  DEVICE_MEMBER BufferedValuesInRows(const char* rows, int64_t seq, int head_dim_v, const Keys& attended, char* lds,
                                     int thread, int pass, const Raised<T>& raised = Raised<T>())
      : Base(rows, seq, head_dim_v, attended, lds, thread, pass, raised) {
    const int lane = thread % kWave, key = lane / 32 * 8 + lane % 16 / 4;
#pragma unroll
    for (int c = 0; c < kPlaces; ++c)
      fragment_[c] = Place::place(key, (c * kTile + (lane & 16) + Matrix<T>::unslot(lane % 4 * 4)) * 2);
  }

  // Step `step` of operand A for dimensions [tile * kTile, (tile + 1) * kTile).
  DEVICE_MEMBER u32x4 fragment(int buffer, int tile, int step) const {
    const int at = step * 16 * Base::row_bytes + tile / kPlaces * kPlaces * kTile * 2;
    const char* const place = this->tile(buffer) + at + fragment_[tile % kPlaces];
    const u32x2 low = read(place), high = read(place + 4 * Base::row_bytes);
    return {low[0], low[1], high[0], high[1]};
  }

 private:
  static constexpr int kPlaces = Place::kSpan / 64;

  DEVICE u32x2 read(const char* place) {
    using Four = vec<short, 4>;
    using Shared = __attribute__((address_space(3))) Four;
    return __builtin_bit_cast(u32x2, __builtin_amdgcn_ds_read_tr16_b64_v4i16((Shared*)place));
  }

  int fragment_[kPlaces];
};

#endif

}  // namespace rapt::amd
