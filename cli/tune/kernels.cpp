#include "cli/tune/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cli/core/placement.hpp"
#include "cli/inputs/dtype.hpp"

namespace rapt::cli {

namespace {

// A pass is led by its kernel of the first of these stages.
std::span<const char* const> leading_stages(rapt_op op) {
  static constexpr const char* kForward[] = {"split", "forward"};
  static constexpr const char* kBackward[] = {"backward_fused", "backward_dkv", "backward_short", "backward_dq"};
  return op == RAPT_FORWARD ? std::span<const char* const>(kForward) : kBackward;
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size())
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

// FNV-1a: of texts that nobody forges.
uint32_t checksum(const std::string& text) {
  uint32_t h = 2166136261u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return h;
}

const char* mask_of(const rapt_problem& p) {
  if (p.has_window && p.window_left >= 0) return "window";
  return p.causal != RAPT_NOT_CAUSAL || (p.has_window && p.window_right >= 0) ? "causal" : "none";
}

int largest_head_dim(const rapt_problem& p) { return static_cast<int>(std::max(p.head_dim, p.head_dim_v)); }

}  // namespace

std::string TunedKernel::text() const { return fmt::format("{}:{:08x}", name, crc32); }

std::string Ways::among() const {
  std::string names;
  for (const Way& way : all) names += way.lead.text() + " ";
  return fmt::format("{}:{:08x}", all.size(), checksum(names));
}

DeviceKernels::DeviceKernels(rapt_device device) : device_(device) {
  const rapt_device_info info = describe(device);
  compute_units_ = std::max(info.compute_units, 1);
  const Archive archive("", info.arch);
  for (size_t i = 0; i < archive.size(); ++i) {
    const rapt_kernel k = archive.kernel(i);
    kernels_.push_back({k.name, k.stage, k.features, k.dtype, k.head_dim, k.crc32});
  }
}

const TunedKernel* DeviceKernels::lead_of(const std::string& running, rapt_op op) const {
  for (const char* stage : leading_stages(op))
    for (const std::string& name : split(running, " + ")) {
      const auto k = std::ranges::find(kernels_, name, &TunedKernel::name);
      if (k != kernels_.end() && k->stage == stage) return &*k;
    }
  return nullptr;
}

bool DeviceKernels::can_lead(const Problem& problem, rapt_op op, const TunedKernel& kernel) const {
  const std::string backend = fmt::format("{}.{}", gpu_backend(device_), kernel.name);
  const Explanation e = explain(problem, op, {.backend = backend}, device_);
  if (!e.chosen() || e.chosen()->backend != backend) return false;
  const TunedKernel* const lead = lead_of(e.chosen()->kernel, op);
  return lead != nullptr && lead->name == kernel.name;
}

// A plain kernel whose tile would hold the problem takes it unless the problem needs a general one.
std::optional<bool> DeviceKernels::needs_general(const Problem& problem, rapt_op op, const TunedKernel& chosen) const {
  if (chosen.features == "plain") return false;
  for (const TunedKernel& k : kernels_)
    if (k.features == "plain" && k.stage == chosen.stage && same(k.dtype, chosen.dtype) &&
        k.head_dim >= largest_head_dim(problem.c()))
      return !can_lead(problem, op, k);
  return std::nullopt;
}

Ways DeviceKernels::ways(const Problem& problem, rapt_op op) const {
  // With nothing to compute even a broken kernel is right, and fast.
  if (flops(problem, op) == 0)
    throw Error(RAPT_UNSUPPORTED, fmt::format("{}: there is nothing to compute", problem.text()));
  const int32_t gradients = problem.c().gradients;
  if (op == RAPT_BACKWARD && !((gradients & RAPT_GRADIENT_Q) && (gradients & (RAPT_GRADIENT_K | RAPT_GRADIENT_V))))
    throw Error(RAPT_UNSUPPORTED, fmt::format("{}: rows are for passes that compute dq, and dk or dv", problem.text()));
  const std::string backend = gpu_backend(device_);
  const Explanation e = explain(problem, op, {.backend = backend}, device_);
  if (!e.chosen()) {
    const auto own = std::ranges::find(e.candidates, backend, &Candidate::backend);
    throw Error(RAPT_UNSUPPORTED,
                fmt::format("{}: {}", problem.text(), own == e.candidates.end() ? "no backend takes it" : own->reason));
  }
  const TunedKernel* const own = lead_of(e.chosen()->kernel, op);
  if (own == nullptr) throw Error(RAPT_UNSUPPORTED, fmt::format("{}: its pass has no leading kernel", problem.text()));
  Ways ways;
  ways.all.push_back({backend, *own});
  ways.general = needs_general(problem, op, *own);
  for (const TunedKernel& k : kernels_) {
    const bool leads = std::ranges::any_of(leading_stages(op), [&](const char* stage) { return k.stage == stage; });
    const bool fits =
        k.head_dim <= own->head_dim && same(k.dtype, own->dtype) && (k.features == "plain" || own->features != "plain");
    if (leads && fits && k.name != own->name && can_lead(problem, op, k))
      ways.all.push_back({fmt::format("{}.{}", backend, k.name), k});
  }
  return ways;
}

std::vector<int> DeviceKernels::tiles(const TunedKernel& like) const {
  std::vector<int> all;
  for (const TunedKernel& k : kernels_)
    if (k.stage == like.stage && same(k.dtype, like.dtype)) all.push_back(k.head_dim);
  return all;
}

TuneRow DeviceKernels::cell(const Problem& problem, rapt_op op, const Ways& ways) const {
  const rapt_problem p = problem.c();
  const TunedKernel& own = ways.all.front().lead;
  TuneRow row;
  row.direction = op == RAPT_FORWARD ? "forward" : "backward";
  row.dtype = dtype_name(own.dtype);
  row.features = !ways.general ? "" : *ways.general ? "general" : "plain";
  // Only `fused` adds in any order: without it, the answer is the same for both.
  const bool has_fused =
      std::ranges::any_of(kernels_, [](const TunedKernel& k) { return k.stage == "backward_fused"; });
  if (op == RAPT_BACKWARD && has_fused) row.deterministic = p.deterministic ? "yes" : "no";
  if (op == RAPT_FORWARD) row.cache = p.has_cache ? "yes" : "no";
  row.mask = mask_of(p);
  const std::vector<int> head_dims = tiles(own);
  row.head_dim_most = own.head_dim;
  for (const int tile : head_dims)
    if (tile >= largest_head_dim(p)) row.head_dim_most = std::min(row.head_dim_most, tile);
  for (const int tile : head_dims)
    if (tile < row.head_dim_most) row.head_dim_least = std::max(row.head_dim_least, tile + 1);
  if (op == RAPT_FORWARD) row.group_rows = cell_of(static_cast<double>(p.seqlen_q * (p.heads_q / p.heads_k)));
  row.seqlen_k = cell_of(static_cast<double>(p.seqlen_k));
  row.unit_rows = cell_of(static_cast<double>(p.batch * p.heads_q * p.seqlen_q) / compute_units_);
  row.against = own.text();
  row.among = ways.among();
  return row;
}

}  // namespace rapt::cli
