// Which variants run a problem on its device.
#include <algorithm>

#include "base/error.hpp"
#include "gpu/gpu.hpp"
#include "gpu/lengths.hpp"

namespace rapt::gpu {

namespace {

// The refusals of an archive's variants, each once, with the number of variants.
std::string refusals(const Modules& modules, const KernelRequirements& needed) {
  if (std::ranges::none_of(modules.variants(), [&](const Variant& v) { return computes(v, needed.stage); }))
    return cat(modules.archive_path(), " has no kernel of ", stage_name(needed.stage), ", which the problem needs");
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
  throw Error(RAPT_INVALID_ARGUMENT, cat("execution.backend is \"", device_type_name(modules.device().id.type), ".",
                                         name, "\", ", modules.archive_path(), " has no such variant; it has ", names));
}

// The order of the named kernel, or else of the kernel that the row of backward_dq takes, if every stage has a kernel
// of that order; or else another order of which every stage has one.
Sums sums_of_gradients(const Problem& problem, Modules& modules, const Stages& stages, const Variant* named) {
  if (named != nullptr && sums_of(*named) != Sums::any) return sums_of(*named);
  const auto dq = modules.select(requirements_of(problem, Stage::backward_dq));
  const Sums preferred = dq ? sums_of(modules.variants()[*dq]) : Sums::whole;
  for (const Sums sums : {preferred, Sums::whole, Sums::in_slices}) {
    const auto can = [&](Stage stage) {
      return (stage != Stage::backward_fused || sums == Sums::whole) &&
             modules.select(requirements_of(problem, stage, sums)).has_value();
    };
    if (std::all_of(stages.begin(), stages.end(), can)) return sums;
  }
  return preferred;
}

}  // namespace

std::string make_plan(const Problem& problem, rapt_op op, rapt_device device, std::string_view variant, Plan& plan) {
  Modules& modules = Modules::of(device);
  if (std::string why = unsupported(problem); !why.empty()) return why;
  std::optional<size_t> named;
  if (!variant.empty()) named = variant_named(modules, variant);
  const Stages stages = modules.stages(problem, op, variant);
  if (named) {
    const Variant& v = modules.variants()[*named];
    if (problem.deterministic && computes(v, Stage::backward_fused))
      return cat(variant, ": deterministic is asked for, and it adds to dq in any order");
    if (std::ranges::none_of(stages, [&](Stage stage) { return computes(v, stage); }))
      return cat(variant, ": it computes ", v.operation, ", which the problem does not need");
    if (problem.has_cache && computes(v, Stage::forward)) return cat(variant, ": it takes no KV cache");
  }
  plan.modules = &modules;
  if (op == RAPT_BACKWARD)
    plan.of_gradients = sums_of_gradients(problem, modules, stages, named ? &modules.variants()[*named] : nullptr);
  plan.workspace = lengths_bytes(problem) + (op == RAPT_BACKWARD ? statistics_bytes(problem) : 0);
  for (const Stage stage : stages) {
    if (stage == Stage::split_combine && plan.splits == 1) break;
    const KernelRequirements needed = requirements_of(problem, stage, plan.of_gradients);
    PlannedKernel& kernel = plan.stages[plan.stage_count];
    kernel.stage = stage;
    if (named && computes(modules.variants()[*named], stage)) {
      kernel.variant = *named;
      if (const std::string why = refusal(modules.variants()[*named], needed); !why.empty())
        return cat(variant, ": ", why);
    } else if (const auto selected = modules.select(needed)) {
      kernel.variant = *selected;
    } else {
      return refusals(modules, needed);
    }
    const Variant& v = modules.variants()[kernel.variant];
    kernel.tiles = static_cast<int32_t>(tiles(v, needed));
    kernel.workgroups = static_cast<uint32_t>(workgroups(v, needed));
    if (stage == Stage::split) {
      set_splits(problem, v, needed, modules.device(), plan);
      kernel.workgroups *= static_cast<uint32_t>(plan.splits);
      plan.workspace += partial_bytes(problem, plan.splits);
    }
    if (stage == Stage::backward_fused) {
      plan.dq_sum_dims = v.head_dim;
      plan.workspace += dq_sum_bytes(problem, v.head_dim);
    }
    ++plan.stage_count;
  }
  return "";
}

void preload(const Problem& problem, rapt_op op, rapt_device device) {
  Plan plan;
  if (const std::string why = make_plan(problem, op, device, "", plan); !why.empty())
    throw Error(RAPT_UNSUPPORTED, cat(gpu::device(device).text(), " cannot run ", problem.text(), ": ", why));
  for (size_t i = 0; i < plan.stage_count; ++i) plan.modules->function(plan.stages[i].variant, nullptr);
}

void preload(rapt_device device) {
  Modules& modules = Modules::of(device);
  for (size_t i = 0; i < modules.variants().size(); ++i)
    if (of_another_version(modules.variants()[i]).empty()) modules.function(i, nullptr);
}

}  // namespace rapt::gpu
