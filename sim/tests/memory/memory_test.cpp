// The list of allocations: lookups, limits, the description of a bad address, tracking of written bytes, many threads.
#include "sim/memory/memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace rapt::sim {
namespace {

std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

TEST(Memory, FindsWhatIsLiveToTheByte) {
  Memory& memory = Memory::process();
  auto* p = static_cast<unsigned char*>(memory.allocate(1000, 256, MemoryKind::device, 0));
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(address(p) % 256, 0U);
  for (const std::size_t at : {0, 1, 999}) {
    const Allocation* found = memory.find(address(p + at));
    ASSERT_NE(found, nullptr) << at;
    EXPECT_EQ(found->base, address(p));
    EXPECT_EQ(found->size, 1000U);
    EXPECT_EQ(found->kind, MemoryKind::device);
  }
  EXPECT_EQ(memory.find(address(p) - 1), nullptr);
  EXPECT_EQ(memory.find(address(p) + 1000), nullptr);
  EXPECT_EQ(memory.find(0), nullptr);
  EXPECT_TRUE(memory.release(p));
  EXPECT_EQ(memory.find(address(p)), nullptr);
  EXPECT_FALSE(memory.release(p));
}

TEST(Memory, ReleaseTakesOnlyTheStart) {
  Memory& memory = Memory::process();
  auto* p = static_cast<unsigned char*>(memory.allocate(64, 4096, MemoryKind::host, 0));
  EXPECT_FALSE(memory.release(p + 4));
  EXPECT_TRUE(memory.release(p));
}

TEST(Memory, FreshDeviceMemoryHoldsANan) {
  Memory& memory = Memory::process();
  // The second one is large enough to share its first pages.
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{200} << 20}) {
    auto* p = static_cast<std::uint32_t*>(memory.allocate(bytes, 4096, MemoryKind::device, 0));
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(p[0], 0xfff5fff5U);
    EXPECT_EQ(p[bytes / 4 - 1], 0xfff5fff5U);
    EXPECT_EQ(p[bytes / 8], 0xfff5fff5U);
    p[bytes / 8] = 1;
    EXPECT_EQ(p[bytes / 8 + 1], 0xfff5fff5U);
    memory.release(p);
  }
  auto* p = static_cast<std::uint32_t*>(memory.allocate(std::size_t{200} << 20, 4096, MemoryKind::device, 0));
  EXPECT_EQ(p[(std::size_t{200} << 20) / 8], 0xfff5fff5U) << "a write into one allocation is seen in another";
  memory.release(p);
}

TEST(Memory, LargeAllocationsTakeNoMemoryUntilTheyAreUsed) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  void* p = Memory::process().allocate(std::size_t{8} << 30, 4096, MemoryKind::device, 0);
  ASSERT_NE(p, nullptr);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 200 * 1024);
  Memory::process().release(p);
}

TEST(Memory, HoldsTheDevicesLimit) {
  Memory& memory = Memory::process();
  memory.set_limit(7, 10000);
  void* a = memory.allocate(6000, 256, MemoryKind::device, 7);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(memory.used(7), 6000U);
  EXPECT_EQ(memory.allocate(6000, 256, MemoryKind::device, 7), nullptr);
  EXPECT_EQ(memory.allocate(~std::size_t{0} - 100, 256, MemoryKind::device, 7), nullptr);
  void* host = memory.allocate(6000, 256, MemoryKind::host, 7);
  EXPECT_NE(host, nullptr) << "host memory is not the device's";
  memory.release(a);
  EXPECT_EQ(memory.used(7), 0U);
  void* b = memory.allocate(10000, 256, MemoryKind::device, 7);
  EXPECT_NE(b, nullptr);
  memory.release(b), memory.release(host);
  EXPECT_EQ(memory.allocate(std::size_t{1} << 62, 256, MemoryKind::host, 0), nullptr) << "more than the system has";
}

