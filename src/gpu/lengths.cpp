#include "gpu/lengths.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"

namespace rapt::gpu {

namespace {

constexpr size_t kAlign = 64;

// The size of one tensor of lengths.
size_t bytes_of(int64_t batch) { return static_cast<size_t>(batch + 1) * sizeof(int32_t); }
size_t aligned_bytes_of(int64_t batch) { return (bytes_of(batch) + kAlign - 1) / kAlign * kAlign; }

// Each replay makes a captured copy again, when memory that the driver has not pinned may be freed.
void check_replayable(const char* name, const int32_t* lengths, Driver& driver, Stream stream) {
  if (!driver.captures(stream)) return;
  MemoryPlace place;
  driver.check(driver.locate(lengths, place), "asking which memory ", name, " is in");
  if (place.kind == MemoryKind::unknown)
    throw Error(RAPT_INVALID_ARGUMENT, cat(name,
                                           " is in host memory and the stream is being captured, must be in "
                                           "device or pinned memory, which replays read"));
}

}  // namespace

size_t lengths_bytes(int64_t batch) { return 2 * aligned_bytes_of(batch); }

void copy_lengths(Call& call, char* to, const Device& device, Stream stream) {
  if (call.varlen.empty()) return;
  Driver& driver = *device.driver;
  for (auto& [name, lengths] :
       {std::pair{"varlen.cu_seqlens_q", &call.cu_seqlens_q}, std::pair{"varlen.cu_seqlens_k", &call.cu_seqlens_k}}) {
    if (*lengths == nullptr) continue;
    check_replayable(name, *lengths, driver, stream);
    driver.check(driver.copy_async(to, *lengths, bytes_of(call.batch), stream), "copying cu_seqlens to ",
                 device.text());
    *lengths = reinterpret_cast<const int32_t*>(to);
    to += aligned_bytes_of(call.batch);
  }
}

void check_device_lengths(const Call& call, const Device& device, Stream stream) {
  Driver& driver = *device.driver;
  if (driver.captures(stream))
    throw Error(RAPT_INVALID_ARGUMENT,
                "check_device_seqlens is set and the stream is being captured: lengths cannot be waited for");
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
