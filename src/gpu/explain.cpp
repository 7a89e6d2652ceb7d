// The decision of choose(), in words.
#include <algorithm>
#include <cstdio>

#include "base/text.hpp"
#include "gpu/gpu.hpp"
#include "gpu/kernel_text.hpp"
#include "gpu/kernels.hpp"

namespace rapt::gpu {

namespace {

std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string launch_text(const Kernels& kernels, const Pass& pass, const PassKernel& k) {
  const int32_t units = kernels.device.compute_units;
  return cat(
      text_of(kernels.list()[k.index]), "; ",
      k.stage == Stage::split && pass.splits > 1 ? cat(pass.splits, " splits of ", pass.split_rows, " keys; ") : "",
      uint64_t{k.workgroups}, " workgroups, ", rounded(static_cast<double>(k.workgroups) / units), " for each of the ",
      units, " compute units");
}

std::string row_text(const Kernels& kernels, const Request& request, const Pass& pass) {
  if (!request.kernel.empty()) return "asked for by name";
  const std::string stale =
      kernels.tuning.passed_over(*pass.row, needs_of(request.problem, request.op), kernels.device.compute_units);
  return cat(pass.row->where, " fired: ", pass.row->text, stale.empty() ? "" : cat("; ", stale));
}

// The passes of a direction that have a kernel of this kind: the chosen one first.
std::vector<PassKind> passes_with(const Variant& v, const Pass* pass, const Needs& n) {
  std::vector<PassKind> kinds;
  for (const PassKind kind : {PassKind::forward, PassKind::split, PassKind::apart, PassKind::fused}) {
    const std::vector<Stage> stages = stages_of(kind, n);
    if (direction_of(kind) != n.op || std::ranges::none_of(stages, [&](Stage s) { return v.computes(s); })) continue;
    kinds.insert(pass && pass->kind == kind ? kinds.begin() : kinds.end(), kind);
  }
  return kinds;
}

// Why the pass does not have a kernel that could serve the problem.
std::string why_not(const Kernels& kernels, const Request& request, const Pass& pass, const Variant& v) {
  if (!request.kernel.empty()) return "another was asked for";
  const auto list = pass.list();
  const auto own = std::ranges::find_if(list, [&](const PassKernel& k) { return v.computes(k.stage); });
  if (own == list.end() && v.computes(Stage::split_combine) && pass.kind == PassKind::split)
    return "there is one split of the keys, so nothing to merge";
  const Variant& chosen = kernels.list()[own == list.end() ? pass.lead : own->index];
  if (own == list.end()) return cat("the tuning row takes the pass ", name_of(pass.kind), ", of ", chosen.name);
  if (v.head_dim > chosen.head_dim) return cat("the tile of ", chosen.head_dim, " fits");
  if (v.head_dim == chosen.head_dim && chosen.features == "plain" && v.features != "plain")
    return "a plain kernel suffices";
  return cat("the tuning row takes ", chosen.name);
}

std::string reason(const Kernels& kernels, const Request& request, const Needs& n, const Pass* pass,
                   std::string_view refused, const Variant& v) {
  if (std::string why = of_another_version(v); !why.empty()) return why;
  if (pass == nullptr && v.name == request.kernel) return std::string(refused);
  const std::vector<PassKind> kinds = passes_with(v, pass, n);
  if (kinds.empty()) return cat("it computes ", v.operation);
  if (std::string why = refusal(kinds.front(), n); !why.empty()) return why;
  if (std::string why = refusal(v, v.known->stage, Family::any, n); !why.empty()) return why;
  if (pass == nullptr) return request.kernel.empty() ? std::string(refused) : "another was asked for";
  return why_not(kernels, request, *pass, v);
}

}  // namespace

Explained explain(const Request& request, const Pass* pass, std::string_view refused) {
  const Kernels& kernels = Kernels::of(request.device);
  const std::string never = unsupported(request.problem);
  const Needs n = needs_of(request.problem, request.op);
  Explained e;
  for (const Variant& v : kernels.list()) {
    const PassKernel* own = nullptr;
    for (const PassKernel& k : pass ? pass->list() : std::span<const PassKernel>())
      if (&kernels.list()[k.index] == &v) own = &k;
    e.variants.push_back({"", v.name, "", own != nullptr});
    if (own == nullptr)
      e.variants.back().reason = never.empty() ? reason(kernels, request, n, pass, refused, v) : never;
  }
  if (pass == nullptr) return e;
  e.reason = row_text(kernels, request, *pass);
  for (const PassKernel& k : pass->list()) {
    e.kernels += cat(e.kernels.empty() ? "" : " + ", kernels.list()[k.index].name);
    e.reason += cat("; ", launch_text(kernels, *pass, k));
  }
  return e;
}

}  // namespace rapt::gpu