TEST(Memory, AdoptsMemoryOfTheCaller) {
  Memory& memory = Memory::process();
  static unsigned char own[100];
  EXPECT_TRUE(memory.adopt(own, 100, MemoryKind::registered, 0));
  EXPECT_FALSE(memory.adopt(own + 50, 100, MemoryKind::registered, 0)) << "overlaps its end";
  EXPECT_FALSE(memory.adopt(own + 99, 1, MemoryKind::registered, 0));
  ASSERT_NE(memory.find(address(own) + 99), nullptr);
  EXPECT_EQ(memory.find(address(own) + 100), nullptr);
  EXPECT_TRUE(memory.release(own));
  EXPECT_EQ(memory.find(address(own)), nullptr);
}

TEST(Memory, DescribesWhatIsWrongWithAnAddress) {
  Memory& memory = Memory::process();
  auto* p = static_cast<unsigned char*>(memory.allocate(4096, 4096, MemoryKind::device, 0));
  char at[32];
  std::snprintf(at, sizeof at, "0x%llx", static_cast<unsigned long long>(address(p)));
  EXPECT_NE(memory.describe(address(p) + 4099)
                .find("3 bytes past the end of the 4096 bytes of device memory at " + std::string(at)),
            std::string::npos)
      << memory.describe(address(p) + 4099);
  EXPECT_NE(memory.describe(address(p) - 8).find("8 bytes before the 4096 bytes"), std::string::npos);
  EXPECT_NE(memory.describe(0).find("null"), std::string::npos);
  EXPECT_NE(memory.describe(24).find("near a null pointer"), std::string::npos);
  memory.release(p);
  EXPECT_NE(memory.describe(address(p) + 16).find("byte 16 of freed 4096 bytes of device memory"), std::string::npos)
      << memory.describe(address(p) + 16);
  EXPECT_NE(memory.describe(0x123456789000).find("in no allocation"), std::string::npos);
}

TEST(Memory, IsFreshAsAskedFor) {
  Memory& memory = Memory::process();
  const auto first_word = [&](MemoryKind kind) {
    void* p = memory.allocate(64, 256, kind, 0);
    std::uint32_t word = 1;
    std::memcpy(&word, p, sizeof word);
    memory.release(p);
    return word;
  };
  EXPECT_EQ(first_word(MemoryKind::device), Memory::fresh_pattern);
  EXPECT_EQ(first_word(MemoryKind::host), 0U);
  Memory::set_fresh(0);
  EXPECT_EQ(first_word(MemoryKind::device), 0U);
  Memory::set_fresh(Memory::fresh_pattern);
}

TEST(Memory, TracksWrittenBytes) {
  Memory& memory = Memory::process();
  const bool before = Memory::tracking();
  Memory::set_tracking(true);
  auto* p = static_cast<unsigned char*>(memory.allocate(1024, 256, MemoryKind::device, 0));
  void* host = memory.allocate(1024, 256, MemoryKind::host, 0);
  Memory::set_tracking(before);
  const std::uint64_t a = address(p);
  EXPECT_FALSE(memory.is_written(a, 1));
  EXPECT_TRUE(memory.is_written(address(host), 1024)) << "nothing is known of host memory";
  memory.mark_written(a + 3, 40);
  for (unsigned byte = 0; byte < 60; ++byte) EXPECT_EQ(memory.is_written(a + byte, 1), byte >= 3 && byte < 43) << byte;
  EXPECT_TRUE(memory.is_written(a + 3, 40));
  EXPECT_FALSE(memory.is_written(a + 3, 41));
  memory.mark_written(a + 100, 2);
  EXPECT_TRUE(memory.is_written(a + 100, 2));
  EXPECT_FALSE(memory.is_written(a + 102, 1));
  memory.mark_written(a + 1020, 100);  // beyond the end: what is inside counts
  EXPECT_TRUE(memory.is_written(a + 1020, 4));
  memory.release(p), memory.release(host);
}

