// The sizes of the forward kernel's tiles, and what a workgroup has in shared memory.
#pragma once

#include "kernels/hopper/attention/dropout.hpp"
#include "kernels/hopper/attention/score_options.hpp"
#include "kernels/hopper/tile/panels.hpp"
#include "kernels/hopper/tile/ring.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kGroups = RAPT_WAVES / 4 - 1;
inline constexpr bool kScores = RAPT_GENERAL;                         // takes bias, mask, ALiBi, softcap and dropout
inline constexpr int kResident = RAPT_WAVES_PER_EU * 4 / RAPT_WAVES;  // workgroups of a multiprocessor
inline constexpr int kRows = kGroups * kGroupRows, kThreads = RAPT_WAVES * kWave;
// The registers of a multiprocessor that each thread has, and what the groups have of the others'.
inline constexpr bool kCrowded = kScores && RAPT_HEAD_DIM > 64;
inline constexpr bool kLean = kResident > 2 && RAPT_BLOCK_K % 64 != 0;
inline constexpr int kFeederRegisters = kGroups > 2 ? 32 : kCrowded || kLean ? 24 : kResident > 1 ? 32 : 40;
inline constexpr int kRegisters = kGroups > 2      ? 160
                                  : kGroups > 1    ? (kCrowded ? 240 : 232)
                                  : kResident == 2 ? 224
                                  : kLean          ? 136
                                                   : 128;
inline constexpr int kAgainDims = kRegisters < 160 ? 16 : 32;  // columns of rows that are computed again
inline constexpr bool kSlices = !kScores && kGroups > 2;       // groups may have slices of their own (slices.hpp)
inline constexpr int kWorks = 8, kWorkBytes = 80, kMostWarps = 20;
using RingWork = Ring<kWorks>;

// A tile of queries and its keys, in tiles.
struct Work {
  int first_row, head, batch;
  int head_k, batch_k;       // batch_k: of K's map
  int first_tile, tiles;     // no tiles: there is nothing more to do
  int full_begin, full_end;  // the tiles that all rows attend whole
  Span q, k;                 // the sequence's rows
  char* out;                 // the sequence's row 0
  float* lse;                // the same, or null
  union {
    float slope;      // of ALiBi
    uint32_t copied;  // of a slice: tiles of K before its head's first one
  };

  DEVICE_MEMBER Block block(Problem& p) const {
    return {head, batch, q, k, first_row, p.top_left ? 0 : k.count - q.count};
  }
};

// The sizes of what a kernel has for head dims up to `HeadDim`, with `Keys` keys a tile.
template <int HeadDim, int Keys>
struct ForwardTile {
  static constexpr int kHeadDim = HeadDim, kKeys = Keys, kKeyTiles = kKeys / 8, kDimTiles = kHeadDim / 8;
  static constexpr bool kCaches = !kScores && kKeys % 64 == 0;  // takes KV caches
  static constexpr int kWorkRows = kRows, kReaders = 1;         // readers of the ring of Work
  using PanelsQ = Panels<kRows, kHeadDim>;
  using PanelsK = Panels<kKeys, kHeadDim>;
  static constexpr int kQueryStages = kHeadDim > (kScores ? 64 : 128) ? 1 : 2;
  // Four tiles of K and of V where the row's shared memory has room for them.
  static constexpr int kBytesOfFour = kQueryStages * PanelsQ::kBytes + 4 * 2 * PanelsK::kBytes;
  static constexpr int kKeyStages = !kScores && RAPT_SHARED_BYTES > kBytesOfFour ? 4 : 2;
  using RingQ = Ring<kQueryStages>;
  using PanelsOfScores = ScorePanels<kRows, kKeys>;
  using RingK = Ring<kKeyStages>;
  using Kept = KeptElements<kKeyTiles>;  // of dropout
  using Scores = Accumulators<kKeyTiles>;
  using Outputs = Accumulators<kDimTiles>;
  struct Shared;
};
// A kernel of head dims up to 256 has a tile for 192 too, with more keys: fewer products for the same result.
using Widest = ForwardTile<RAPT_HEAD_DIM, RAPT_BLOCK_K>;
inline constexpr bool kHasNarrow = !kScores && RAPT_HEAD_DIM == 256;
using Narrow = ForwardTile<kHasNarrow ? RAPT_NARROW_DIM : RAPT_HEAD_DIM, kHasNarrow ? RAPT_NARROW_KEYS : RAPT_BLOCK_K>;

