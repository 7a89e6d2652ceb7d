#include "gpu/kernels.hpp"

#include "base/error.hpp"
#include "gpu/gpu.hpp"
#include "gpu/per_device.hpp"
#include "kernels/rename_code.hpp"

namespace rapt::gpu {

namespace {

Archive archive_of(const Device& device) {
  if (find_gpu(device.arch) == nullptr) {
    std::string known;
    const auto add = [&](const Architecture& a) { known += cat(known.empty() ? "" : ", ", a.name); };
    for (const Architecture& a : architectures::kTable) add(a);
    for (const Architecture& a : architectures::kSiblingTable) add(a);
    throw Error(RAPT_UNSUPPORTED, cat("Rapt has no kernels for ", device.target, ", which ", device.text(),
                                      " is; it has kernels for ", known));
  }
  return Archive::open(find_archive(device.arch), device.arch);
}

}  // namespace

Kernels::Kernels(const Device& device)
    : archive(archive_of(device)),
      tuning(Tuning::of(archive, device.arch)),
      shelf{archive.variants(), tuning, device, archive.path()},
      loaded_(shelf.kernels.size()) {
  if (archive.arch() != code_of(device.arch))
    throw Error(RAPT_UNSUPPORTED,
                cat(archive.path(), " has kernels for ", archive.arch(), ", ", device.text(), " is ", device.arch));
}

Kernels& Kernels::of(rapt_device id) {
  static auto& all = *new PerDevice<Kernels>;
  return all.get(id, [&] { return std::make_unique<Kernels>(device(id)); });
}

std::shared_ptr<const Choice> Kernels::choice(const Needs& needs) {
  constexpr size_t kMost = 4096;  // then all are forgotten: it bounds the memory of a service with ever new shapes
  {
    const std::shared_lock lock(choosing_);
    if (const auto known = choices_.find(needs); known != choices_.end()) return known->second;
  }
  Choice fresh = choose(shelf, needs);
  const std::lock_guard lock(choosing_);
  if (choices_.size() >= kMost) choices_.clear();
  return choices_[needs] = std::make_shared<const Choice>(std::move(fresh));
}

Function Kernels::function(const Variant& v, Stream stream) {
  Loaded& slot = loaded_[static_cast<size_t>(&v - shelf.kernels.data())];
  if (const Function known = slot.function.load(std::memory_order_acquire)) return known;
  const Device& device = shelf.device;
  Driver& driver = *device.driver;
  const std::lock_guard lock(loading_);
  if (const Function known = slot.function.load()) return known;
  const DeviceScope scope(driver, device.id.id);
  if (driver.captures(stream))
    throw Error(RAPT_INVALID_ARGUMENT, cat(v.name, " is not loaded on ", device.text(),
                                           " yet and the stream is being captured: call rapt_preload before"));
  slot.code = archive.code(v);
  if (const Sibling* const sibling = find_sibling(device.arch); sibling && !rename_code(slot.code, *sibling))
    throw Error(RAPT_INVALID_ARGUMENT,
                cat(archive.path(), ": kernel ", v.name, ": the code object is not for ", sibling->code));
  Module module = nullptr;
  driver.check(driver.load_module(&module, slot.code.data()), "loading ", v.name, " of ", archive.path(), " on ",
               device.text(), " (", device.target, ")");
  Function function = nullptr;
  driver.check(driver.find_function(&function, module, v.symbol.c_str()), "looking for the kernel ", v.symbol, " in ",
               v.name, " of ", archive.path());
  slot.function.store(function, std::memory_order_release);
  return function;
}

std::shared_ptr<const Choice> choose(const Problem& problem, rapt_op op, rapt_device device, std::string_view named) {
  Kernels& kernels = Kernels::of(device);
  Needs needs = needs_of(problem, op);
  needs.named = find_named(kernels.shelf, named);
  const std::string never = unsupported(problem);
  return never.empty() ? kernels.choice(needs) : std::make_shared<const Choice>(Choice{{}, never});
}

void preload(const Problem& problem, rapt_op op, rapt_device device) {
  const auto choice = choose(problem, op, device, "");
  if (!choice->refusal.empty())
    throw Error(RAPT_UNSUPPORTED, cat(device_text(device), " cannot run ", problem.text(), ": ", choice->refusal));
  for (const PassKernel& k : choice->pass.kernels) Kernels::of(device).function(*k.variant, nullptr);
}

void preload(rapt_device device) {
  Kernels& kernels = Kernels::of(device);
  for (const Variant& v : kernels.shelf.kernels)
    if (v.known != nullptr) kernels.function(v, nullptr);
}

}  // namespace rapt::gpu
