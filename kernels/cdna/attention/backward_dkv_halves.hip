// Like backward_dkv_pipelined.hip, where LDS has room for one tile of each kind (backward_halves.hpp), and dK and dV do
// not fit in registers together. Two neighbouring workgroups have the same RAPT_WAVES * kTile keys: one computes dK,
// with three products, and the other dV, with two. S is computed twice. Each runs again if its result is not finite.
#include "kernels/cdna/attention/backward_dkv_core.hpp"
#include "kernels/cdna/attention/backward_halves.hpp"

namespace rapt::amd {

static_assert(RAPT_HEAD_SLICES == 2);

// dK or dV.
template <bool OfK>
struct KeyHalves : Halves<KeySchedule, OfK, WaveState<RowStatistics<T>, 1, 1>, StatisticsRows<T>> {
  static constexpr bool kHasDk = OfK, kHasDv = !OfK;
  static constexpr int kDv = 0;

  DEVICE_MEMBER KeyHalves(const Stepped& over, typename KeyHalves::State& state)
      : KeyHalves::Halves({}, over, state, {over.statistics(), over.range, over.thread % kWave}) {}

  // The keys of this workgroup and its neighbour.
  DEVICE Block block_of_keys(BackwardArguments& a) {
    Block block = key_block_of(a.problem, a.tiles, kKeys / 2);
    block.first_row = block.first_row / kKeys * kKeys;
    return block;
  }
};

template <bool OfK>
DEVICE bool backward(BackwardArguments& a, char* lds, int run) {
  if ((OfK ? a.dk.data : a.dv.data) == nullptr) return false;
  return backward_dkv<KeyHalves<OfK>>(a, lds, run);
}

}  // namespace rapt::amd

KERNEL(RAPT_WAVES* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(256))) static char lds[KeyHalves<true>::kLdsBytes];
  BackwardArguments& a = arguments<BackwardArguments>();
  const Block block = key_block_of(a.problem, a.tiles, kKeys / 2);
  if (block.first_row >= block.k.count) return;
  const bool first = block.first_row % kKeys == 0, alone = first && block.first_row + kKeys / 2 >= block.k.count;
  if (first) run_until_finite<T, backward<true>>(lds);
  if ((!first || alone) && run_until_finite<T, backward<false>>(lds))
    add_infinite_rows<T, false, kKeys, kWaves>(opaque_copy(a), KeyHalves<false>::block_of_keys(opaque_copy(a)));
}
