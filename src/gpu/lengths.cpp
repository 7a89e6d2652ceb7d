#include "gpu/lengths.hpp"

#include <cstdlib>
#include <deque>
#include <string_view>
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

bool are_checked(const Call& call) {
  if (!call.device_lengths && !call.has_cache) return false;
  const char* wish = std::getenv("RAPT_CHECK");
  if (wish == nullptr || *wish == '\0') return call.check_lengths;
  if (std::string_view(wish) == "lengths") return true;
  throw Error(RAPT_INVALID_ARGUMENT, cat("RAPT_CHECK is '", wish, "', must be lengths"));
}

void check_device_lengths(Call call, const Device& device, Stream stream) {
  Driver& driver = *device.driver;
  if (driver.captures(stream))
    throw Error(RAPT_INVALID_ARGUMENT, cat(call.check_lengths ? "check_device_seqlens" : "RAPT_CHECK",
                                           " is set and the stream is being captured: lengths cannot be waited for"));
  std::deque<std::vector<int32_t>> copies;
  const auto copy = [&](const char* name, const int32_t*& numbers, int64_t count) {
    if (numbers == nullptr) return;
    std::vector<int32_t>& to = copies.emplace_back(static_cast<size_t>(count));
    driver.check(driver.copy_async(to.data(), numbers, to.size() * sizeof(int32_t), stream), "copying ", name, " from ",
                 device.text());
    numbers = to.data();
  };
  if (call.device_lengths) {
    copy("cu_seqlens", call.cu_seqlens_q, call.batch + 1);
    copy("cu_seqlens", call.cu_seqlens_k, call.batch + 1);
  }
  copy("seqused_k", call.seqused_k, call.batch);
  copy("cache_batch_idx", call.cache_batch_idx, call.batch);
  copy("leftpad_k", call.leftpad_k, call.batch);
  if (call.block_table && call.batch > 0)
    copy("block_table", call.block_table, (call.batch - 1) * call.block_table_row + call.capacity / call.page);
  driver.check(driver.synchronize_stream(stream), "waiting for lengths from ", device.text());
  validate_lengths(std::move(call));
}

}  // namespace rapt::gpu
