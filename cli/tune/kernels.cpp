#include "cli/tune/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cli/core/placement.hpp"
#include "cli/inputs/dtype.hpp"

namespace rapt::cli {

namespace {

// The stages of a pass that have a choice of kernels; the stage that decides comes first.
std::span<const char* const> stages_of(rapt_op op) {
  static constexpr const char* kForward[] = {"split", "forward"};
  static constexpr const char* kBackward[] = {"backward_fused", "backward_dkv", "backward_dq"};
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

// FNV-1a, because nobody forges these texts.
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

const TunedKernel* Way::of(const std::string& stage) const {
  if (kernel.stage == stage) return &kernel;
  const auto found = std::ranges::find(beside, stage, &TunedKernel::stage);
  return found == beside.end() ? nullptr : &*found;
}

bool Way::runs(const TunedKernel& other) const {
  const TunedKernel* own = of(other.stage);
  return own && own->name == other.name;
}

std::string TunedKernel::text() const { return fmt::format("{}:{:08x}", name, crc32); }

bool Ways::has(const std::string& stage) const {
  return std::ranges::any_of(all, [&](const Way& way) { return way.kernel.stage == stage; });
}

std::string Ways::among() const {
  std::string names;
  for (const Way& way : all) names += way.kernel.text() + " ";
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

const TunedKernel* DeviceKernels::find(const std::string& name) const {
  const auto found = std::ranges::find(kernels_, name, &TunedKernel::name);
  return found == kernels_.end() ? nullptr : &*found;
}

std::vector<TunedKernel> DeviceKernels::named(const std::string& running, rapt_op op) const {
  std::vector<TunedKernel> found;
  for (const char* stage : stages_of(op))
    for (const std::string& name : split(running, " + "))
      if (const TunedKernel* k = find(name); k && k->stage == stage) found.push_back(*k);
  return found;
}

std::vector<TunedKernel> DeviceKernels::with(const Problem& problem, rapt_op op, const TunedKernel& kernel) const {
  const std::string backend = fmt::format("{}.{}", gpu_backend(device_), kernel.name);
  const Explanation e = explain(problem, op, {.backend = backend}, device_);
  if (!e.chosen() || e.chosen()->backend != backend) return {};
  return named(e.chosen()->kernel, op);
}

// If a plain kernel's tile would hold the problem, the kernel takes it unless the problem needs a general one.
std::optional<bool> DeviceKernels::needs_general(const Problem& problem, rapt_op op, const TunedKernel& chosen) const {
  if (chosen.features == "plain") return false;
  for (const TunedKernel& k : kernels_)
    if (k.features == "plain" && k.stage == chosen.stage && same(k.dtype, chosen.dtype) &&
        k.head_dim >= largest_head_dim(problem.c()))
      return with(problem, op, k).empty();
  return std::nullopt;
}

Ways DeviceKernels::ways(const Problem& problem, rapt_op op) const {
  // If there is nothing to compute, even a broken kernel is right, and fast.
  if (flops(problem, op) == 0)
    throw Error(RAPT_UNSUPPORTED, fmt::format("{}: there is nothing to compute", problem.text()));
  const std::string backend = gpu_backend(device_);
  const Explanation e = explain(problem, op, {.backend = backend}, device_);
  if (!e.chosen()) {
    const auto own = std::ranges::find(e.candidates, backend, &Candidate::backend);
    throw Error(RAPT_UNSUPPORTED,
                fmt::format("{}: {}", problem.text(), own == e.candidates.end() ? "no backend takes it" : own->reason));
  }
  Ways ways;
  std::vector<TunedKernel> running = named(e.chosen()->kernel, op);
  if (running.empty())
    throw Error(RAPT_UNSUPPORTED, fmt::format("{}: no stage has a choice of kernels", problem.text()));
  const TunedKernel own = running.front();
  running.erase(running.begin());
  ways.all.push_back({backend, own, running});
  ways.general = needs_general(problem, op, own);
  for (const TunedKernel& k : kernels_) {
    const bool of_pass = std::ranges::any_of(stages_of(op), [&](const char* stage) { return k.stage == stage; });
    if (!of_pass || k.name == own.name || k.head_dim > own.head_dim || !same(k.dtype, own.dtype) ||
        (k.features != "plain" && own.features == "plain"))
      continue;
    std::vector<TunedKernel> running_then = with(problem, op, k);
    if (running_then.empty()) continue;
    std::erase_if(running_then, [&](const TunedKernel& other) { return other.name == k.name; });
    ways.all.push_back({fmt::format("{}.{}", backend, k.name), k, running_then});
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
  const auto stages = stages_of(op);
  return cell(problem, op, ways, *std::ranges::find_if(stages, [&](const char* stage) { return ways.has(stage); }));
}

TuneRow DeviceKernels::cell(const Problem& problem, rapt_op op, const Ways& ways, const std::string& stage) const {
  const rapt_problem p = problem.c();
  const TunedKernel& own = ways.all.front().kernel;
  TuneRow row;
  row.stage = stage;
  row.dtype = dtype_name(own.dtype);
  row.features = !ways.general ? "" : *ways.general ? "general" : "plain";
  row.mask = mask_of(p);
  const std::vector<int> head_dims = tiles(own);
  row.head_dim_most = own.head_dim;
  for (const int tile : head_dims)
    if (tile >= largest_head_dim(p)) row.head_dim_most = std::min(row.head_dim_most, tile);
  for (const int tile : head_dims)
    if (tile < row.head_dim_most) row.head_dim_least = std::max(row.head_dim_least, tile + 1);
  if (op == RAPT_FORWARD)
    row.rows = cell_of(static_cast<double>(p.seqlen_q * (stage == "split" ? p.heads_q / p.heads_k : 1)));
  row.seqlen_k = cell_of(static_cast<double>(p.seqlen_k));
  row.unit_rows = cell_of(static_cast<double>(p.batch * p.heads_q * p.seqlen_q) / compute_units_);
  row.against = own.text();
  row.among = ways.among();
  return row;
}

std::vector<TuneRow> DeviceKernels::rows(const Problem& problem, rapt_op op, const Ways& ways, size_t winner) const {
  const Way &usual = ways.all.front(), &way = ways.all[winner];
  const TunedKernel &own = usual.kernel, &best = way.kernel;
  std::vector<TuneRow> rows = {cell(problem, op, ways)};
  TuneRow& first = rows.front();
  if (winner != 0 && best.stage != first.stage) {
    const TunedKernel* dq = first.stage == "backward_fused" ? way.of("backward_dq") : nullptr;
    // Only where that kernel runs: with the default's backward_dq the other kernels may be slower than backward_fused.
    if (dq && !usual.runs(*dq)) first.use = dq->text();
    else if (first.stage == own.stage) first.use = first.stage == "split" ? "forward" : "apart";
  }
  if (best.stage != first.stage) rows.push_back(cell(problem, op, ways, best.stage));
  if (winner == 0) return rows;
  rows.back().use = best.text();
  for (const TunedKernel& k : way.beside) {
    if (usual.runs(k)) continue;
    rows.push_back(cell(problem, op, ways, k.stage));
    rows.back().use = k.text();
  }
  return rows;
}

}  // namespace rapt::cli
