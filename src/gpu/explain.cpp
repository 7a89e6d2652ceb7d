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

std::string launch_text(const Shelf& shelf, const Pass& pass, const PassKernel& k) {
  const int32_t units = shelf.device.compute_units;
  return cat(
      text_of(*k.variant), "; ",
      k.stage() == Stage::split && pass.splits > 1 ? cat(pass.splits, " splits of ", pass.split_rows, " keys; ") : "",
      uint64_t{k.workgroups}, " workgroups, ", rounded(static_cast<double>(k.workgroups) / units), " for each of the ",
      units, " compute units");
}

}  // namespace

std::vector<Candidate> explain(const Problem& problem, rapt_op op, rapt_device device, std::string_view named) {
  const Shelf& shelf = Kernels::of(device).shelf;
  Needs n = needs_of(problem, op);
  n.named = find_named(shelf, named);
  const std::string never = unsupported(problem);
  const Choice choice =
      never.empty() ? choose(shelf, n, true) : Choice{{}, never, std::vector(shelf.kernels.size(), never)};
  const std::string backend(device_type_name(device.type));
  std::vector<Candidate> lines = {{backend, "", choice.refusal}};
  for (const Variant& v : shelf.kernels)
    lines.push_back({cat(backend, ".", v.name), v.name, choice.reasons[lines.size() - 1]});
  if (!choice.refusal.empty()) return lines;
  const auto line_of = [&](const Variant* v) -> Candidate& {
    return lines[static_cast<size_t>(v - shelf.kernels.data()) + 1];
  };
  const Pass& pass = choice.pass;
  const std::string passed_over = shelf.tuning.passed_over(*pass.row, n, shelf.device.compute_units);
  std::string names,
      reason = n.named ? "asked for by name" : cat(pass.row->where, " fired: ", pass.row->text, passed_over);
  for (const PassKernel& k : pass.kernels) {
    names += cat(names.empty() ? "" : " + ", k.variant->name);
    reason += cat("; ", launch_text(shelf, pass, k));
    line_of(k.variant).reason = n.named ? cat("beside ", named) : cat("the same as ", backend, " here");
  }
  Candidate& own = n.named ? line_of(n.named) : lines[0];
  lines[0] = {backend, names, cat("backend \"", own.backend, "\" was asked for")};
  own = {own.backend, names, reason, true};
  return lines;
}

}  // namespace rapt::gpu
