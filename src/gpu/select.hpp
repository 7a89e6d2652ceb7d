// Which variant runs a problem: its requirements, the variants that meet them, and the tuning row that chooses.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "gpu/archive.hpp"
#include "gpu/tuning.hpp"
#include "problem/problem.hpp"

namespace rapt::gpu {

// In which order a kernel of the backward pass adds up dP and delta: Rapt's own the whole head dimension or, where
// waves share it, slice by slice.
enum class Sums : uint8_t { any, whole, in_slices, triton };

// What a stage of a problem requires of its kernel: everything that selection reads, and the key of cached plans.
struct KernelRequirements {
  Stage stage = Stage::forward;
  DType dtype = DType::fp16;
  MaskKind mask = MaskKind::none;
  bool general = false;  // an option that plain kernels lack
  int64_t head_dim = 0;  // the larger of head_dim and head_dim_v
  // What its workgroups have block_q rows each of, and block_k columns where `columns` is not 0: q, k, dbias or dsink.
  // In the split stage, a row is one of q, of all heads that share a head of k.
  int64_t batch = 0, heads = 0, rows = 0, columns = 0;
  int64_t seqlen_k = 0, query_rows = 0;  // of the problem; query_rows: of all heads and sequences
  bool cache = false;                    // K and V are a cache, which forward kernels do not read
  // What Triton's kernels ask about. One head dim: head_dim and head_dim_v are equal.
  bool one_head_dim = true, sink = false, strides_fit = true, softcap_fits = true;
  bool only_scores = false, bias_gradient = false;  // only_scores: kernels with features scores have all options
  int64_t alignment = 16;
  Sums sums = Sums::any;

  bool operator==(const KernelRequirements&) const = default;
};
struct KernelRequirementsHash {
  size_t operator()(const KernelRequirements& d) const;
};
KernelRequirements requirements_of(const Problem& problem, Stage stage);
// The same, for backward_dq and backward_dkv with kernels of this order: with two orders, rows that attend one key
// would have gradients other than 0.
KernelRequirements requirements_of(const Problem& problem, Stage stage, Sums of_gradients);
Sums sums_of(const Variant& v);  // any: it is neither backward_dq nor backward_dkv

// softmax_scale * log2(e), rounded once, as kernels take it.
float scale_log2(const Problem& problem);

// Which kernels compute the forward pass: those of Stage::forward, or those for few queries and for KV caches.
enum class ForwardKernels : uint8_t { forward, split };

// The kernels that compute dq, dk and dv: backward_dq and backward_dkv, which add in a fixed order; or backward_fused,
// which computes the scores once instead of twice, and adds to dq in any order.
enum class BackwardKernels : uint8_t { apart, fused };
// Whether the problem asks for gradients that backward_fused can compute together.
bool wants_fused(const Problem& problem);

// The stages of a pass that compute what the problem asks for, in the order in which they run.
class Stages {
 public:
  explicit Stages(ForwardKernels kernels);
  Stages(const Problem& problem, BackwardKernels kernels);
  const Stage* begin() const { return stages_.data(); }
  const Stage* end() const { return stages_.data() + count_; }

 private:
  void add(Stage stage) { stages_[count_++] = stage; }
  std::array<Stage, 5> stages_ = {};
  size_t count_ = 0;
};

// Why no kernel of any archive takes the problem; "" if one may.
std::string unsupported(const Problem& problem);

bool computes(const Variant& variant, Stage stage);
const char* stage_of(const Variant& variant);  // its name; "" for an operation that this library does not know

// Why this library can pass it no arguments, as no selection does; "" if it can.
std::string of_another_version(const Variant& variant);

// Why this variant cannot run it; "" if it can.
std::string refusal(const Variant& variant, const KernelRequirements& needed);

// The first row whose conditions hold, which names a kernel that can run the problem, and that is not stale.
struct Selected {
  const TuningRow* row;
  std::optional<size_t> index;  // in the archive's variants; empty if the row leaves it to the kernels of another stage
};
// Empty if no variant can run the problem.
std::optional<Selected> select(std::span<const Variant> variants, const Tuning& tuning,
                               const KernelRequirements& needed, int32_t compute_units);

// The stale rows before `fired` that would have matched: "tuning/gfx942 line 3 was passed over: ...".
std::string passed_over(const Tuning& tuning, const TuningRow& fired, const KernelRequirements& needed,
                        int32_t compute_units);

// The number of workgroups that a variant needs, and of those of one head that differ in their rows; a sequence's last
// tile may be partial.
double workgroups(const Variant& variant, const KernelRequirements& needed);
int64_t tiles(const Variant& variant, const KernelRequirements& needed);

}  // namespace rapt::gpu
