// The choice of kernels that run a problem on a GPU. Only choose() decides; launch() runs the chosen pass and explain()
// prints it.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/tuning.hpp"

namespace rapt::gpu {

struct PassKernel {
  const Variant* variant = nullptr;
  int32_t tiles = 0;  // of the rows that workgroups share
  uint32_t workgroups = 0;
  uint32_t grid_rows = 1;  // the grid's second size; `workgroups` counts all rows
  bool overlaps = false;   // starts before the stream's last kernel has ended

  Stage stage() const { return variant->known->stage; }
};

// Where kernels of a pass keep what later ones read: bytes from the beginning of the workspace, which has cu_seqlens
// first if they are copied from host memory.
struct WorkspaceLayout {
  size_t partial_out = 0, partial_softmax = 0;  // of splits
  size_t dq_sum = 0, statistics = 0;            // of the backward pass
  size_t counters = 0, added = 0;               // of Hopper's
  size_t bytes = 0;                             // of the whole workspace
};

// The kernels that run one direction of a problem, in order.
struct Pass {
  PassKind kind = PassKind::forward;
  const TuningRow* row = nullptr;  // the row that chose it
  const Variant* lead = nullptr;   // its leading kernel
  std::vector<PassKernel> kernels;
  int32_t splits = 1, split_rows = 0;  // of split: parts of the keys, and rows of k in a part
  int32_t splits_at_once = 1;          // of split: parts that a workgroup has, one after another
  int32_t dq_sum_dims = 0;             // of fused: dims of a row of dq's sums
  bool in_order = false;               // of fused: adds to dq in a fixed order
  WorkspaceLayout workspace;

  bool has(const Variant& v) const { return std::ranges::find(kernels, &v, &PassKernel::variant) != kernels.end(); }
};

// The kernels to choose from, and the table that decides.
struct Shelf {
  std::span<const Variant> kernels;
  const Tuning& tuning;
  const Device& device;
  std::string_view archive;  // its path, for messages
};

struct Choice {
  Pass pass;
  std::string refusal;               // why no pass runs the problem; "" if `pass` does
  std::vector<std::string> reasons;  // if asked for: why each kernel of the shelf is not in the pass; "" if it is
};

Choice choose(const Shelf& shelf, const Needs& needs, bool with_reasons = false);

// For Needs::named: the kernel with this name; null for "". Throws Error if the shelf has no such kernel.
const Variant* find_named(const Shelf& shelf, std::string_view name);

// Why the kernel cannot compute its stage of the problem; "" if it can.
std::string refusal(const Variant& v, const Needs& n);

// Cuts the rows of k of a split pass into parts. A workgroup computes a partial result over one part. The parts depend
// on the cache's capacity and the device, not on the batch: a sequence has the same result, to the last bit, alone and
// in any batch.
void cut_keys(Pass& pass, const Needs& n, const Device& device);

// How many numbers a row's partial result has.
constexpr int64_t partial_dims(int64_t head_dim_v) { return (head_dim_v + 3) / 4 * 4; }

}  // namespace rapt::gpu
