// Tiles of 32 rows of Q, K or dO in LDS twice: as they are, RowTiles of them, and transposed, ColumnTiles. A lane loads
// blocks of 4 rows by 4 dimensions and writes them both ways: first the rows, and a tile later, from the same
// registers, the columns. Another tile is on its way from memory meanwhile, so there are two sets of registers.
//
// No access has bank conflicts. 16 lanes that write together have all rows of a column of blocks and 8 dimensions.
#pragma once

#include "kernels/cdna/tile/buffer_tiles.hpp"

namespace rapt::amd {

// Where they are, and a lane's fragments of them.
template <class T, int HeadDim, int RowTiles = 2, int ColumnTiles = RowTiles>
class BothWaysFragments {
  using M = Matrix<T>;

 protected:
  static constexpr int kRowBytes = HeadDim * 2, kColumnBytes = kTile * 2;
  static_assert(sizeof(typename T::element) == 2 && kTile == 32 && kRowBytes % 128 == 0);

 public:
  static constexpr int kTileBytes = kTile * kRowBytes, bytes = (RowTiles + ColumnTiles) * kTileBytes;

  DEVICE_MEMBER BothWaysFragments(char* lds, int lane) : lds_(lds) {
#pragma unroll
    for (int c = 0; c < kRowPlaces; ++c)
      row_fragment_[c] = row_place(M::a_row(lane), c * kStepBytes + M::a_offset(lane));
#pragma unroll
    for (int c = 0; c < kColumnPlaces; ++c)
      column_fragment_[c] = column_place(M::a_row(lane), c * kStepBytes + M::a_offset(lane));
  }

  // Operand A: step `step` of the tile's rows; of dimensions [tile * kTile, (tile + 1) * kTile), whose elements are the
  // rows' of step `step`.
  DEVICE_MEMBER typename M::A row_fragment(int buffer, int step) const {
    return read(row_tile(buffer) + step / kRowPlaces * kRowPlaces * kStepBytes + row_fragment_[step % kRowPlaces]);
  }
  DEVICE_MEMBER typename M::A column_fragment(int buffer, int tile, int step) const {
    return read(column_tile(buffer) + tile * kTile * kColumnBytes + column_fragment_[step]);
  }

 protected:
  DEVICE_MEMBER char* row_tile(int buffer) const { return lds_ + buffer * kTileBytes; }
  DEVICE_MEMBER char* column_tile(int buffer) const { return lds_ + (RowTiles + buffer) * kTileBytes; }

  DEVICE int row_place(int slot, int at) { return slot * kRowBytes + (at ^ ((slot ^ slot >> 3) & 7) * 16); }
  // Two columns side by side.
  DEVICE int column_place(int slot, int at) {
    return (slot >> 1) * 2 * kColumnBytes + ((slot ^ slot >> 3) & 1) * kColumnBytes + (at ^ (slot >> 1 & 3) * 16);
  }

 private:
  static constexpr int kRowPlaces = 128 / kStepBytes, kColumnPlaces = kColumnBytes / kStepBytes;

  DEVICE typename M::A read(const char* place) { return *reinterpret_cast<const typename M::A*>(place); }

  char* const lds_;
  int row_fragment_[kRowPlaces], column_fragment_[kColumnPlaces];
};

template <class T, int HeadDim, int Waves, int RowTiles = 2, int ColumnTiles = RowTiles>
class BothWays : public BothWaysFragments<T, HeadDim, RowTiles, ColumnTiles> {
  using M = Matrix<T>;
  using element = typename T::element;
  using Places = BothWaysFragments<T, HeadDim, RowTiles, ColumnTiles>;
  using Places::kColumnBytes;
  using Places::row_tile, Places::column_tile, Places::row_place, Places::column_place;
  static constexpr int kThreads = Waves * kWave;
  static constexpr int kBlocks = (HeadDim / kTile + Waves - 1) / Waves, kBlockDims = Waves * kTile;  // of a lane
  static_assert(kBlocks == 1 || HeadDim % kBlockDims == 0);

 public:
  static constexpr int kParts = 4 * kBlocks;  // of a lane: loads of a tile, writes of its rows, and of its columns

  // Wave first_wave has the first 32 dimensions, the next one the next.
  DEVICE_MEMBER BothWays(const char* rows, int64_t seq, int dims, const Keys& attended, char* lds, int thread,
                         int first_wave, int pass)
      : Places(lds, thread % kWave),
        rows_(rows, seq, dims, attended, pass),
        has_block_(uniform((thread / kWave + Waves - first_wave) % Waves) < HeadDim / kTile) {
    const int lane = thread % kWave, row = lane % 8 * 4;
    const int dim = uniform((thread / kWave + Waves - first_wave) % Waves) * kTile + lane / 8 * 4;
#pragma unroll
    for (int j = 0; j < kParts; ++j) from_[j] = rows_.offset(row + j % 4, dim + j / 4 * kBlockDims);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      to_row_[j] = row_place(M::slot(row + j), dim * 2);
      to_column_[j] = column_place(M::slot(dim + j), row * 2);
    }
  }

