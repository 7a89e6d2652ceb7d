// Sizes of backward_hopper.cu's tiles, and what a workgroup has in shared memory.
#pragma once

#include "kernels/hopper/attention/backward_score_options.hpp"
#include "kernels/hopper/attention/dropout.hpp"
#include "kernels/hopper/attention/key_tiles.hpp"
#include "kernels/hopper/attention/padded_rows.hpp"
#include "kernels/hopper/attention/row_statistics.hpp"
#include "kernels/hopper/tile/fragments.hpp"
#include "kernels/hopper/tile/panels.hpp"
#include "kernels/hopper/tile/ring.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kQueries = RAPT_BLOCK_K, kGroups = 2;
inline constexpr int kKeys = kGroups * kGroupRows, kThreads = RAPT_WAVES * kWave;
inline constexpr int kQueryTiles = kQueries / 8, kDimTiles = kHeadDim / 8;
inline constexpr int kStages = 2;  // of queries
// Options leave no room for a tile's K beside the next one's at head_dim 128.
inline constexpr bool kCrowded = kScores && kHeadDim > 64;
// Four more warps find out what dropout keeps. At head_dim 128 there is no register for them.
inline constexpr bool kDropsApart = kScores && kHeadDim <= 64;
// The registers of a multiprocessor that each thread has, and what the groups have of the others'.
inline constexpr int kFeederRegisters = 40, kRegisters = kDropsApart ? 216 : 232;
inline constexpr bool kSplitsDims = kQueries == kGroupRows;                   // dQ: groups have the same queries
inline constexpr int kSumTiles = kQueries * kHeadDim / (2 * kGroupRows * 8);  // 8 columns each
static_assert(RAPT_WAVES / 4 == kGroups + (kDropsApart ? 2 : 1) && kQueries % kGroupRows == 0 && kSumTiles <= 8);

using PanelsK = Panels<kKeys, kHeadDim>;
using PanelsQ = Panels<kQueries, kHeadDim>;
using PanelsDs = Panels<kKeys, kQueries>;
using RingK = Ring<kCrowded ? 1 : 2>;
using RingScores = Ring<kCrowded ? 1 : 2>;
using RingV = Ring<1>;
using RingSums = Ring<1>;
using RingQ = Ring<kStages>;
using Scores = Accumulators<kQueryTiles>;
using Gradients = Accumulators<kDimTiles>;
using Kept = KeptElements<kQueryTiles>;  // of dropout
using RingKept = Ring<2>;
using Sums = Accumulators<kSumTiles>;  // of dQ: 64 rows
using StageOfOptions = StageOfScores<1, kGroups>;
inline constexpr int kSumBytes = kGroupRows * kSumTiles * 8 * static_cast<int>(sizeof(float));
inline constexpr int kKeptBytes = kGroups * kGroupThreads * static_cast<int>(sizeof(Kept));
inline constexpr int kStatisticsBytes = kQueries * static_cast<int>(sizeof(rapt_abi_row_statistics));

// The first of a step's queries, the number of their head among all sequences', and ALiBi's slope.
struct StepOfQ {
  int first_row, head;
  float slope;
};

// Shared memory: addresses, and what is read as C++ reads it.
struct Shared {
  // A group may store a tile while K of the second one after it arrives.
  static constexpr int kTiles = 4, kTileBytes = 64;
  static constexpr int kV = (kCrowded ? 1 : 2) * PanelsK::kBytes, kQ = kV + PanelsK::kBytes,
                       kDout = kQ + kStages * PanelsQ::kBytes;
  static constexpr int kDs = kDout + kStages * PanelsQ::kBytes, kSums = kDs + kStages * PanelsDs::kBytes;
  static constexpr int kScoreTiles = kSums + kGroups * kSumBytes;
  static constexpr int kStatistics = kScoreTiles + (kScores ? (kCrowded ? 1 : 2) * StageOfOptions::kBytes : 0);
  static constexpr int kSteps = kStatistics + kStages * kStatisticsBytes, kBarriers = kSteps + (kScores ? 32 : 0);
  static constexpr int kTile = kBarriers + RingK::kBytes + RingV::kBytes + 3 * RingQ::kBytes +
                               (kScores ? RingScores::kBytes : 0) + (kDropsApart ? RingKept::kBytes : 0) +
                               kGroups * RingSums::kBytes;
  static constexpr int kDropout = kTile + kTiles * kTileBytes, kKept = kDropout + (kScores ? 16 : 0);
  static constexpr int kBytes = kKept + (kDropsApart ? 2 * kKeptBytes : 0);
  char* memory;
  uint32_t address;

