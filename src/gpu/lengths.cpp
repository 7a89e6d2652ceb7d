#include "gpu/lengths.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"

namespace rapt::gpu {

namespace {

constexpr size_t kAlign = 64;

// Of one tensor of lengths.
size_t bytes_of(int64_t batch) { return static_cast<size_t>(batch + 1) * sizeof(int32_t); }
size_t aligned_bytes_of(int64_t batch) { return (bytes_of(batch) + kAlign - 1) / kAlign * kAlign; }

}  // namespace

size_t lengths_bytes(const Problem& problem) {
  return problem.varlen.empty() ? 0 : 2 * aligned_bytes_of(problem.batch);
}

Lengths::Lengths(Call& call, size_t bytes, const Launch& launch, const Device& device)
    : driver_(*device.driver), stream_(launch.stream) {
  if (bytes == 0) return;
  char* at = launch.workspace;
  if (at == nullptr) at = allocate(bytes, device);
  else if (launch.workspace_size < bytes)
    throw Error(RAPT_INVALID_ARGUMENT, cat("execution.workspace_size is ", uint64_t{launch.workspace_size},
                                           ", must be at least ", uint64_t{bytes}));
  try {
    for (const int32_t** lengths : {&call.cu_seqlens_q, &call.cu_seqlens_k}) {
      if (*lengths == nullptr) continue;
      driver_.check(driver_.copy_async(at, *lengths, bytes_of(call.batch), stream_), "copying cu_seqlens to ",
                    device.text());
      *lengths = reinterpret_cast<const int32_t*>(at);
      at += aligned_bytes_of(call.batch);
    }
  } catch (...) {
    abandon();
    throw;
  }
}

void Lengths::free(const Device& device) {
  if (own_ == nullptr) return;
  const Status status = driver_.free_async(std::exchange(own_, nullptr), stream_);
  driver_.check(status, "freeing the memory of cu_seqlens on ", device.text());
}

char* Lengths::allocate(size_t bytes, const Device& device) {
  if (!driver_.allocates_in_stream_order())
    throw Error(RAPT_INVALID_ARGUMENT, cat("varlen.cu_seqlens_q is in host memory and ", driver_.library(),
                                           " cannot allocate in stream order: give ", uint64_t{bytes},
                                           " bytes of execution.workspace, or put cu_seqlens on ", device.text()));
  driver_.check(driver_.allocate_async(&own_, bytes, stream_), "allocating ", uint64_t{bytes}, " bytes on ",
                device.text());
  return static_cast<char*>(own_);
}

// During another error, which says more than a failure to free.
void Lengths::abandon() {
  if (own_) static_cast<void>(driver_.free_async(own_, stream_));
}

void check_device_lengths(const Call& call, const Device& device, Stream stream) {
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

}  // namespace rapt::gpu
