// Which variant runs a call on its device, and why not the others.
#include <cstdio>

#include "gpu/gpu.hpp"
#include "problem/error.hpp"

namespace rapt::gpu {

namespace {

[[noreturn]] void fail_uncovered(const Call& call, const Modules& modules, const std::string& why) {
  throw Error(RAPT_UNSUPPORTED, cat("hip cannot run ", problem_of(call).text(), " on ", modules.device().text(), " (",
                                    modules.device().arch, "): ", why));
}

// The refusals of an archive, each once, with how many variants it keeps out.
std::string refusals(const Modules& modules, const Demand& demand) {
  std::vector<std::pair<std::string, int32_t>> reasons;
  for (const Variant& v : modules.variants()) {
    const std::string why = refusal(v, demand);
    bool seen = false;
    for (auto& [text, count] : reasons)
      if (text == why) seen = ++count;
    if (!seen) reasons.emplace_back(why, 1);
  }
  std::string text = cat("none of the ", static_cast<uint64_t>(modules.variants().size()), " variants of ",
                         modules.archive_path(), " takes it");
  for (const auto& [why, count] : reasons) text += cat("; ", count, ": ", why);
  return text;
}

size_t variant_named(const Call& call, const Modules& modules, std::string_view name) {
  const auto variants = modules.variants();
  for (size_t i = 0; i < variants.size(); ++i) {
    if (variants[i].name != name) continue;
    if (const std::string why = refusal(variants[i], demand_of(call)); !why.empty())
      fail_uncovered(call, modules, cat(name, ": ", why));
    return i;
  }
  std::string names;
  for (const Variant& v : variants) names += cat(names.empty() ? "" : ", ", v.name);
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
             " bytes of LDS, ", v.amd.occupancy, v.amd.occupancy == 1 ? " wave" : " waves", " a SIMD, P ",
             v.p == "exact"       ? "as fp32"
             : v.p == "truncated" ? "truncated"
                                  : "rounded to nearest");
}

}  // namespace

Plan plan(const Call& call, rapt_op op, std::string_view variant) {
  Modules& modules = Modules::of(call.device);
  if (const std::string why = unsupported(call, op); !why.empty()) fail_uncovered(call, modules, why);
  if (!variant.empty()) return {&modules, variant_named(call, modules, variant)};
  const Demand demand = demand_of(call);
  const auto selected = modules.select(demand);
  if (!selected) fail_uncovered(call, modules, refusals(modules, demand));
  return {&modules, *selected};
}

Explained explain(const Call& call, rapt_op op, std::string_view variant) {
  const Modules& modules = Modules::of(call.device);
  const auto variants = modules.variants();
  const Demand demand = demand_of(call);
  const std::string general = unsupported(call, op);
  const auto selected = general.empty() ? modules.select_anew(demand) : std::nullopt;
  const size_t chosen = !general.empty()   ? variants.size()
                        : !variant.empty() ? variant_named(call, modules, variant)
                        : selected         ? selected->index
                                           : variants.size();
  Explained explained;
  if (chosen == variants.size()) explained.refusal = general.empty() ? refusals(modules, demand) : general;
  for (size_t i = 0; i < variants.size(); ++i) {
    const Variant& v = variants[i];
    VariantReason r{v.name, general.empty() ? refusal(v, demand) : general, i == chosen};
    if (r.chosen)
      r.reason = cat(variant.empty() ? cat(selected->row->where, " fired: ", selected->row->text) : "asked for by name",
                     "; ", facts(v), "; ", workgroups(v, demand), " workgroups, ",
                     rounded(workgroups(v, demand) / modules.device().compute_units), " for each of the ",
                     modules.device().compute_units, " compute units");
    else if (!r.reason.empty() || !variant.empty()) r.reason = r.reason.empty() ? "another was asked for" : r.reason;
    else if (v.head_dim > variants[chosen].head_dim) r.reason = cat("the tile of ", variants[chosen].head_dim, " fits");
    else if (v.features != variants[chosen].features) r.reason = "the problem needs nothing that only it has";
    else r.reason = cat("the tuning row takes ", variants[chosen].name);
    explained.variants.push_back(std::move(r));
  }
  return explained;
}

void preload(const Call& call, rapt_op op) {
  const Plan chosen = plan(call, op, "");
  chosen.modules->function(chosen.variant, nullptr);
}

void preload(rapt_device device) {
  Modules& modules = Modules::of(device);
  for (size_t i = 0; i < modules.variants().size(); ++i) modules.function(i, nullptr);
}

}  // namespace rapt::gpu
