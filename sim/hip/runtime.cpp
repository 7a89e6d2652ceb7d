#include "sim/hip/runtime.hpp"

#include "sim/hip/log.hpp"
#include "sim/hip/memory/pool.hpp"
#include "sim/hip/stream/stream.hpp"
#include "sim/memory/memory.hpp"
#include "sim/profile/profiler.hpp"

#include <cstdlib>

namespace rapt::sim::hip {

namespace {

std::vector<Arch> configured() {
  const char* variable = std::getenv("RAPT_SIM_ARCH");
  std::string_view text = variable == nullptr || *variable == 0 ? "gfx942" : variable;
  std::vector<Arch> archs;
  while (true) {
    const auto comma = std::min(text.find(','), text.size());
    const auto word = text.substr(0, comma);
    const auto arch = parse_arch(word);
    if (!arch) {
      std::string names;
      for (int i = 0; i < arch_count; i++) names += (i == 0 ? "" : ", ") + std::string(name(static_cast<Arch>(i)));
      log("RAPT_SIM_ARCH: no device is called '" + std::string(word) + "'; there are " + names);
      return {};
    }
    archs.push_back(*arch);
    if (comma == text.size()) return archs;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Device::Device(int id_, Arch arch_) : id(id_), arch(arch_), properties(sim::properties(arch_)) {
  null_stream = std::make_shared<Stream>(*this, 0, 0);
  streams.insert(null_stream);
  default_pool = pool = std::make_shared<Pool>(id);
}

Device::~Device() = default;

Error Device::synchronize() {
  std::vector<std::shared_ptr<Stream>> all;
  {
    const std::lock_guard lock(order);
    all.assign(streams.begin(), streams.end());
  }
  for (const auto& stream : all) stream->synchronize();
  return failure;
}

Runtime::Runtime() {
  Memory::process();  // created before the streams, so that it outlives them
  Profiler::process();
  for (const Arch arch : configured()) {
    const int id = static_cast<int>(devices_.size());
    devices_.push_back(std::make_unique<Device>(id, arch));
    Memory::process().set_limit(id, sim::properties(arch).memory_bytes);
  }
  std::atexit([] { get().drain(); });
}

Runtime& Runtime::get() {
  static Runtime& runtime = *new Runtime;
  return runtime;
}

Device& Runtime::device(int id) const {
  need(id >= 0 && static_cast<std::size_t>(id) < devices_.size(), Error::invalid_device, "no device of that number");
  return *devices_[static_cast<std::size_t>(id)];
}

void Runtime::drain() {
  for (const auto& device : devices_) device->synchronize();
}

Thread& thread() {
  thread_local Thread state;
  return state;
}

Thread::~Thread() {
  for (const auto& [id, stream] : streams) {
    Device& device = *Runtime::get().devices()[static_cast<std::size_t>(id)];
    const std::lock_guard lock(device.order);
    device.streams.erase(stream);
  }
}

Error start() { return Runtime::get().devices().empty() ? Error::no_device : Error::success; }

}  // namespace rapt::sim::hip
