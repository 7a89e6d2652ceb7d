// Launches a forward kernel, after the checks that need the driver.
#include <utility>
#include <vector>

#include "gpu/arguments.hpp"
#include "gpu/gpu.hpp"
#include "base/error.hpp"

namespace rapt::gpu {

namespace {

constexpr size_t kAlign = 64;

size_t lengths_bytes(const ForwardCall& call) {
  return (static_cast<size_t>(call.batch + 1) * sizeof(int32_t) + kAlign - 1) / kAlign * kAlign;
}

// cu_seqlens in host memory, copied in stream order to memory that kernels can read: the caller's workspace, or memory
// that the stream allocates and frees.
class Lengths {
 public:
  Lengths(ForwardCall& call, const Launch& launch, const Device& device)
      : driver_(*device.driver), stream_(launch.stream) {
    const size_t bytes = workspace_bytes(call);
    if (bytes == 0) return;
    char* at = launch.workspace;
    if (at == nullptr) at = allocate(bytes, device);
    else if (launch.workspace_size < bytes)
      throw Error(RAPT_INVALID_ARGUMENT,
                  cat("execution.workspace_size is ", static_cast<uint64_t>(launch.workspace_size),
                      ", must be at least ", static_cast<uint64_t>(bytes)));
    try {
      for (const int32_t** lengths : {&call.cu_seqlens_q, &call.cu_seqlens_k}) {
        if (*lengths == nullptr) continue;
        const size_t used = static_cast<size_t>(call.batch + 1) * sizeof(int32_t);
        driver_.check(driver_.copy_async(at, *lengths, used, stream_), "copying cu_seqlens to ", device.text());
        *lengths = reinterpret_cast<const int32_t*>(at);
        at += lengths_bytes(call);
      }
    } catch (...) {
      abandon();
      throw;
    }
  }
  ~Lengths() { abandon(); }
  Lengths(const Lengths&) = delete;
  Lengths& operator=(const Lengths&) = delete;

  // After the launch: the stream frees them when the kernel is done.
  void free(const Device& device) {
    if (own_ == nullptr) return;
    const Status status = driver_.free_async(std::exchange(own_, nullptr), stream_);
    driver_.check(status, "freeing the memory of cu_seqlens on ", device.text());
  }

 private:
  char* allocate(size_t bytes, const Device& device) {
    if (!driver_.allocates_in_stream_order())
      throw Error(RAPT_INVALID_ARGUMENT, cat("varlen.cu_seqlens_q is in host memory and ", driver_.library(),
                                             " cannot allocate in stream order: give ", static_cast<uint64_t>(bytes),
                                             " bytes of execution.workspace, or put cu_seqlens on ", device.text()));
    driver_.check(driver_.allocate_async(&own_, bytes, stream_), "allocating ", static_cast<uint64_t>(bytes),
                  " bytes on ", device.text());
    return static_cast<char*>(own_);
  }
  // During another error, which says more than a failure to free.
  void abandon() {
    if (own_) static_cast<void>(driver_.free_async(own_, stream_));
  }

  Driver& driver_;
  const Stream stream_;
  void* own_ = nullptr;
};

void check_device_lengths(const ForwardCall& call, const Device& device, Stream stream) {
  Driver& driver = *device.driver;
  const size_t count = static_cast<size_t>(call.batch + 1);
  std::vector<int32_t> q(count), k(call.cu_seqlens_k ? count : 0);
  for (auto& [to, from] : {std::pair{&q, call.cu_seqlens_q}, std::pair{&k, call.cu_seqlens_k}})
    if (from)
      driver.check(driver.copy_async(to->data(), from, to->size() * sizeof(int32_t), stream),
                   "copying cu_seqlens from ", device.text());
  driver.check(driver.synchronize_stream(stream), "waiting for cu_seqlens from ", device.text());
  validate_lengths(call, q.data(), k.empty() ? nullptr : k.data());
}

}  // namespace

size_t workspace_bytes(const ForwardCall& call) {
  if (call.device_lengths) return 0;
  return ((call.cu_seqlens_q != nullptr) + (call.cu_seqlens_k != nullptr)) * lengths_bytes(call);
}

void forward(ForwardCall& call, const Plan& plan, const Launch& launch) {
  Modules& modules = *plan.modules;
  const Device& device = modules.device();
  const Variant& variant = modules.variants()[plan.stages[0].variant];
  const uint32_t groups = plan.stages[0].workgroups;
  if (groups == 0) return;
  Driver& driver = *device.driver;
  const DeviceScope scope(driver, device.id.id);
  check_pointers(call, device);
  if (call.check_lengths) check_device_lengths(call, device, launch.stream);
  const Function function = modules.function(plan.stages[0].variant, launch.stream);
  Lengths lengths(call, launch, device);
  const rapt_forward_args arguments = forward_args(call, variant, device);
  const LaunchShape shape{.grid = {groups}, .block = {static_cast<uint32_t>(variant.threads)}};
  if (const Status status = driver.launch(function, shape, &arguments, sizeof arguments, launch.stream);
      status != Status::success)
    driver.fail(status, cat("launching ", variant.name, " on ", device.text(), " (", uint64_t{groups},
                            " workgroups of ", variant.threads, " threads, ", variant.shared_memory, " bytes of LDS)"));
  lengths.free(device);
}

}  // namespace rapt::gpu
