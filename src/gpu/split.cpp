// Cuts the keys of a split kernel into splits, and launches it and the kernel that merges them.
#include <algorithm>

#include "gpu/arguments.hpp"
#include "gpu/gpu.hpp"
#include "gpu/lengths.hpp"
#include "gpu/workspace.hpp"

namespace rapt::gpu {

namespace {

// A split of fewer rows would write more than a sixteenth of what it reads, for 16 rows of q; with more of these tiles,
// which find each other's keys in the cache, more than a quarter of what memory reads.
constexpr int64_t kLeastRows = 256, kLeastRowsOfTile = 64;

// How many splits a sequence gets, which has `per_split` workgroups for each. NVIDIA: one workgroup has enough copies
// on their way for its multiprocessor, and more would be more results to merge.
//
// AMD: up to two for each unit, so that one loads while another merges its waves' results. The units that have most
// decide when all are done; on RDNA, whose waves have 32 lanes, two units run a workgroup together. Above kManyUnits a
// unit's share of the bandwidth is so small that one does.
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

// Rows that all waves of a workgroup read in turn: NVIDIA's have the same tiles of a split whoever computes the others.
int64_t rows_of_turn(const Variant& v, const Device& device) {
  return device.id.type == RAPT_CUDA ? int64_t{v.block_k} * v.waves : v.block_k;
}

// Whether workgroups have all splits of their rows: they need no merging kernel, and must be enough to keep the memory
// busy, also at the end. Not where lengths differ, since few workgroups might have a long sequence.
bool folds(const Problem& problem, const Variant& v, const KernelRequirements& needed, const Device& device) {
  if (device.id.type != RAPT_CUDA || v.head_dim * dtype_bytes(v.dtype) > RAPT_FOLDED_ROW_BYTES) return false;
  const bool packed = problem.device_lengths || !problem.varlen.empty();
  if (packed || problem.has_leftpad || (problem.has_cache && !problem.whole_cache)) return false;
  const int64_t enough = int64_t{device.compute_units} * 3 / 4;
  const int64_t at_once = int64_t{device.compute_units} * std::max(v.nvidia.occupancy * 4 / v.waves, 1);
  const auto all = static_cast<int64_t>(workgroups(v, needed));
  const int64_t last = all % at_once;  // an idle tenth is less than what partial results cost
  return last == 0 || last + all / 10 >= enough;
}

int64_t partial_rows(const Problem& problem) { return problem.batch * problem.heads_q * problem.seqlen_q; }

}  // namespace

void set_splits(const Problem& problem, const Variant& variant, const KernelRequirements& needed, const Device& device,
                Plan& plan) {
  const int64_t of_head = tiles(variant, needed), per_split = std::max<int64_t>(needed.heads * of_head, 1);
  const int64_t wanted = splits_wanted(per_split, variant, device), turn = rows_of_turn(variant, device);
  const int64_t rows = std::max<int64_t>(problem.seqlen_k, 1);
  const int64_t most =
      std::max<int64_t>(static_cast<int64_t>(0x1p31 / std::max(workgroups(variant, needed), 1.0) / variant.threads), 1);
  const int64_t least = std::max(kLeastRows, kLeastRowsOfTile * of_head);
  const int64_t of_split = std::max({(rows + wanted - 1) / wanted, least, (rows + most - 1) / most});
  plan.split_rows = static_cast<int32_t>((of_split + turn - 1) / turn * turn);
  plan.splits = static_cast<int32_t>((rows + plan.split_rows - 1) / plan.split_rows);
  if (folds(problem, variant, needed, device)) plan.splits = 1;
}

int64_t partial_dims(const Problem& problem) { return (problem.head_dim_v + 3) / 4 * 4; }

size_t partial_bytes(const Problem& problem, int32_t splits) {
  if (splits == 1) return 0;
  const int64_t of_row = partial_dims(problem) * int64_t{sizeof(float)} + int64_t{sizeof(rapt_abi_partial)};
  return static_cast<size_t>(partial_rows(problem) * splits * of_row);
}

void split(ForwardCall& call, const Plan& plan, const Launch& launch) {
  Modules& modules = *plan.modules;
  const Device& device = modules.device();
  if (plan.stages[0].workgroups == 0) return;
  const DeviceScope scope(*device.driver, device.id.id);
  check_pointers(call, device);
  if (call.check_lengths) check_device_lengths(call, device, launch.stream);
  std::array<Function, Plan::kMostStages> functions = {};
  for (size_t i = 0; i < plan.stage_count; ++i) functions[i] = modules.function(plan.stages[i].variant, launch.stream);
  Workspace workspace(plan.workspace, launch, device);
  copy_lengths(call, workspace.data(), device, launch.stream);
  rapt_split_args arguments = split_args(call, plan, device);
  if (plan.splits > 1) {
    char* const partial = workspace.data() + lengths_bytes(call);
    const int64_t out_numbers = partial_rows(call) * plan.splits * partial_dims(call);
    arguments.partial.out = reinterpret_cast<float*>(partial);
    arguments.partial.softmax = reinterpret_cast<rapt_abi_partial*>(arguments.partial.out + out_numbers);
  }
  for (size_t i = 0; i < plan.stage_count; ++i) launch_stage(plan, i, functions[i], &arguments, launch.stream);
  workspace.free();
}

}  // namespace rapt::gpu
