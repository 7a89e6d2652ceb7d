// The choice of kernels that run a problem on a GPU. Only choose() decides; launch() runs the chosen pass and explain()
// prints it.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/tuning.hpp"

namespace rapt::gpu {

struct PassKernel {
  Stage stage = Stage::forward;
  size_t index = 0;   // in the device's archive
  int32_t tiles = 0;  // of the rows that workgroups share
  uint32_t workgroups = 0;
};

// Where kernels of a pass keep what later ones read: bytes from the beginning of the workspace, which has cu_seqlens
// first if they are copied from host memory.
struct WorkspaceLayout {
  size_t partial_out = 0, partial_softmax = 0;  // of splits
  size_t dq_sum = 0, statistics = 0;            // of the backward pass
  size_t counters = 0;                          // of Hopper's
  size_t bytes = 0;                             // of the whole workspace
};

// The kernels that run one direction of a problem, in order.
struct Pass {
  PassKind kind = PassKind::forward;
  const TuningRow* row = nullptr;  // the row that chose it
  size_t lead = 0;                 // its leading kernel, in the device's archive
  std::array<PassKernel, 5> kernels = {};
  size_t count = 0;
  int32_t splits = 1, split_rows = 0;  // of split: parts of the keys, and rows of k in a part
  int32_t dq_sum_dims = 0;             // of fused: dims of a row of dq's sums
  WorkspaceLayout workspace;

  std::span<const PassKernel> list() const { return {kernels.data(), count}; }
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
  std::string refusal;  // why no pass runs the problem; "" if `pass` does
};

// `named`: the kernel that must be in the pass; "" if the table decides. Throws Error if the shelf has no such kernel.
Choice choose(const Shelf& shelf, const Needs& needs, std::string_view named);

// The questions that choose() asks, for explain():

// The stages of a pass that compute what the problem asks for, in the order in which they run.
std::vector<Stage> stages_of(PassKind kind, const Needs& n);

// Why the pass cannot run the problem, whatever its kernels; "" if it can.
std::string refusal(PassKind kind, const Needs& n);

// Why the kernel cannot compute this stage of the problem, in a pass of this family; "" if it can.
std::string refusal(const Variant& v, Stage stage, Family family, const Needs& n);

// Why this library cannot pass the kernel its arguments, whatever the problem; "" if it can.
std::string of_another_version(const Variant& v);

}  // namespace rapt::gpu
