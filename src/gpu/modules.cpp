#include "gpu/modules.hpp"

#include <vector>

#include "kernels/abi.h"
#include "problem/error.hpp"

namespace rapt::gpu {

namespace {

constexpr size_t kMostPlans = 4096;  // a service with ever new shapes forgets them all now and then

// The user's rows, the archive's, and the rule of an archive without a table.
Tuning tuning_of(const Archive& archive) {
  Tuning all = Tuning::of_user(archive.arch());
  Tuning own = Tuning::parse(archive.tuning(), cat("tuning/", archive.arch()), Tuning::Extent::whole);
  if (own.rows.empty())
    own = Tuning::parse("forward use=largest by=default", cat("no table in ", archive.path(), ":"),
                        Tuning::Extent::whole);
  all.rows.insert(all.rows.end(), own.rows.begin(), own.rows.end());
  return all;
}

}  // namespace

Modules& Modules::of(int32_t id) {
  struct All {
    std::shared_mutex mutex;
    std::vector<std::unique_ptr<Modules>> by_device;
  };
  static All& all = *new All;  // never destroyed, as modules are not unloaded: HIP may be gone by then
  {
    const std::shared_lock lock(all.mutex);
    if (id >= 0 && static_cast<size_t>(id) < all.by_device.size() && all.by_device[id]) return *all.by_device[id];
  }
  const Device& found = gpu::device(id);
  const std::lock_guard lock(all.mutex);
  if (all.by_device.size() <= static_cast<size_t>(id)) all.by_device.resize(static_cast<size_t>(id) + 1);
  if (!all.by_device[id]) all.by_device[id].reset(new Modules(Hip::get(), found));
  return *all.by_device[id];
}

Modules::Modules(const Hip& hip, const Device& device)
    : hip_(hip),
      device_(device),
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
  return selected ? cat(selected->row->where, " fired: ", selected->row->text) : "";
}

std::optional<size_t> Modules::select(const KernelRequirements& needed) {
  {
    const std::shared_lock lock(plans_mutex_);
    if (const auto found = plans_.find(needed); found != plans_.end()) return found->second;
  }
  const auto selected = select_anew(needed);
  if (!selected) return std::nullopt;
  const std::lock_guard lock(plans_mutex_);
  if (plans_.size() >= kMostPlans) plans_.clear();
  plans_.insert_or_assign(needed, selected->index);
  return selected->index;
}

HipFunction Modules::function(size_t variant, HipStream stream) {
  const HipFunction known = loaded_[variant].function.load(std::memory_order_acquire);
  return known ? known : load(variant, stream);
}

HipFunction Modules::load(size_t index, HipStream stream) {
  const Variant& v = variants()[index];
  const std::lock_guard lock(loading_);
  Loaded& slot = loaded_[index];
  if (const HipFunction known = slot.function.load()) return known;
  if (v.kernarg_size != static_cast<int32_t>(sizeof(rapt_forward_args)))
    throw Error(
        RAPT_UNSUPPORTED,
        cat(archive_.path(), ": ", v.name, " takes ", v.kernarg_size, " bytes of arguments, this library passes ",
            static_cast<uint64_t>(sizeof(rapt_forward_args)), ": they are of different versions"));
  int capturing = 0;
  hip_.check(hip_.hipStreamIsCapturing(stream, &capturing), "asking whether the stream is being captured");
  if (capturing != 0)
    throw Error(RAPT_INVALID_ARGUMENT, cat(v.name, " is not loaded on ", device_.text(),
                                           " yet and the stream is being captured: call rapt_preload before"));
  std::vector<std::byte> code = archive_.code(v);
  const DeviceScope scope(hip_, device_.id);
  HipModule module = nullptr;
  if (const HipError error = hip_.hipModuleLoadData(&module, code.data()))
    hip_.fail(error,
              cat("loading ", v.name, " of ", archive_.path(), " on ", device_.text(), " (", device_.target, ")"));
  HipFunction function = nullptr;
  if (const HipError error = hip_.hipModuleGetFunction(&function, module, v.symbol.c_str()))
    hip_.fail(error, cat("looking for the kernel ", v.symbol, " in ", v.name, " of ", archive_.path()));
  slot.code = std::move(code);
  slot.function.store(function, std::memory_order_release);
  return function;
}

}  // namespace rapt::gpu