TEST(Memory, AnswersForWholeSpansOfWrittenBytes) {
  Memory& memory = Memory::process();
  const bool before = Memory::tracking();
  Memory::set_tracking(true);
  constexpr std::size_t size = 5 * 4096 + 100;
  auto* p = static_cast<unsigned char*>(memory.allocate(size, 4096, MemoryKind::device, 0));
  void* host = memory.allocate(1024, 256, MemoryKind::host, 0);
  Memory::set_tracking(before);
  const std::uint64_t a = address(p);
  EXPECT_FALSE(memory.all_written(a, a + size));
  memory.mark_written(a, size);
  EXPECT_TRUE(memory.all_written(a, a + size));
  EXPECT_FALSE(memory.all_written(a, a + size + 1)) << "beyond the allocation";
  EXPECT_FALSE(memory.all_written(a - 1, a + 1));
  EXPECT_TRUE(memory.all_written(address(host), address(host) + 1024));
  for (const std::size_t byte : {std::size_t{0}, std::size_t{63}, std::size_t{64}, std::size_t{4095}, std::size_t{4096},
                                 std::size_t{8191}, std::size_t{20000}, size - 1}) {
    memory.mark_unwritten(a + byte, 1);
    EXPECT_FALSE(memory.all_written(a, a + size)) << byte;
    EXPECT_FALSE(memory.is_written(a, size)) << byte;
    EXPECT_TRUE(byte == 0 || memory.all_written(a, a + byte)) << byte;
    EXPECT_TRUE(byte == size - 1 || memory.all_written(a + byte + 1, a + size)) << byte;
    memory.mark_written(a + byte, 1);
    EXPECT_TRUE(memory.all_written(a, a + size)) << byte;
  }
  memory.mark_unwritten(a + 100, 3 * 4096);
  EXPECT_TRUE(memory.all_written(a, a + 100) && memory.all_written(a + 100 + 3 * 4096, a + size));
  EXPECT_FALSE(memory.is_written(a + 100, 1) || memory.is_written(a + 99 + 3 * 4096, 1));
  memory.release(p), memory.release(host);
}

// Bytes that share a word and a page, marked and queried by separate threads.
TEST(Memory, ThreadsMarkTheirOwnBytes) {
  Memory& memory = Memory::process();
  const bool before = Memory::tracking();
  Memory::set_tracking(true);
  constexpr unsigned size = 8192, threads = 4;
  void* p = memory.allocate(size, 4096, MemoryKind::device, 0);
  Memory::set_tracking(before);
  const std::uint64_t a = address(p);
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> writers;
  for (unsigned t = 0; t < threads; ++t)
    writers.emplace_back([&, t] {
      for (unsigned round = 0; round < 20; ++round) {
        for (unsigned byte = t; byte < size; byte += threads) memory.mark_written(a + byte, 1);
        memory.all_written(a, a + size);
        for (unsigned byte = t; byte < size; byte += threads)
          if (!memory.is_written(a + byte, 1)) ++wrong;
        if (round == 19) break;
        for (unsigned byte = t; byte < size; byte += threads) memory.mark_unwritten(a + byte, 1);
        if (memory.all_written(a, a + size) || memory.is_written(a + t, 1)) ++wrong;
      }
    });
  for (std::thread& t : writers) t.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_TRUE(memory.all_written(a, a + size));
  memory.release(p);
}

TEST(Memory, ThreadsSeeEachOthersAllocations) {
  Memory& memory = Memory::process();
  std::atomic<bool> stop{false}, failed{false};
  auto* fixed = static_cast<unsigned char*>(memory.allocate(512, 256, MemoryKind::device, 0));
  std::vector<std::thread> readers;
  for (int n = 0; n < 3; ++n)
    readers.emplace_back([&] {
      while (!stop) {
        const Allocation* found = memory.find(address(fixed) + 5);
        if (!found || found->base != address(fixed) || found->freed) failed = true;
      }
    });
  for (int n = 0; n < 3000; ++n) {
    void* p = memory.allocate(64 + n % 100, 64, MemoryKind::host, 0);
    if (!memory.find(address(p))) failed = true;
    memory.release(p);
    if (memory.find(address(p))) failed = true;
  }
  stop = true;
  for (std::thread& t : readers) t.join();
  EXPECT_FALSE(failed);
  memory.release(fixed);
}

}  // namespace
}  // namespace rapt::sim