  // Whether what is loaded is right; otherwise copy_rows() and copy_columns() must follow.
  DEVICE_MEMBER bool vectors() const { return rows_.vectors(); }

  // The next tile: load_part() starts a part of its loads.
  DEVICE_MEMBER __amdgpu_buffer_rsrc_t next() { return rows_.next(); }
  DEVICE_MEMBER void load_part(const __amdgpu_buffer_rsrc_t& tile, int set, int j) {
    if (has_block()) part_[set][j] = __builtin_amdgcn_raw_buffer_load_b64(tile, static_cast<int>(from_[j]), 0, 0);
  }
  DEVICE_MEMBER void store_row_part(int set, int buffer, int j) const {
    if (has_block())
      *reinterpret_cast<u32x2*>(row_tile(buffer) + j / 4 * kBlockDims * 2 + to_row_[j % 4]) = part_[set][j];
  }
  DEVICE_MEMBER void store_column_part(int set, int buffer, int j) const {
    if (!has_block()) return;
    const int block = j / 4;
    char* const tile = column_tile(buffer) + block * kBlockDims * kColumnBytes;
    *reinterpret_cast<u32x2*>(tile + to_column_[j % 4]) = column(part_[set] + 4 * block, j % 4);
  }
  DEVICE_MEMBER void load(int set) {
    const auto tile = next();
#pragma unroll
    for (int j = 0; j < kParts; ++j) load_part(tile, set, j);
  }

  DEVICE_MEMBER void store_rows(int set, int buffer) const {
#pragma unroll
    for (int j = 0; j < kParts; ++j) store_row_part(set, buffer, j);
  }
  DEVICE_MEMBER void store_columns(int set, int buffer) const {
#pragma unroll
    for (int j = 0; j < kParts; ++j) store_column_part(set, buffer, j);
  }

  // Where there are two tiles of each kind: both of rows and the first of columns, and the loads of a third tile.
  DEVICE_MEMBER void store_two(bool vectors) {
    store_rows(0, 0);
    store_columns(0, 0);
    store_rows(1, 1);
    if (!vectors) {
      barrier();
      copy_rows(0, 2);
      copy_columns(0, 2);
      copy_rows(1, 1);
    }
    load(0);
  }

  // Element by element, of the tile that next() returned `back` calls ago.
  DEVICE_MEMBER void copy_rows(int buffer, int back) const {
    rows_.template each_element<HeadDim, kThreads>(
        [&](int row, int dim, element x) {
          *reinterpret_cast<element*>(row_tile(buffer) + row_place(M::slot(row), dim * 2)) = x;
        },
        back);
  }
  DEVICE_MEMBER void copy_columns(int buffer, int back) const {
    rows_.template each_element<HeadDim, kThreads>(
        [&](int row, int dim, element x) {
          *reinterpret_cast<element*>(column_tile(buffer) + column_place(M::slot(dim), row * 2)) = rows_.in_pass(x);
        },
        back);
  }

 private:
  DEVICE_MEMBER bool has_block() const { return HeadDim % kBlockDims == 0 || has_block_; }

  BufferRows<T, kTile> rows_;
  const bool has_block_;
  uint32_t from_[kParts];
  int to_row_[4], to_column_[4];
  u32x2 part_[2][kParts];
};

// What a lane of backward_fused keeps of K, as operand B of dQ = dS K: one dimension of the workgroup's keys, a tile of
// them for each wave. Waves that have the same 32 dimensions share the keys. Inf and NaN count as 0: rows that attend
// such a key have NaN in dS, and the others' dS, which is 0, times Inf would be NaN.
template <class T, int HeadDim, int Waves, class Part, int Parts>
DEVICE void load_columns(const char* rows, int64_t seq, int dims, const Keys& keys, char* lds, Part (&columns)[Parts]) {
  using M = Matrix<T>;
  constexpr int kDimTiles = HeadDim / kTile;
  const int thread = opaque_thread_id(), wave = uniform(thread / kWave);
  BothWays<T, HeadDim, Waves> tiles(rows, seq, dims, keys, lds, thread, 0, kAll);
  tiles.load(0);
  tiles.load(1);
#pragma unroll
  for (int pair = 0; pair < Waves; pair += 2) {
    tiles.store_columns(0, 0);
    tiles.store_columns(1, 1);
    if (!tiles.vectors()) {
      barrier();
      tiles.copy_columns(0, 2);
      tiles.copy_columns(1, 1);
    }
    if (pair + 2 < Waves) tiles.load(0), tiles.load(1);
    barrier();
    const bool own = kDimTiles == Waves || wave / kDimTiles * 2 == pair;
#pragma unroll
    for (int n = 0; n < 2 * kParts<T>; ++n) {
      const typename M::A fragment = finite<T>(tiles.column_fragment(n / kParts<T>, wave % kDimTiles, n % kParts<T>));
      const int to = ((kDimTiles == Waves ? pair * kParts<T> : 0) + n) * M::parts;
#pragma unroll
      for (int part = 0; part < M::parts; ++part) {
        if (own) columns[to + part] = M::part(fragment, part);
        in_accumulators(columns[to + part]);
      }
    }
    barrier();
  }
}

}  // namespace rapt::amd
