#include "gpu/modules.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/error.hpp"
#include "gpu/per_device.hpp"
#include "kernels/operations.hpp"

namespace rapt::gpu {

namespace {

constexpr size_t kMostPlans = 4096;  // bounds the cache of a service with ever new shapes: it is cleared when full

// A tile of split has 16 rows: with more, a forward kernel reads K and V less often.
constexpr std::string_view kQueryRows = "split rows>=17 use=forward by=default\nsplit use=largest by=default";

// The user's rows, then the archive's; stages for which it has none get default rows.
Tuning tuning_of(const Archive& archive) {
  Tuning all = Tuning::of_user(archive.arch());
  const auto add = [&](const Tuning& more) { all.rows.insert(all.rows.end(), more.rows.begin(), more.rows.end()); };
  const Tuning own = Tuning::parse(archive.tuning(), cat("tuning/", archive.arch()), Tuning::Extent::whole);
  add(own);
  for (const auto& [stage, name] : operations::kStages)
    if (own.last_of(stage) == nullptr)
      add(Tuning::parse(stage == Stage::split ? std::string(kQueryRows) : cat(name, " use=largest by=default"),
                        cat("default rows (the table of ", archive.path(), " has none of ", name, ")"),
                        Tuning::Extent::whole));
  all.compare_checksums(archive.variants());
  return all;
}

}  // namespace

Modules& Modules::of(rapt_device id) {
  static auto& all = *new PerDevice<Modules>;
  return all.get(id, [&] { return std::unique_ptr<Modules>(new Modules(gpu::device(id))); });
}

Modules::Modules(const Device& device)
    : device_(device),
      archive_(Archive::open(find_archive(device.arch))),
      tuning_(tuning_of(archive_)),
      loaded_(std::make_unique<Loaded[]>(archive_.variants().size())) {
  if (archive_.arch() != device.arch)
    throw Error(RAPT_UNSUPPORTED,
                cat(archive_.path(), " has kernels for ", archive_.arch(), ", ", device.text(), " is ", device.arch));
}

std::optional<Selected> Modules::select_anew(const KernelRequirements& needed) const {
  return gpu::select(variants(), tuning_, needed, device_.compute_units);
}

std::string Modules::row_that_fired(const KernelRequirements& needed) const {
  const auto selected = select_anew(needed);
  if (!selected) return "";
  const std::string stale = passed_over(tuning_, *selected->row, needed, device_.compute_units);
  return cat(selected->row->where, " fired: ", selected->row->text, stale.empty() ? "" : "; ", stale);
}

Stages Modules::stages(const Problem& problem, rapt_op op, std::string_view named) {
  if (op == RAPT_FORWARD) return Stages(forward_kernels(problem, named));
  return {problem, backward_kernels(problem, named)};
}

bool Modules::is_of(std::string_view named, Stage stage) const {
  return std::ranges::any_of(variants(), [&](const Variant& v) { return v.name == named && computes(v, stage); });
}

ForwardKernels Modules::forward_kernels(const Problem& problem, std::string_view named) {
  if (!named.empty()) return is_of(named, Stage::split) ? ForwardKernels::split : ForwardKernels::forward;
  if (problem.has_cache) return ForwardKernels::split;
  return select(requirements_of(problem, Stage::split)) ? ForwardKernels::split : ForwardKernels::forward;
}

BackwardKernels Modules::backward_kernels(const Problem& problem, std::string_view named) {
  using enum BackwardKernels;
  if (!wants_fused(problem)) return apart;
  if (is_of(named, Stage::backward_fused)) return fused;
  if (!named.empty() && !is_of(named, Stage::backward_dq_round)) return apart;
  return select(requirements_of(problem, Stage::backward_fused)) ? fused : apart;
}

std::optional<size_t> Modules::select(const KernelRequirements& needed) {
  {
    const std::shared_lock lock(plans_mutex_);
    if (const auto found = plans_.find(needed); found != plans_.end()) return found->second;
  }
  const auto selected = select_anew(needed);
  const std::optional<size_t> index = selected ? selected->index : std::nullopt;
  const std::lock_guard lock(plans_mutex_);
  if (plans_.size() >= kMostPlans) plans_.clear();
  plans_.insert_or_assign(needed, index);
  return index;
}

Function Modules::function(size_t variant, Stream stream) {
  const Function known = loaded_[variant].function.load(std::memory_order_acquire);
  return known ? known : load(variant, stream);
}

Function Modules::load(size_t index, Stream stream) {
  const Variant& v = variants()[index];
  const std::lock_guard lock(loading_);
  Loaded& slot = loaded_[index];
  if (const Function known = slot.function.load()) return known;
  Driver& driver = this->driver();
  if (driver.captures(stream))
    throw Error(RAPT_INVALID_ARGUMENT, cat(v.name, " is not loaded on ", device_.text(),
                                           " yet and the stream is being captured: call rapt_preload before"));
  std::vector<std::byte> code = archive_.code(v);
  const DeviceScope scope(driver, device_.id.id);
  Module module = nullptr;
  driver.check(driver.load_module(&module, code.data()), "loading ", v.name, " of ", archive_.path(), " on ",
               device_.text(), " (", device_.target, ")");
  Function function = nullptr;
  driver.check(driver.find_function(&function, module, v.symbol.c_str()), "looking for the kernel ", v.symbol, " in ",
               v.name, " of ", archive_.path());
  slot.code = std::move(code);
  slot.function.store(function, std::memory_order_release);
  return function;
}

}  // namespace rapt::gpu
