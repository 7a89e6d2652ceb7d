// Launches a forward kernel, after what only the driver can check.
#include <vector>

#include "gpu/arguments.hpp"
#include "gpu/gpu.hpp"
#include "problem/error.hpp"

namespace rapt::gpu {

namespace {

constexpr size_t kAlign = 64;

size_t lengths_bytes(const ForwardCall& call) {
  return (static_cast<size_t>(call.batch + 1) * sizeof(int32_t) + kAlign - 1) / kAlign * kAlign;
}

// cu_seqlens of host memory, copied in the stream's order to where kernels can read them: the caller's workspace, or
// memory that the stream allocates and frees.
class Lengths {
 public:
  Lengths(ForwardCall& call, const Hip& hip, const Launch& launch, const Device& device)
      : hip_(hip), stream_(launch.stream) {
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
        hip.check(hip.hipMemcpyAsync(at, *lengths, used, kHipMemcpyDefault, stream_), "copying cu_seqlens to ",
                  device.text());
        *lengths = reinterpret_cast<const int32_t*>(at);
        at += lengths_bytes(call);
      }
    } catch (...) {
      free();
      throw;
    }
  }
  ~Lengths() { free(); }
  Lengths(const Lengths&) = delete;
  Lengths& operator=(const Lengths&) = delete;

 private:
  char* allocate(size_t bytes, const Device& device) {
    if (!hip_.hipMallocAsync || !hip_.hipFreeAsync)
      throw Error(RAPT_INVALID_ARGUMENT, cat("varlen.cu_seqlens_q is in host memory and ", hip_.path(),
                                             " lacks hipMallocAsync: give ", static_cast<uint64_t>(bytes),
                                             " bytes of execution.workspace, or put cu_seqlens on ", device.text()));
    hip_.check(hip_.hipMallocAsync(&own_, bytes, stream_), "allocating ", static_cast<uint64_t>(bytes), " bytes on ",
               device.text());
    return static_cast<char*>(own_);
  }
  void free() {
    if (own_) static_cast<void>(hip_.hipFreeAsync(own_, stream_));
    own_ = nullptr;
  }

  const Hip& hip_;
  const HipStream stream_;
  void* own_ = nullptr;
};

void check_device_lengths(const ForwardCall& call, const Hip& hip, const Device& device, HipStream stream) {
  const size_t count = static_cast<size_t>(call.batch + 1);
  std::vector<int32_t> q(count), k(call.cu_seqlens_k ? count : 0);
  for (auto& [to, from] : {std::pair{&q, call.cu_seqlens_q}, std::pair{&k, call.cu_seqlens_k}})
    if (from)
      hip.check(hip.hipMemcpyAsync(to->data(), from, to->size() * sizeof(int32_t), kHipMemcpyDefault, stream),
                "copying cu_seqlens from ", device.text());
  hip.check(hip.hipStreamSynchronize(stream), "waiting for cu_seqlens from ", device.text());
  validate_lengths(call, q.data(), k.empty() ? nullptr : k.data());
}

}  // namespace

size_t workspace_bytes(const ForwardCall& call) {
  if (call.device_lengths) return 0;
  return ((call.cu_seqlens_q != nullptr) + (call.cu_seqlens_k != nullptr)) * lengths_bytes(call);
}

void forward(const ForwardCall& given, const Plan& plan, const Launch& launch) {
  ForwardCall call = given;
  Modules& modules = *plan.modules;
  const Hip& hip = modules.hip();
  const Device& device = modules.device();
  const Variant& variant = modules.variants()[plan.stages[0].variant];
  const auto groups = static_cast<unsigned>(workgroups(variant, requirements_of(call)));
  if (groups == 0) return;
  const DeviceScope scope(hip, device.id);
  check_pointers(call, hip, device);
  if (call.check_lengths) check_device_lengths(call, hip, device, launch.stream);
  const HipFunction function = modules.function(plan.stages[0].variant, launch.stream);
  const Lengths lengths(call, hip, launch, device);
  rapt_forward_args arguments = forward_args(call, variant, device);
  void* parameters[] = {&arguments};  // the kernel's one argument
  const auto threads = static_cast<unsigned>(variant.threads);
  if (const HipError error =
          hip.hipModuleLaunchKernel(function, groups, 1, 1, threads, 1, 1, 0, launch.stream, parameters, nullptr))
    hip.fail(error, cat("launching ", variant.name, " on ", device.text(), " (", uint64_t{groups}, " workgroups of ",
                        variant.threads, " threads, ", variant.lds, " bytes of LDS)"));
}

}  // namespace rapt::gpu
