// What choose() decided, in words.
#include <algorithm>
#include <cstdio>

#include "base/text.hpp"
#include "gpu/gpu.hpp"
#include "gpu/kernels.hpp"

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

// Float32 has no matrix instruction of its own. Two kernels multiply no matrices.
std::string nvidia_products(const Variant& v) {
  const bool multiplies = !v.computes(Stage::split_combine) && !v.computes(Stage::backward_dsink);
  return v.dtype == DType::fp32 && multiplies ? ", products of the matrix unit by three of TF32" : "";
}

std::string facts(const Variant& v) {
  const bool keys = v.computes(Stage::backward_dkv) || v.computes(Stage::backward_fused);
  return cat("tile ", v.block_q, keys ? " keys x " : " queries x ", v.block_k, keys ? " queries, " : " keys, ", v.waves,
             v.waves == 1 ? " wave of " : " waves of ", v.threads / v.waves, " lanes, ",
             v.nvidia.struct_size != 0 ? nvidia_resources(v) : amd_resources(v), ", P ",
             v.p == "exact"       ? "as fp32"
             : v.p == "truncated" ? "truncated"
                                  : "rounded to nearest",
             v.nvidia.struct_size != 0 ? nvidia_products(v) : "");
}

std::string launch_text(const Kernels& kernels, const Pass& pass, const PassKernel& k) {
  const int32_t units = kernels.device.compute_units;
  return cat(
      facts(kernels.list()[k.index]), "; ",
      k.stage == Stage::split && pass.splits > 1 ? cat(pass.splits, " splits of ", pass.split_rows, " keys; ") : "",
      uint64_t{k.workgroups}, " workgroups, ", rounded(static_cast<double>(k.workgroups) / units), " for each of the ",
      units, " compute units");
}

std::string row_text(const Kernels& kernels, const Request& request, const Pass& pass) {
  if (!request.kernel.empty()) return "asked for by name";
  const std::string stale =
      passed_over(kernels.tuning, *pass.row, needs_of(request.problem, request.op), kernels.device.compute_units);
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
  const Variant& chosen = kernels.list()[own == list.end() ? list[0].index : own->index];
  if (own == list.end()) return cat("the tuning row takes the pass ", name_of(pass.kind), ", of ", chosen.name);
  if (v.head_dim > chosen.head_dim) return cat("the tile of ", chosen.head_dim, " fits");
  if (v.head_dim == chosen.head_dim && chosen.features == "plain" && v.features != "plain")
    return "a plain kernel suffices";
  return cat("the tuning row takes ", chosen.name);
}

std::string reason(const Kernels& kernels, const Request& request, const Pass* pass, std::string_view refused,
                   const Variant& v) {
  const Needs n = needs_of(request.problem, request.op);
  if (std::string why = of_another_version(v); !why.empty()) return why;
  const std::vector<PassKind> kinds = passes_with(v, pass, n);
  if (kinds.empty()) return cat("it computes ", v.operation);
  if (std::string why = refusal(kinds.front(), n); !why.empty()) return why;
  if (std::string why = refusal(v, v.known->stage, Family::any, n); !why.empty()) return why;
  if (pass == nullptr) return request.kernel.empty() ? std::string(refused) : "another was asked for";
  return why_not(kernels, request, *pass, v);
}

}  // namespace

PassText text_of(const Request& request, const Pass& pass) {
  const Kernels& kernels = Kernels::of(request.device);
  PassText text{"", row_text(kernels, request, pass)};
  for (const PassKernel& k : pass.list()) {
    text.kernels += cat(text.kernels.empty() ? "" : " + ", kernels.list()[k.index].name);
    text.reason += cat("; ", launch_text(kernels, pass, k));
  }
  return text;
}

std::vector<Candidate> explain(const Request& request, const Pass* pass, std::string_view refused) {
  const Kernels& kernels = Kernels::of(request.device);
  const std::string never = unsupported(request.problem);
  std::vector<Candidate> all;
  for (size_t i = 0; i < kernels.list().size(); ++i) {
    const Variant& v = kernels.list()[i];
    const bool has = pass && std::ranges::any_of(pass->list(), [&](const PassKernel& k) { return k.index == i; });
    if (has) all.push_back({"", v.name, cat(row_text(kernels, request, *pass)), true});
    else all.push_back({"", v.name, never.empty() ? reason(kernels, request, pass, refused, v) : never, false});
  }
  return all;
}

}  // namespace rapt::gpu
