// How split-KV cuts the rows of k into parts.
#include <algorithm>

#include "gpu/choose.hpp"

namespace rapt::gpu {

namespace {

// The least rows of k in a split. With fewer, one tile of 16 rows of q would write more than a sixteenth of what it
// reads. Several tiles find each other's keys in the cache, and would write more than a quarter of what memory reads.
constexpr int64_t kLeastRows = 256, kLeastRowsOfTile = 64;

// The number of splits that keeps the device busy; a split has `per_split` workgroups.
//
// NVIDIA: one workgroup for each multiprocessor, which has enough copies in flight. More workgroups would leave more
// results to merge. AMD: up to two for each unit, so that one loads while another merges its waves' results; the units
// with the most workgroups decide when all are done. On RDNA, whose waves have 32 lanes, two units run a workgroup
// together. Above kManyUnits a unit's share of the bandwidth is so small that one workgroup is enough.
int64_t splits_wanted(int64_t per_split, const Variant& v, const Device& device) {
  constexpr int64_t kManyUnits = 200;
  const int64_t units = device.compute_units;
  if (device.id.type == RAPT_CUDA) return std::max<int64_t>(units / per_split, 1);
  const int64_t places = std::max<int64_t>(v.threads / v.waves == 32 ? units / 2 : units, 1);
  const auto of_one_place = [&](int64_t splits) { return (splits * per_split + places - 1) / places; };
  int64_t best = (2 * units + per_split - 1) / per_split;
  for (int64_t splits = best - 1; splits >= std::max<int64_t>(units / per_split, 1); --splits) {
    const int64_t time = of_one_place(splits) * best, of_best = of_one_place(best) * splits;
    if (time < of_best || (time == of_best && units > kManyUnits)) best = splits;
  }
  return best;
}

// True if a workgroup can fold its splits' results, and sequences have one length: else few workgroups would have the
// longest one.
bool may_fold(const Variant& v, const Needs& n, const Device& device) {
  const bool can = device.id.type == RAPT_CUDA && v.head_dim * dtype_bytes(v.dtype) <= RAPT_FOLDED_ROW_BYTES;
  return can && !n.lengths_differ;
}
int64_t at_once_on(const Variant& v, const Device& device) {  // workgroups
  return int64_t{device.compute_units} * std::max(v.nvidia.occupancy * 4 / v.waves, 1);
}

// True if each workgroup computes all splits of its rows, so that nothing is merged. That needs enough workgroups to
// keep the memory busy, also at the end, and sequences of one length.
bool folds(const Variant& v, const Needs& n, const Device& device, double workgroups) {
  if (!may_fold(v, n, device)) return false;
  const int64_t enough = int64_t{device.compute_units} * 3 / 4, at_once = at_once_on(v, device);
  const auto all = static_cast<int64_t>(workgroups);
  const int64_t last = all % at_once;  // an idle tenth costs less than partial results
  return last == 0 || last + all / 10 >= enough;
}

// How many neighbouring splits a workgroup has, a power of two. The least time is estimated: workgroups take turns, and
// the beginning and end of each take as long as some more keys. Only kernels of sm_90 take several; they wait.
int32_t splits_of_workgroup(const Variant& v, const Needs& n, const Device& device, const Grid& grid, int64_t splits,
                            int64_t split_rows) {
  constexpr int64_t kRowsOfTheEnds = 512;
  const auto tiles = static_cast<int64_t>(grid.workgroups);
  if (!v.waits || !may_fold(v, n, device) || n.appends) return 1;
  if (grid.tiles != 1 || tiles < 2 || tiles > UINT16_MAX) return 1;
  const auto time = [&](int64_t count) {
    const int64_t workgroups = tiles * ((splits + count - 1) / count), at_once = at_once_on(v, device);
    return (workgroups + at_once - 1) / at_once * (count * split_rows + kRowsOfTheEnds);
  };
  int32_t best = 1;
  for (int32_t count = 2; count < splits; count *= 2)
    if (time(count) < time(best)) best = count;
  return best;
}

}  // namespace

void cut_keys(Pass& pass, const Needs& n, const Device& device) {
  const Variant& v = *pass.lead;
  const Grid grid = grid_of(v, n);
  const int64_t per_split = std::max<int64_t>(n.heads_k * grid.tiles, 1);
  const int64_t wanted = splits_wanted(per_split, v, device);
  // Rows that all waves of a workgroup read in one turn. On NVIDIA, a wave's tiles of a split do not depend on other
  // workgroups.
  const int64_t turn = device.id.type == RAPT_CUDA ? int64_t{v.block_k} * v.waves : v.block_k;
  const int64_t rows = std::max<int64_t>(n.seqlen_k, 1);
  const int64_t most = std::max<int64_t>(static_cast<int64_t>(0x1p31 / std::max(grid.workgroups, 1.0) / v.threads), 1);
  const int64_t least = std::max(kLeastRows, kLeastRowsOfTile * grid.tiles);
  const int64_t of_split = std::max({(rows + wanted - 1) / wanted, least, (rows + most - 1) / most});
  const int64_t split_rows = (of_split + turn - 1) / turn * turn;
  const int64_t splits = folds(v, n, device, grid.workgroups) ? 1 : (rows + split_rows - 1) / split_rows;
  pass.splits = static_cast<int32_t>(splits);
  pass.split_rows = static_cast<int32_t>(split_rows);
  pass.splits_at_once = splits_of_workgroup(v, n, device, grid, splits, split_rows);
}

}  // namespace rapt::gpu
