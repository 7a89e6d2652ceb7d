// The engine's interface to a GPU's kernels. Throws Error: RAPT_DEVICE_ERROR if there is no driver or one of its calls
// fails, RAPT_UNSUPPORTED if the device has no archive.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/modules.hpp"
#include "problem/call.hpp"
#include "rapt/candidate.hpp"

namespace rapt::gpu {

struct PlannedKernel {
  Stage stage = Stage::forward;
  size_t variant = 0;  // index in the device's archive
  int32_t tiles = 0;   // of the rows that workgroups share
  uint32_t workgroups = 0;
};

// The kernels that run a problem, in order, the modules that hold their code, and the device memory that they need.
struct Plan {
  static constexpr size_t kMostStages = 5;
  Modules* modules = nullptr;
  std::array<PlannedKernel, kMostStages> stages = {};
  size_t stage_count = 0;
  size_t workspace = 0;  // bytes
  // Of the split stage: the keys' rows are cut into so many splits of split_rows each.
  int32_t splits = 1, split_rows = 0;
  Sums of_gradients = Sums::any;  // of backward_dq and backward_dkv
  int32_t dq_sum_dims = 0;        // of a row of backward_fused's sums; 0: the plan has no such stage

  const Variant& variant(size_t stage) const { return modules->variants()[stages[stage].variant]; }
};

// Fills `plan` and returns "", or returns why no variant takes the problem. `variant` is a variant's name, or "" for
// the tuning table's choice, which is cached.
std::string make_plan(const Problem& problem, rapt_op op, rapt_device device, std::string_view variant, Plan& plan);

// What make_plan() was asked and what it answered, for explain().
struct Planned {
  const Problem& problem;
  rapt_op op;
  rapt_device device;
  std::string_view variant;
  const Plan& plan;
  std::string_view refusal;  // "" if it made the plan
};
// Every variant of the device's archive, and why the plan takes it or not. Their `backend` is empty.
std::vector<Candidate> explain(const Planned& planned);

// Loads the kernels that make_plan() chooses for the problem, or every variant of a device's archive.
void preload(const Problem& problem, rapt_op op, rapt_device device);
void preload(rapt_device device);

struct Launch {
  Stream stream = nullptr;
  char* workspace = nullptr;  // device memory
  size_t workspace_size = 0;
};
// The device memory between the kernels of a backward pass, and of a split stage with splits.
size_t statistics_bytes(const Problem& problem);
size_t dq_sum_bytes(const Problem& problem, int32_t dims);
size_t partial_bytes(const Problem& problem, int32_t splits);
int64_t partial_dims(const Problem& problem);  // numbers of a row's partial result

// Cuts the keys for a split kernel. From the cache's capacity and the device, and not from the batch: so a sequence
// has the same result, to the last bit, alone and in any batch.
void set_splits(const Problem& problem, const Variant& variant, const KernelRequirements& needed, const Device& device,
                Plan& plan);

// Launches one kernel of a plan. Throws Error if the driver refuses.
void launch_stage(const Plan& plan, size_t stage, Function function, const void* arguments, Stream stream);

// Sets `call` to the lengths' addresses that the kernel was launched with.
void forward(ForwardCall& call, const Plan& plan, const Launch& launch);
void split(ForwardCall& call, const Plan& plan, const Launch& launch);
void backward(BackwardCall call, const Plan& plan, const Launch& launch);

}  // namespace rapt::gpu
