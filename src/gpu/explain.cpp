// Why a plan takes each variant of an archive, or not.
#include <algorithm>
#include <cstdio>

#include "base/error.hpp"
#include "gpu/gpu.hpp"

namespace rapt::gpu {

namespace {

std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// In the words of the vendor's documents.
std::string amd_resources(const Variant& v) {
  return cat(v.registers, " VGPRs", v.amd.agprs > 0 ? cat(" + ", v.amd.agprs, " AGPRs") : "", ", ", v.amd.sgprs,
             " SGPRs, ", v.shared_memory, " bytes of LDS, ", v.amd.occupancy, v.amd.occupancy == 1 ? " wave" : " waves",
             " per SIMD");
}

std::string nvidia_resources(const Variant& v) {
  return cat(v.registers, " registers, ", v.shared_memory, " bytes of shared memory, ", v.nvidia.occupancy,
             v.nvidia.occupancy == 1 ? " warp" : " warps", " per partition");
}

// Float32 has no matrix instruction of its own; the two kernels left out multiply no matrices.
std::string nvidia_products(const Variant& v) {
  const bool multiplies = !computes(v, Stage::split_combine) && !computes(v, Stage::backward_dsink);
  return v.dtype == DType::fp32 && multiplies ? ", products of the matrix unit by three of TF32" : "";
}

std::string facts(const Variant& v) {
  const bool keys = computes(v, Stage::backward_dkv) || computes(v, Stage::backward_fused);
  return cat("tile ", v.block_q, keys ? " keys x " : " queries x ", v.block_k, keys ? " queries, " : " keys, ", v.waves,
             v.waves == 1 ? " wave of " : " waves of ", v.threads / v.waves, " lanes, ",
             v.nvidia.struct_size != 0 ? nvidia_resources(v) : amd_resources(v), ", P ",
             v.p == "exact"       ? "as fp32"
             : v.p == "truncated" ? "truncated"
                                  : "rounded to nearest",
             v.nvidia.struct_size != 0 ? nvidia_products(v) : "");
}

std::string why_chosen(const Planned& p, const Variant& v, const KernelRequirements& needed) {
  const Device& device = p.plan.modules->device();
  const Plan& plan = p.plan;
  const bool splits = needed.stage == Stage::split && plan.splits > 1;
  const double groups = workgroups(v, needed) * (splits ? plan.splits : 1);
  return cat(v.name == p.variant ? "asked for by name" : plan.modules->row_that_fired(needed), "; ", facts(v), "; ",
             splits ? cat(plan.splits, " splits of ", plan.split_rows, " keys; ") : "", groups, " workgroups, ",
             rounded(groups / device.compute_units), " for each of the ", device.compute_units, " compute units");
}

std::string why_not(const Planned& p, const Variant& v, const Variant& chosen) {
  if (chosen.name == p.variant) return "another was asked for";
  if (v.head_dim > chosen.head_dim) return cat("the tile of ", chosen.head_dim, " fits");
  if (v.head_dim == chosen.head_dim && chosen.features == "plain" && v.features != "plain")
    return "a plain kernel suffices";
  return cat("the tuning row takes ", chosen.name);
}

// For the stage of the pass that the variant computes, or the first one.
Candidate explain_one(const Planned& p, const Stages& stages, const Variant& v, size_t index) {
  Candidate c{"", v.name, "", false};
  const auto own = std::ranges::find_if(stages, [&](Stage stage) { return computes(v, stage); });
  const KernelRequirements needed =
      requirements_of(p.problem, own == stages.end() ? *stages.begin() : *own, p.plan.of_gradients);
  c.reason = refusal(v, needed);
  if (!c.reason.empty()) return c;
  if (!p.refusal.empty()) {
    c.reason = p.variant.empty() ? p.refusal : "another was asked for";
    return c;
  }
  const auto stage = static_cast<size_t>(own - stages.begin());
  if (stage >= p.plan.stage_count) {
    c.reason = "there is one split of the keys, so nothing to merge";
    return c;
  }
  const PlannedKernel& planned = p.plan.stages[stage];
  c.chosen = planned.variant == index;
  c.reason = c.chosen ? why_chosen(p, v, needed) : why_not(p, v, p.plan.modules->variants()[planned.variant]);
  return c;
}

}  // namespace

std::vector<Candidate> explain(const Planned& planned) {
  Modules& modules = Modules::of(planned.device);
  const std::span<const Variant> variants = modules.variants();
  const Stages stages = modules.stages(planned.problem, planned.op, planned.variant);
  const std::string why = unsupported(planned.problem);
  std::vector<Candidate> all;
  all.reserve(variants.size());
  for (size_t i = 0; i < variants.size(); ++i)
    all.push_back(why.empty() ? explain_one(planned, stages, variants[i], i)
                              : Candidate{"", variants[i].name, why, false});
  return all;
}

}  // namespace rapt::gpu