  DEVICE_MEMBER PanelsK k(uint32_t n) const { return {address + RingK::stage(n) * PanelsK::kBytes}; }
  DEVICE_MEMBER PanelsK v() const { return {address + kV}; }
  DEVICE_MEMBER PanelsQ q(uint32_t stage) const { return {address + kQ + stage * PanelsQ::kBytes}; }
  DEVICE_MEMBER PanelsQ dout(uint32_t stage) const { return {address + kDout + stage * PanelsQ::kBytes}; }
  DEVICE_MEMBER PanelsDs ds(uint32_t stage) const { return {address + kDs + stage * PanelsDs::kBytes}; }
  DEVICE_MEMBER uint32_t sums(int group) const { return address + kSums + static_cast<uint32_t>(group * kSumBytes); }
  DEVICE_MEMBER const char* statistics(uint32_t stage) const { return memory + kStatistics + stage * kStatisticsBytes; }
  DEVICE_MEMBER StepOfQ& step(uint32_t n) const { return reinterpret_cast<StepOfQ*>(memory + kSteps)[RingQ::stage(n)]; }
  DEVICE_MEMBER KeyTile& tile(uint32_t n) const {
    return *reinterpret_cast<KeyTile*>(memory + kTile + n % kTiles * kTileBytes);
  }
  DEVICE_MEMBER DropoutSeed& dropout() const { return *reinterpret_cast<DropoutSeed*>(memory + kDropout); }
  // K and the tile; V; Q and statistics; dO; dS; dQ of a group.
  DEVICE_MEMBER RingK k_ring() const { return {address + kBarriers}; }
  DEVICE_MEMBER RingV v_ring() const { return {address + kBarriers + RingK::kBytes}; }
  DEVICE_MEMBER RingQ q_ring() const { return {v_ring().barriers + RingV::kBytes}; }
  DEVICE_MEMBER RingQ dout_ring() const { return {q_ring().barriers + RingQ::kBytes}; }
  DEVICE_MEMBER RingQ ds_ring() const { return {dout_ring().barriers + RingQ::kBytes}; }
  DEVICE_MEMBER RingSums sums_ring(int group) const {
    return {ds_ring().barriers + RingQ::kBytes + static_cast<uint32_t>(group) * RingSums::kBytes};
  }

  // A stage of options on scores.
  DEVICE_MEMBER RingScores score_ring() const { return {sums_ring(kGroups).barriers}; }
  DEVICE_MEMBER StageOfOptions scores(uint32_t n) const {
    return {address + kScoreTiles + RingScores::stage(n) * StageOfOptions::kBytes};
  }

  // What dropout keeps, of a step.
  DEVICE_MEMBER RingKept kept_ring() const { return {score_ring().barriers + RingScores::kBytes}; }
  DEVICE_MEMBER Kept& kept(uint32_t n, int thread) const {
    return reinterpret_cast<Kept*>(memory + kKept + RingKept::stage(n) * kKeptBytes)[thread];
  }

  DEVICE_MEMBER void init(bool drops_apart) const {
    // Readers: groups, the threads that add their dQ, and dropout's warps.
    k_ring().init(2 * kGroups + (drops_apart ? 4 : 0));
    v_ring().init(kGroups);
    q_ring().init(kGroups, 2);
    dout_ring().init(kGroups);
    ds_ring().init(kGroups, kGroups * 4);
    for (int group = 0; group < kGroups; ++group) sums_ring(group).init(1, kGroupThreads);
    if constexpr (kScores) score_ring().init(4 * kGroups);  // each warp gives back
    if constexpr (kDropsApart) kept_ring().init(4 * kGroups, 4);
  }
};
static_assert(RAPT_SHARED_BYTES == Shared::kBytes, "shared= of the row");

using AllArgs = const rapt_hopper_backward_scores_args;
using Args = const rapt_hopper_backward_args;
using Options = const rapt_hopper_scores;

}  // namespace rapt::nvidia