// Shared memory: addresses, and what is read as C++ reads it.
template <int HeadDim, int Keys>
struct ForwardTile<HeadDim, Keys>::Shared {
  static constexpr int kK = kQueryStages * PanelsQ::kBytes, kV = kK + kKeyStages * PanelsK::kBytes;
  static constexpr int kScoreTiles = kV + kKeyStages * PanelsK::kBytes;
  static constexpr int kBarriers = kScoreTiles + (kScores ? kKeyStages * PanelsOfScores::kBytes : 0);
  static constexpr int kWork =
      kBarriers + (RingWork::kBytes + RingQ::kBytes + (kScores ? 3 : 2) * RingK::kBytes + 31) / 32 * 32;
  static constexpr int kAgain = kWork + kWorks * kWorkBytes, kDropout = kAgain + kMostWarps * 4;
  static constexpr int kKept = kDropout + 16;
  static constexpr int kKeptBytes = kGroups * kGroupThreads * static_cast<int>(sizeof(Kept));
  static constexpr int kBytes = kScores ? kKept + kKeptBytes : kDropout;
  char* memory;
  uint32_t address;

  DEVICE_MEMBER PanelsQ q(uint32_t stage) const { return {address + stage * PanelsQ::kBytes}; }
  DEVICE_MEMBER PanelsK k(uint32_t stage) const { return {address + kK + stage * PanelsK::kBytes}; }
  DEVICE_MEMBER PanelsK v(uint32_t stage) const { return {address + kV + stage * PanelsK::kBytes}; }
  DEVICE_MEMBER PanelsOfScores scores(uint32_t stage) const {
    return {address + kScoreTiles + stage * PanelsOfScores::kBytes};
  }
  DEVICE_MEMBER RingQ q_ring() const { return {address + kBarriers}; }
  DEVICE_MEMBER RingK k_ring() const { return {address + kBarriers + RingQ::kBytes}; }
  DEVICE_MEMBER RingK v_ring() const { return {address + kBarriers + RingQ::kBytes + RingK::kBytes}; }
  DEVICE_MEMBER RingK score_ring() const { return {address + kBarriers + RingQ::kBytes + 2 * RingK::kBytes}; }
  DEVICE_MEMBER RingWork work_ring() const {
    return {address + kBarriers + RingQ::kBytes + (kScores ? 3 : 2) * RingK::kBytes};
  }
  DEVICE_MEMBER RingWork found_ring() const { return work_ring(); }
  DEVICE_MEMBER Work& work(uint32_t n) const {
    return *reinterpret_cast<Work*>(memory + kWork + RingWork::stage(n) * kWorkBytes);
  }
  // Whether a row that this warp has stored must be computed again.
  DEVICE_MEMBER volatile int& again() const { return reinterpret_cast<int*>(memory + kAgain)[thread_id() / kWave]; }
  DEVICE_MEMBER DropoutSeed& dropout() const { return *reinterpret_cast<DropoutSeed*>(memory + kDropout); }
  // What dropout keeps of a thread's elements: softcap leaves no registers for it.
  DEVICE_MEMBER Kept& kept() const { return reinterpret_cast<Kept*>(memory + kKept)[thread_id() - kGroupThreads]; }
};
static_assert(kSlices || RAPT_SHARED_BYTES == Widest::Shared::kBytes, "shared= of the row");
static_assert(sizeof(Work) <= kWorkBytes);
static_assert(RAPT_SHARED_BYTES >= Narrow::Shared::kBytes);

}  // namespace rapt::nvidia
