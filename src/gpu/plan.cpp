// Which variant runs a call on its device, and why not the others.
#include <cstdio>

#include "gpu/gpu.hpp"
#include "base/error.hpp"

namespace rapt::gpu {

namespace {

// The refusals of an archive's variants, each once, with the number of variants.
std::string refusals(const Modules& modules, const KernelRequirements& needed) {
  std::vector<std::pair<std::string, int32_t>> reasons;
  for (const Variant& v : modules.variants()) {
    const std::string why = refusal(v, needed);
    bool seen = false;
    for (auto& [text, count] : reasons)
      if (text == why) seen = ++count;
    if (!seen) reasons.emplace_back(why, 1);
  }
  std::string text =
      cat("none of the ", static_cast<uint64_t>(modules.variants().size()), " variants of ", modules.archive_path(),
          " takes it on ", modules.device().text(), " (", modules.device().arch, ")");
  for (const auto& [why, count] : reasons) text += cat("; ", count, ": ", why);
  return text;
}

// The requested variant. Throws Error if the archive has none of this name.
size_t variant_named(const Modules& modules, std::string_view name) {
  const auto variants = modules.variants();
  std::string names;
  for (size_t i = 0; i < variants.size(); ++i) {
    if (variants[i].name == name) return i;
    names += cat(names.empty() ? "" : ", ", variants[i].name);
  }
  throw Error(RAPT_INVALID_ARGUMENT, cat("execution.backend is \"hip.", name, "\", ", modules.archive_path(),
                                         " has no such variant; it has ", names));
}

std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string facts(const Variant& v) {
  return cat("tile ", v.block_q, " queries x ", v.block_k, " keys, ", v.waves,
             v.waves == 1 ? " wave of " : " waves of ", v.threads / v.waves, " lanes, ", v.registers, " VGPRs",
             v.amd.agprs > 0 ? cat(" + ", v.amd.agprs, " AGPRs") : "", ", ", v.amd.sgprs, " SGPRs, ", v.shared_memory,
             " bytes of LDS, ", v.amd.occupancy, v.amd.occupancy == 1 ? " wave" : " waves", " per SIMD, P ",
             v.p == "exact"       ? "as fp32"
             : v.p == "truncated" ? "truncated"
                                  : "rounded to nearest");
}

}  // namespace

std::string make_plan(const Problem& problem, rapt_op op, rapt_device device, std::string_view variant, Plan& plan) {
  Modules& modules = Modules::of(device);
  if (std::string why = unsupported(problem, op); !why.empty()) return why;
  const KernelRequirements needed = requirements_of(problem);
  plan.modules = &modules;
  plan.stage_count = 1;
  size_t& index = plan.stages[0].variant;
  if (!variant.empty()) {
    index = variant_named(modules, variant);
    if (const std::string why = refusal(modules.variants()[index], needed); !why.empty())
      return cat(variant, ": ", why);
  } else if (const auto selected = modules.select(needed)) {
    index = *selected;
  } else {
    return refusals(modules, needed);
  }
  plan.stages[0].workgroups = static_cast<uint32_t>(workgroups(modules.variants()[index], needed));
  return "";
}

std::vector<VariantReason> explain(const Problem& problem, rapt_op op, rapt_device device, std::string_view variant) {
  Plan plan;
  const bool any = make_plan(problem, op, device, variant, plan).empty();
  const Modules& modules = Modules::of(device);
  const auto variants = modules.variants();
  const KernelRequirements needed = requirements_of(problem);
  const std::string general = unsupported(problem, op);
  const size_t chosen = plan.stages[0].variant;
  std::vector<VariantReason> reasons;
  for (size_t i = 0; i < variants.size(); ++i) {
    const Variant& v = variants[i];
    VariantReason r{v.name, general.empty() ? refusal(v, needed) : general, any && i == chosen};
    if (r.chosen)
      r.reason =
          cat(variant.empty() ? modules.row_that_fired(needed) : "asked for by name", "; ", facts(v), "; ",
              workgroups(v, needed), " workgroups, ", rounded(workgroups(v, needed) / modules.device().compute_units),
              " for each of the ", modules.device().compute_units, " compute units");
    else if (!r.reason.empty()) {
    } else if (!variant.empty()) r.reason = "another was asked for";
    else if (v.head_dim > variants[chosen].head_dim) r.reason = cat("the tile of ", variants[chosen].head_dim, " fits");
    else if (v.features != variants[chosen].features) r.reason = "a plain kernel suffices";
    else r.reason = cat("the tuning row takes ", variants[chosen].name);
    reasons.push_back(std::move(r));
  }
  return reasons;
}

void preload(const Problem& problem, rapt_op op, rapt_device device) {
  Plan plan;
  if (const std::string why = make_plan(problem, op, device, "", plan); !why.empty())
    throw Error(RAPT_UNSUPPORTED,
                cat("hip cannot run ", problem.text(), " on ", gpu::device(device).text(), ": ", why));
  for (size_t i = 0; i < plan.stage_count; ++i) plan.modules->function(plan.stages[i].variant, nullptr);
}

void preload(rapt_device device) {
  Modules& modules = Modules::of(device);
  for (size_t i = 0; i < modules.variants().size(); ++i) modules.function(i, nullptr);
}

}  // namespace rapt::gpu
