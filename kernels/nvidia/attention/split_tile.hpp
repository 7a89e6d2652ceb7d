// The tiles of a split kernel in shared memory: a wave's ring of buffers for K and V, and q. Macros make a variant, as
// split.cu says.
#pragma once

#include <type_traits>

#include "kernels/common/append.hpp"
#include "kernels/nvidia/tile/merge.hpp"
#include "kernels/nvidia/tile/padded_tile.hpp"
#include "kernels/nvidia/tile/swizzled_tile.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr int kKeyTiles = kKeys / 8, kDimTiles = kHeadDim / 8, kKeysOfWaves = kKeys * kWaves;
inline constexpr bool kGeneral = RAPT_GENERAL;
static_assert(kKeys == kRowGroup && kTile == kQueryRows);
using Tile =
    std::conditional_t<sizeof(T::element) == 2, SwizzledTile<T, kHeadDim, kKeys>, PaddedTile<T, kHeadDim, kKeys>>;
using Waves = Merging<T, kGeneral, kHeadDim, kWaves>;

// True if a workgroup can have all splits of its rows, whose results it then folds in registers.
inline constexpr bool kFolds = kHeadDim * Tile::kSize <= RAPT_FOLDED_ROW_BYTES;

// Shared memory holds the rings, q if it does not stay in registers, and the space that merging needs while copies
// arrive in the rings.
inline constexpr int kMergingBytes = kFolds ? static_cast<int>(sizeof(Waves)) : 0;
// One buffer is multiplied while copies arrive in the rest.
inline constexpr int kBuffers = (RAPT_SHARED_BYTES - kMergingBytes) / (kWaves * Tile::kBytes);
static_assert(kBuffers % 2 == 1 && kBuffers >= 3, "K is copied into the place of V, and V into the place of K");
inline constexpr int kRingBytes = kBuffers * Tile::kBytes;
inline constexpr int kQBytes = RAPT_SHARED_BYTES - kMergingBytes - kWaves * kRingBytes;
inline constexpr bool kKeepQ = kQBytes == 0;  // in registers
static_assert(kKeepQ || kQBytes == Tile::kBytes, "shared= of the row");
// True if P is two numbers of 16 bits: in bf16 at head_dim 256 one misses the rule. If q is kept, no registers are left
// for two.
inline constexpr bool kTwoParts = std::is_same_v<T, bf16> && kHeadDim == 256 && !kKeepQ;
static_assert(Waves::kExchangeBytes <= Tile::kBytes && (kFolds || sizeof(Waves) <= Tile::kBytes));
inline constexpr int kAhead = (kBuffers - 1) / 2 * kKeysOfWaves;  // keys

// A wave's buffers: K of its first tile, V of it, K of the next, and so on.
struct Ring {
  char* shared;
  int first;  // the buffer that is multiplied

  DEVICE_MEMBER int place(int i) const { return first + i < kBuffers ? first + i : first + i - kBuffers; }
  DEVICE_MEMBER char* at(int i) const { return shared + place(i) * Tile::kBytes; }
  // Frees the first buffer, which all lanes have read.
  DEVICE_MEMBER void advance() {
    wave_barrier();
    first = first + 1 < kBuffers ? first + 1 : 0;
  }
};

// Starts to copy the tile of rows from `first` on, as one group.
DEVICE void load(const CacheRows& rows, int dims, const Keys& keys, int first, char* buffer, int lane) {
  if (first < keys.end)
    Tile{buffer, lane}.load(rows.group(first / kRowGroup), rows.seq, dims, keys.begin, keys.end, first);
  end_group();
}

DEVICE void wait_for_first() {
  wait_for_groups<kBuffers - 1>();
  wave_barrier();
}

// Starts to copy the tile's rows of q to `buffer`, as one group. A barrier must follow.
DEVICE void load_q(SplitArguments& a, const SplitBlock& b, char* buffer, int thread) {
  const Tile tile{buffer, thread % kWave};
  const int dims = a.problem.head_dim;
  const char* const data = static_cast<const char*>(a.q.data);
  const bool by_chunks =
      a.new_keys.rotary_dim == 0 && dims * Tile::kSize % 16 == 0 && aligned(data, a.q.batch | a.q.seq | a.q.head);
  if (__builtin_expect(!by_chunks, false)) {
    stage_q<T, kHeadDim, kThreads>(a, b, thread, [&](int row, int x) { return tile.at(row, x); });
  } else {
    constexpr int chunk = 16 / Tile::kSize, chunks = kHeadDim / chunk;
    constexpr int count = kTile * chunks;
#pragma unroll
    for (int first = 0; first < count; first += kThreads) {
      const int n = first + thread, dim = n % chunks * chunk;
      if (count % kThreads != 0 && n >= count) break;
      const SplitRow row = split_row(a, b, n / chunks);
      const bool there = row.query < b.q.count && dim < dims;
      const char* const from = first_row_of(a.q, b.batch, b.q, row.head) + row.query * a.q.seq + dim * Tile::kSize;
      copy_async(shared_address(tile.at(n / chunks, dim)), there ? from : data, there);
    }
  }
  end_group();
}

}  // namespace rapt::nvidia
