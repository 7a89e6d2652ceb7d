#include "gpu/kernels.hpp"

#include "base/error.hpp"
#include "gpu/gpu.hpp"
#include "gpu/per_device.hpp"

namespace rapt::gpu {

namespace {

constexpr size_t kMostPasses = 4096;  // then all are forgotten: it bounds the memory of a service with ever new shapes

}  // namespace

Loader::Loader(const Device& device, const Archive& archive)
    : device_(device), archive_(archive), loaded_(std::make_unique<Loaded[]>(archive.variants().size())) {}

Function Loader::function(size_t index, Stream stream) {
  const Function known = loaded_[index].function.load(std::memory_order_acquire);
  return known ? known : load(index, stream);
}

Function Loader::load(size_t index, Stream stream) {
  const Variant& v = archive_.variants()[index];
  const std::lock_guard lock(loading_);
  Loaded& slot = loaded_[index];
  if (const Function known = slot.function.load()) return known;
  Driver& driver = *device_.driver;
  const DeviceScope scope(driver, device_.id.id);
  if (driver.captures(stream))
    throw Error(RAPT_INVALID_ARGUMENT, cat(v.name, " is not loaded on ", device_.text(),
                                           " yet and the stream is being captured: call rapt_preload before"));
  std::vector<std::byte> code = archive_.code(v);
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

std::shared_ptr<const Pass> ChosenPasses::find(const Needs& needs) const {
  const std::shared_lock lock(mutex_);
  const auto found = passes_.find(needs);
  return found == passes_.end() ? nullptr : found->second;
}

std::shared_ptr<const Pass> ChosenPasses::keep(const Needs& needs, const Pass& pass) {
  const auto kept = std::make_shared<const Pass>(pass);
  const std::lock_guard lock(mutex_);
  if (passes_.size() >= kMostPasses) passes_.clear();
  passes_.insert_or_assign(needs, kept);
  return kept;
}

Kernels::Kernels(const Device& of)
    : device(of), archive(Archive::open(find_archive(of.arch))), tuning(Tuning::of(archive)), loader(of, archive) {
  if (archive.arch() != device.arch)
    throw Error(RAPT_UNSUPPORTED,
                cat(archive.path(), " has kernels for ", archive.arch(), ", ", device.text(), " is ", device.arch));
}

Kernels& Kernels::of(rapt_device id) {
  static auto& all = *new PerDevice<Kernels>;
  return all.get(id, [&] { return std::make_unique<Kernels>(gpu::device(id)); });
}

std::shared_ptr<const Pass> choose(const Request& request, std::string& refusal) {
  Kernels& kernels = Kernels::of(request.device);
  refusal = unsupported(request.problem);
  if (!refusal.empty()) return nullptr;
  const Needs needs = needs_of(request.problem, request.op);
  if (request.kernel.empty())
    if (auto known = kernels.chosen.find(needs)) return known;
  Choice choice = choose(kernels.shelf(), needs, request.kernel);
  refusal = std::move(choice.refusal);
  if (!refusal.empty()) return nullptr;
  return request.kernel.empty() ? kernels.chosen.keep(needs, choice.pass) : std::make_shared<const Pass>(choice.pass);
}

void preload(const Problem& problem, rapt_op op, rapt_device device) {
  std::string why;
  const auto pass = choose({problem, op, device, ""}, why);
  if (!pass) throw Error(RAPT_UNSUPPORTED, cat(gpu::device(device).text(), " cannot run ", problem.text(), ": ", why));
  for (const PassKernel& k : pass->list()) Kernels::of(device).loader.function(k.index, nullptr);
}

void preload(rapt_device device) {
  Kernels& kernels = Kernels::of(device);
  for (size_t i = 0; i < kernels.list().size(); ++i)
    if (of_another_version(kernels.list()[i]).empty()) kernels.loader.function(i, nullptr);
}

}  // namespace rapt::gpu
