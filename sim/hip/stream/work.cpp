#include "sim/hip/stream/work.hpp"

#include "sim/device/device.hpp"
#include "sim/device/environment.hpp"
#include "sim/hip/memory/allocation.hpp"
#include "sim/hip/log.hpp"
#include "sim/hip/runtime.hpp"
#include "sim/machine/core/fault.hpp"
#include "sim/memory/memory.hpp"
#include "sim/profile/profiler.hpp"
#include "sim/profile/time_log.hpp"
#include "sim/profile/trace.hpp"
#include "sim/timing/launch_time.hpp"

#include <atomic>
#include <cstring>
#include <thread>

namespace rapt::sim::hip {

namespace {

// HIP has no error for illegal instructions.
Error error_of(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::illegal_address: return Error::illegal_address;
    case FaultKind::endless: return Error::launch_time_out;
    default: return Error::launch_failure;
  }
}

struct Executor {
  Device& device;
  double& clock;

  void operator()(const KernelWork& work) const {
    Launch launch;
    launch.object = &work.function->object();
    launch.kernel = &work.function->kernel();
    launch.groups = {work.grid.x, work.grid.y, work.grid.z};
    launch.group_size = {work.block.x, work.block.y, work.block.z};
    launch.last_group_size = {work.last_block[0], work.last_block[1], work.last_block[2]};
    launch.arguments = work.arguments;
    launch.dynamic_lds = work.dynamic_lds;
    const TimeMode mode = environment().time;
    TimeRequest time{mode == TimeMode::off ? nullptr : device.chip, mode == TimeMode::sample};
    if (mode == TimeMode::all) time.most_to_time_whole = ~std::uint64_t{0};
    const LaunchResult result = run(launch, device.id, {Profiler::process(), Tracer::process()}, time);
    if (result.forecast) clock += result.forecast->microseconds * 1000;
    else clock += static_cast<double>(result.cycles) * 1e6 / device.properties.clock_khz;
    if (TimeLog* const times = TimeLog::process(); times != nullptr && result.forecast)
      times->add(launch, *device.chip, *result.forecast);
    if (result.forecast) log(launch.kernel->name + ": " + timing::summary(*result.forecast));
    // The machine may have initialised statics in its first run; they must outlive the streams.
    static const int again = std::atexit([] { Runtime::get().drain(); });
    static_cast<void>(again);
  }

  void operator()(const CopyWork& work) const {
    auto* to = static_cast<char*>(work.to);
    const auto* from = static_cast<const char*>(work.from);
    const auto rows = work.extent.width == work.to_pitch && work.to_pitch == work.from_pitch ? 1 : work.extent.height;
    const auto width = rows == 1 ? work.extent.width * work.extent.height : work.extent.width;
    for (std::size_t z = 0; z < work.extent.depth; z++)
      for (std::size_t y = 0; y < rows; y++) {
        char* row = to + z * work.to_slice + y * work.to_pitch;
        std::memmove(row, from + z * work.from_slice + y * work.from_pitch, width);
        Memory::process().mark_written(reinterpret_cast<std::uint64_t>(row), width);
      }
  }

  void operator()(const FillWork& work) const {
    for (std::size_t z = 0; z < work.extent.depth; z++)
      for (std::size_t y = 0; y < work.extent.height; y++) {
        char* row = static_cast<char*>(work.to) + z * work.slice + y * work.pitch;
        const std::size_t size = work.extent.width * work.element_size;
        if (work.element_size == 1) std::memset(row, static_cast<int>(work.value), size);
        else
          for (std::size_t x = 0; x < size; x += work.element_size)
            std::memcpy(row + x, &work.value, work.element_size);
        Memory::process().mark_written(reinterpret_cast<std::uint64_t>(row), size);
      }
  }

  void operator()(const HostWork& work) const { work.function(work.data); }
  void operator()(const CallbackWork& work) const { work.function(work.stream, device.failure, work.data); }

  void operator()(const WriteWork& work) const {
    if (work.bytes == 4)
      std::atomic_ref(*static_cast<std::uint32_t*>(work.to)).store(static_cast<std::uint32_t>(work.value));
    else std::atomic_ref(*static_cast<std::uint64_t*>(work.to)).store(work.value);
    Memory::process().mark_written(reinterpret_cast<std::uint64_t>(work.to), work.bytes);
  }

  void operator()(const WaitWork& work) const {
    while (!holds(work) && device.failure == Error::success) std::this_thread::yield();
  }

  void operator()(const ReleaseWork& work) const {
    if (!work.keep) release_memory(work.pointer);
  }

  // Work that streams and graphs do themselves, and work that does nothing.
  template <typename Other>
  void operator()(const Other&) const {}

 private:
  static bool holds(const WaitWork& work) {
    auto* at = const_cast<void*>(work.at);
    const std::uint64_t now = work.bytes == 4 ? std::atomic_ref(*static_cast<std::uint32_t*>(at)).load()
                                              : std::atomic_ref(*static_cast<std::uint64_t*>(at)).load();
    const std::uint64_t value = now & work.mask;
    switch (work.condition) {
      case wait_greater_equal:
        return work.bytes == 4 ? static_cast<std::int32_t>(value - work.value) >= 0
                               : static_cast<std::int64_t>(value - work.value) >= 0;
      case wait_equal: return value == work.value;
      case wait_and: return (value & work.value) != 0;
      default: return ~(value | work.value) != 0;
    }
  }
};

// Memory is freed and the host is called even after a failure.
bool runs_after_failure(const Work& work) {
  return std::holds_alternative<ReleaseWork>(work) || std::holds_alternative<HostWork>(work) ||
         std::holds_alternative<CallbackWork>(work);
}

}  // namespace

void execute(const Work& work, Device& device, double& clock) {
  if (device.failure != Error::success && !runs_after_failure(work)) return;
  Error error = Error::success;
  try {
    std::visit(Executor{device, clock}, work);
    return;
  } catch (const Fault& fault) {
    error = error_of(fault);
    log(fault.what());
  } catch (const std::bad_alloc&) {
    error = Error::out_of_memory;
    log("out of memory in a kernel");
  } catch (const std::exception& failure) {
    error = Error::launch_failure;
    log(failure.what());
  }
  Error none = Error::success;
  device.failure.compare_exchange_strong(none, error);
}

}  // namespace rapt::sim::hip
