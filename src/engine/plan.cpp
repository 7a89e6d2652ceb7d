#include "engine/plan.hpp"

#include <cmath>

#include "problem/error.hpp"
#include "problem/tensor.hpp"
#include "problem/text.hpp"

namespace rapt {

namespace {

// What "auto" lets the math backend do without being asked: about a second of its time on one core.
constexpr double kSmallForMath = 4e9;

constexpr std::string_view kCpuPrefix = "cpu.", kHipPrefix = "hip.";

const cpu::Tier& best_tier() {
  static const cpu::Tier& best = []() -> const cpu::Tier& {
    size_t i = 0;
    while (!cpu::tier(i).runs_here()) ++i;
    return cpu::tier(i);
  }();
  return best;
}

// The tier that a wish names, or nullptr.
const cpu::Tier* named_tier(std::string_view backend) {
  if (!backend.starts_with(kCpuPrefix)) return nullptr;
  for (size_t i = 0; i < cpu::tier_count(); ++i)
    if (cpu::tier(i).name == backend.substr(kCpuPrefix.size())) return &cpu::tier(i);
  return nullptr;
}

// Does the wish leave a GPU's call to the hip backend? Which variants there are is its archive's affair.
bool wishes_hip(std::string_view backend) {
  return backend == "auto" || backend == "hip" || backend.starts_with(kHipPrefix);
}

// The variant that a wish names; "" where the tuning table decides.
std::string_view hip_variant(std::string_view backend) {
  return backend.starts_with(kHipPrefix) ? backend.substr(kHipPrefix.size()) : "";
}

bool known(std::string_view backend) {
  return backend == "math" || backend == "cpu" || named_tier(backend) != nullptr || wishes_hip(backend);
}

[[noreturn]] void fail_unknown(std::string_view backend) {
  std::string names = "auto, math, hip, hip.<variant>, cpu";
  for (size_t i = 0; i < cpu::tier_count(); ++i) names += cat(", ", kCpuPrefix, cpu::tier(i).name);
  throw Error(RAPT_INVALID_ARGUMENT, cat("execution.backend is \"", backend, "\", must be one of ", names));
}

// Each returns "" where the backend takes the call, otherwise why not.
std::string no_device(const Call& call) {
  if (call.device.type == RAPT_CPU) return "";
  return cat("the tensors are on ", device_text(call.device), ", this backend reads host memory");
}

std::string cpu_refusal(const Call& call, const cpu::Tier& tier) {
  if (std::string why = no_device(call); !why.empty()) return why;
  if (call.dtype == DType::fp64) return "fp64 exists for the math backend alone";
  if (!tier.runs_here()) return cat("this machine lacks ", tier.needs);
  return "";
}

std::string math_refusal(const Call& call, rapt_op op, const Wish& wish) {
  if (std::string why = no_device(call); !why.empty()) return why;
  if (wish.backend == "math" || wish.allow_math || operations(call, op) <= kSmallForMath) return "";
  return cat("slow at this size (", std::ceil(operations(call, op) * 1e-9), " GFLOP, auto takes it up to ",
             kSmallForMath * 1e-9, "): ask for backend \"math\" or set allow_math");
}

const char* kernel_name(const cpu::Tier& tier, const ForwardCall& call) { return tier.kernels.forward_kernel(call); }
const char* kernel_name(const cpu::Tier& tier, const BackwardCall& call) { return tier.kernels.backward_kernel(call); }
rapt_op op_of(const ForwardCall&) { return RAPT_FORWARD; }
rapt_op op_of(const BackwardCall&) { return RAPT_BACKWARD; }

// The hip backend itself, and each variant of the device's archive by its own name.
void add_hip(const Call& call, rapt_op op, const Wish& wish, Explanation& e) {
  Candidate hip{"hip", "", "", false};
  if (call.device.type != RAPT_ROCM) {
    hip.reason = cat("the tensors are on ", device_text(call.device), ", this backend reads the memory of hip devices");
    e.candidates.push_back(std::move(hip));
    return;
  }
  std::vector<Candidate> variants;
  try {
    const std::string_view variant = wishes_hip(wish.backend) ? hip_variant(wish.backend) : "";
    gpu::Explained explained = gpu::explain(call, op, variant);
    hip.reason = explained.refusal;
    for (gpu::VariantReason& v : explained.variants) {
      if (v.chosen) {
        hip.kernel = v.name;
        hip.reason = v.reason;
        hip.chosen = wish.backend == "auto" || wish.backend == "hip";
      }
      const bool itself = v.chosen && !variant.empty() && wishes_hip(wish.backend);
      variants.push_back(
          {cat(kHipPrefix, v.name), v.name, v.chosen && !itself ? "the same as hip here" : v.reason, itself});
    }
    if (!hip.chosen && !hip.kernel.empty()) hip.reason = cat("backend \"", wish.backend, "\" was asked for");
  } catch (const Error& error) {
    hip.reason = error.what();
  }
  e.candidates.push_back(std::move(hip));
  for (Candidate& v : variants) e.candidates.push_back(std::move(v));
}

template <class AnyCall>
Explanation explain_any(const AnyCall& call, const Wish& wish) {
  if (!known(wish.backend)) fail_unknown(wish.backend);
  Explanation e;
  e.problem = problem_of(call).text();
  bool taken = false;
  const auto consider = [&](Candidate c, std::string refusal, bool wished, std::string why_chosen) {
    if (!refusal.empty()) c.reason = std::move(refusal);
    else if (!wished) c.reason = cat("backend \"", wish.backend, "\" was asked for");
    else if (taken) c.reason = cat(e.candidates.front().backend, " comes first and takes the problem");
    else {
      taken = c.chosen = true;
      c.reason = std::move(why_chosen);
    }
    e.candidates.push_back(std::move(c));
  };
  const bool automatic = wish.backend == "auto";
  const cpu::Tier& best = best_tier();
  consider({"cpu", cat(best.name, ".", kernel_name(best, call)), "", false}, cpu_refusal(call, best),
           automatic || wish.backend == "cpu", cat(best.name, " is the best tier that this machine runs"));
  for (size_t i = 0; i < cpu::tier_count(); ++i) {
    const cpu::Tier& tier = cpu::tier(i);
    consider({cat(kCpuPrefix, tier.name), cat(tier.name, ".", kernel_name(tier, call)), "", false},
             &tier == &best && automatic && taken ? "the same as cpu here" : cpu_refusal(call, tier),
             automatic || named_tier(wish.backend) == &tier, "asked for by name");
  }
  consider({"math", "row", "", false}, math_refusal(call, op_of(call), wish), automatic || wish.backend == "math",
           wish.backend == "math" ? "asked for by name"
                                  : "no other backend takes the problem, and it is small or math is allowed");
  add_hip(call, op_of(call), wish, e);
  e.candidates.push_back({"cuda", "", "this build has no cuda kernels yet", false});
  return e;
}

template <class AnyCall>
[[noreturn]] void fail_unsupported(const AnyCall& call, const Wish& wish) {
  std::string message = cat("no backend takes ", problem_of(call).text(), " on ", device_text(call.device));
  for (const Candidate& c : explain_any(call, wish).candidates)
    if (!c.backend.starts_with(kHipPrefix)) message += cat("; ", c.backend, ": ", c.reason);
  throw Error(RAPT_UNSUPPORTED, message);
}

template <class AnyCall>
Plan plan_any(const AnyCall& call, const Wish& wish) {
  const bool automatic = wish.backend == "auto";
  if (!known(wish.backend)) fail_unknown(wish.backend);
  if (call.device.type == RAPT_ROCM && wishes_hip(wish.backend))  // it refuses with its own words
    return {Plan::Backend::hip, nullptr, gpu::plan(call, op_of(call), hip_variant(wish.backend))};
  if (automatic || wish.backend == "cpu" || named_tier(wish.backend)) {
    const cpu::Tier* tier = automatic || wish.backend == "cpu" ? &best_tier() : named_tier(wish.backend);
    if (cpu_refusal(call, *tier).empty()) return {Plan::Backend::cpu, &tier->kernels, {}};
  }
  if ((automatic || wish.backend == "math") && math_refusal(call, op_of(call), wish).empty())
    return {Plan::Backend::math, nullptr, {}};
  fail_unsupported(call, wish);
}

}  // namespace

double operations(const Call& call, rapt_op op) {
  double pairs = 0;
  const bool varies = call.cu_seqlens_q || call.cache;
  for (int64_t b = 0; b < (varies ? call.batch : 1); ++b) {
    const Sequence s = sequence(call, b);
    const double all = static_cast<double>(s.seqlen_q) * static_cast<double>(s.seqlen_k);
    pairs += call.causal != RAPT_NOT_CAUSAL && s.seqlen_q == s.seqlen_k ? all / 2 : all;
  }
  if (!varies) pairs *= static_cast<double>(call.batch);
  const double dims = static_cast<double>(call.head_dim + call.head_dim_v);
  return 2 * static_cast<double>(call.heads_q) * pairs * dims * (op == RAPT_BACKWARD ? 2.5 : 1);
}

Plan plan(const ForwardCall& call, const Wish& wish) { return plan_any(call, wish); }
Plan plan(const BackwardCall& call, const Wish& wish) { return plan_any(call, wish); }
Explanation explain(const ForwardCall& call, const Wish& wish) { return explain_any(call, wish); }
Explanation explain(const BackwardCall& call, const Wish& wish) { return explain_any(call, wish); }

}  // namespace rapt
