// The sizes of the forward kernel's tiles, and what a workgroup has in shared memory.
#pragma once

#include "kernels/hopper/attention/dropout.hpp"
#include "kernels/hopper/attention/score_options.hpp"
#include "kernels/hopper/tile/panels.hpp"
#include "kernels/hopper/tile/ring.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kGroups = RAPT_WAVES / 4 - 1;
inline constexpr bool kScores = RAPT_GENERAL;  // takes bias, mask, ALiBi, softcap and dropout
inline constexpr int kRows = kGroups * kGroupRows, kThreads = RAPT_WAVES * kWave;
inline constexpr int kKeyTiles = kKeys / 8, kDimTiles = kHeadDim / 8;
inline constexpr int kQueryStages = kHeadDim > (kScores ? 64 : 128) ? 1 : 2, kKeyStages = 2;
// The registers of a multiprocessor that each thread has, and what the groups have of the others'.
inline constexpr int kFeederRegisters = kGroups > 2 ? 32 : kScores ? 24 : 40;
inline constexpr int kRegisters = kGroups > 2 ? 160 : kScores ? 240 : 232;

using PanelsQ = Panels<kRows, kHeadDim>;
using PanelsK = Panels<kKeys, kHeadDim>;
using RingQ = Ring<kQueryStages>;
using PanelsOfScores = ScorePanels<kRows, kKeys>;
using RingK = Ring<kKeyStages>;
using Kept = KeptElements<kKeyTiles>;  // of dropout
using Scores = Accumulators<kKeyTiles>;
using Outputs = Accumulators<kDimTiles>;

// A tile of queries and its keys, in tiles: the feeding thread says it of each fill of Q.
struct Work {
  int first_row, head, batch;
  int first_tile, tiles;     // no tiles: there is nothing more to do
  int full_begin, full_end;  // the tiles that all rows attend whole
  float slope;               // of ALiBi
  Span q, k;                 // the sequence's rows

  DEVICE_MEMBER Block block(Problem& p) const {
    return {head, batch, q, k, first_row, p.top_left ? 0 : k.count - q.count};
  }
};

// Shared memory: addresses, and what is read as C++ reads it.
struct Shared {
  // A group may still store a tile when the fourth one after it is found.
  static constexpr uint32_t kWorks = 8;
  static constexpr int kWorkBytes = 48, kMostWarps = 16;
  static constexpr int kK = kQueryStages * PanelsQ::kBytes, kV = kK + kKeyStages * PanelsK::kBytes;
  static constexpr int kScoreTiles = kV + kKeyStages * PanelsK::kBytes;
  static constexpr int kBarriers = kScoreTiles + (kScores ? kKeyStages * PanelsOfScores::kBytes : 0);
  static constexpr int kWork = kBarriers + (RingQ::kBytes + (kScores ? 3 : 2) * RingK::kBytes + 31) / 32 * 32;
  static constexpr int kAgain = kWork + static_cast<int>(kWorks) * kWorkBytes, kDropout = kAgain + kMostWarps * 4;
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
  DEVICE_MEMBER Work& work(uint32_t n) const {
    return *reinterpret_cast<Work*>(memory + kWork + n % kWorks * kWorkBytes);
  }
  // Whether a row that this warp has stored must be computed again.
  DEVICE_MEMBER volatile int& again() const { return reinterpret_cast<int*>(memory + kAgain)[thread_id() / kWave]; }
  DEVICE_MEMBER DropoutSeed& dropout() const { return *reinterpret_cast<DropoutSeed*>(memory + kDropout); }
  // What dropout keeps of a thread's elements: softcap leaves no registers for it.
  DEVICE_MEMBER Kept& kept() const { return reinterpret_cast<Kept*>(memory + kKept)[thread_id() - kGroupThreads]; }
};
static_assert(RAPT_SHARED_BYTES == Shared::kBytes, "shared= of the row");

}  // namespace rapt::nvidia
