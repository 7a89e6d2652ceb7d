#include "sim/hip/runtime.hpp"

#include "sim/device/environment.hpp"
#include "sim/hip/log.hpp"
#include "sim/hip/memory/pool.hpp"
#include "sim/hip/stream/stream.hpp"
#include "sim/memory/memory.hpp"
#include "sim/profile/profiler.hpp"
#include "sim/profile/time_log.hpp"
#include "sim/timing/device_name.hpp"

#include <cstdio>
#include <cstdlib>
#include <optional>

namespace rapt::sim::hip {

namespace {

// Without RAPT_SIM_LOG too: the program can only say that there is no device.
void complain(const std::string& why) { std::fprintf(stderr, "rapt-sim: %s\n", why.c_str()); }

// Nothing if there is no such device.
std::optional<timing::DeviceName> find_device(std::string_view word) {
  const auto device = timing::parse_device_name(word);
  if (!device)
    complain("RAPT_SIM_ARCH: no device is called '" + std::string(word) + "'; there are " + timing::device_names());
  return device;
}

// None if a variable has a value that it cannot have.
std::vector<timing::DeviceName> configured() {
  if (environment().time == TimeMode::unknown) {
    complain("RAPT_SIM_TIME: '" + std::string(std::getenv("RAPT_SIM_TIME")) + "' is none of 0, 1, sample and all");
    return {};
  }
  const char* variable = std::getenv("RAPT_SIM_ARCH");
  std::string_view text = variable == nullptr || *variable == 0 ? "gfx942" : variable;
  std::vector<timing::DeviceName> devices;
  while (true) {
    const auto comma = std::min(text.find(','), text.size());
    const auto word = text.substr(0, comma);
    const auto device = find_device(word);
    if (!device) return {};
    devices.push_back(*device);
    if (comma == text.size()) return devices;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Device::Device(int id_, Arch arch_, const timing::Chip* chip_)
    : id(id_), arch(arch_), chip(chip_), properties(sim::properties(arch_)) {
  properties.compute_units = compute_units(*chip);
  properties.compute_units_per_xcd = properties.compute_units / chip->dies;
  properties.clock_khz = static_cast<unsigned>(chip->clock_mhz * 1000);
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
  // What a workgroup that does not run would have written is read as zeros.
  if (environment().time == TimeMode::sample) Memory::set_fresh(0);
  Profiler::process();
  TimeLog::process();
  for (const auto& [arch, chip] : configured()) {
    const int id = static_cast<int>(devices_.size());
    devices_.push_back(std::make_unique<Device>(id, arch, chip));
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
