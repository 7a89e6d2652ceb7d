// The memory that kernels see. A device address is the host's address, so that host pointers, managed memory and copies need
// no translation; every access is held against the list of live allocations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rapt::sim {

enum class MemoryKind : std::uint8_t { device, host, managed, registered, code };

struct Allocation {
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  MemoryKind kind = MemoryKind::device;
  int device = 0;
  bool freed = false;           // kept for a while after release, to name a late access
  unsigned char* written = nullptr; // one bit a byte, when the sanitizer is on: the byte has been written
};

// All allocations of the process. Reading is lock-free; any thread may call anything.
class Memory {
public:
  static Memory& process();

  // Guarded by unmapped or poisoned bytes at both ends; null when the limit of the device's memory is passed.
  void* allocate(std::size_t bytes, std::size_t alignment, MemoryKind kind, int device);
  // Memory that the caller owns (hipHostRegister, code segments).
  bool adopt(void* base, std::size_t bytes, MemoryKind kind, int device);
  // False where base is not the start of a live allocation.
  bool release(void* base);

  // The live allocation that holds the address; null where there is none. Valid until it is released.
  const Allocation* find(std::uint64_t address) const;
  // What is known about an address that find() does not know: "3 bytes past the end of the 4096 bytes at 0x..", "freed", ...
  std::string describe(std::uint64_t address) const;

  // Marks host writes (copies, memsets) as defined.
  void mark_written(std::uint64_t address, std::size_t bytes);

private:
  Memory();
  ~Memory();
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace rapt::sim
