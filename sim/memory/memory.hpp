// The memory that kernels see. A device address is the host's address, so host pointers, managed memory and copies need
// no translation; every access is checked against the list of live allocations.
#pragma once

#include "sim/memory/written.hpp"

#include <atomic>
#include <cstddef>
#include <string>

namespace rapt::sim {

enum class MemoryKind : std::uint8_t { device, host, managed, registered, code };

struct Allocation {
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  MemoryKind kind = MemoryKind::device;
  int device = 0;
  bool freed = false;             // kept for a while after release, to name a late access
  WrittenMap* written = nullptr;  // which bytes have been written, when tracking is on
};

// All allocations of the process. Lookups are lock-free; all functions are thread-safe.
class Memory {
 public:
  static Memory& process();

  // Guarded by unmapped or poisoned bytes at both ends; null if the limit of the device's memory would be exceeded.
  // Fresh device memory holds fresh_pattern, a NaN in f32, f16 and bf16, or what set_fresh() says.
  void* allocate(std::size_t bytes, std::size_t alignment, MemoryKind kind, int device);
  static constexpr std::uint32_t fresh_pattern = 0xfff5fff5;
  static void set_fresh(std::uint32_t pattern) { fresh_.store(pattern, std::memory_order_relaxed); }
  // Memory that the caller owns (hipHostRegister, code segments). False if it overlaps a live allocation.
  bool adopt(void* base, std::size_t bytes, MemoryKind kind, int device);
  // False if base is not the start of a live allocation.
  bool release(void* base);

  // Device and managed memory of one device: the limit, and the bytes in use.
  void set_limit(int device, std::uint64_t bytes);
  std::uint64_t used(int device) const;

  // The live allocation that holds the address; null if there is none. Valid until it is released.
  const Allocation* find(std::uint64_t address) const {
    const Recent& recent = recent_;
    if (recent.generation == generation_.load(std::memory_order_acquire))
      for (const Recent::Entry& entry : recent.entries)
        if (address - entry.base < entry.size) return entry.allocation;
    return find_and_remember(address);
  }
  // Describes an address that find() does not know: "3 bytes past the end of the 4096 bytes at 0x..", ...
  std::string describe(std::uint64_t address) const;

  // Marks host writes (copies, memsets) as defined.
  void mark_written(std::uint64_t address, std::size_t bytes);
  // Makes bytes undefined again: reused private memory, and spilled values that were undefined.
  void mark_unwritten(std::uint64_t address, std::size_t bytes);
  // False if a byte was never written; true if nothing is known (tracking off, or memory of the host).
  bool is_written(std::uint64_t address, std::size_t bytes) const;
  // Whether [begin, end) is in one allocation and none of it is known to be unwritten. Also false if that would take
  // long to find out: is_written() then answers for the parts.
  bool all_written(std::uint64_t begin, std::uint64_t end) const;
  // Whether allocations made from now on have a `written` map. Initially off, but on if RAPT_SIM_CHECK is set and not
  // "0".
  static void set_tracking(bool on) { tracking_.store(on, std::memory_order_relaxed); }
  static bool tracking() { return tracking_.load(std::memory_order_relaxed); }

 private:
  // The allocations that this thread found last, valid for one state of the list.
  struct Recent {
    struct Entry {
      std::uint64_t base = 0, size = 0;
      const Allocation* allocation = nullptr;
    };
    std::uint64_t generation = 0;
    Entry entries[4];
    unsigned next = 0;
  };

  Memory();
  ~Memory();
  const Allocation* find_and_remember(std::uint64_t address) const;

  static constinit thread_local Recent recent_;
  static std::atomic<std::uint64_t> generation_;
  static std::atomic<bool> tracking_;
  static std::atomic<std::uint32_t> fresh_;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rapt::sim
