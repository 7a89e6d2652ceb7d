#include "sim/validate/launch/device_buffer.hpp"

#include "sim/memory/memory.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace rapt::sim::validate {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t block = std::size_t{4} << 20;  // of random values before they repeat

// PyTorch's allocator gives out multiples of this, and some kernels read whole vectors past the end of a tensor.
constexpr std::size_t granule = 512;

std::size_t whole_pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }

// Replaces pages of an allocation, whose first is at `at`, by private ones of the file, or of zeros if it is -1.
void map_over(std::byte* at, std::size_t bytes, int file) {
  const int kind = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0);
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, kind, file, 0) == MAP_FAILED) throw std::bad_alloc();
}

// A file in memory with a block of random values; it stays open for later operands of the same kind.
int random_file(Number number, std::uint64_t seed) {
  static std::mutex mutex;
  static std::map<std::pair<Number, std::uint64_t>, int> files;
  const std::lock_guard lock(mutex);
  const auto found = files.try_emplace({number, seed}, -1).first;
  if (found->second >= 0) return found->second;
  const int file = memfd_create("rapt-sim-operand", MFD_CLOEXEC);
  void* view = file >= 0 && ftruncate(file, block) == 0
                   ? mmap(nullptr, block, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                   : MAP_FAILED;
  if (view == MAP_FAILED) {
    if (file >= 0) close(file);
    throw std::bad_alloc();
  }
  fill_random(number, {static_cast<std::byte*>(view), block}, seed);
  munmap(view, block);
  return found->second = file;
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::size_t bytes)
    : data_(static_cast<std::byte*>(
          Memory::process().allocate((bytes + granule - 1) / granule * granule, page, MemoryKind::device, 0))),
      bytes_(bytes) {
  if (!data_) throw std::bad_alloc();
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (data_) Memory::process().release(data_);
}

void DeviceBuffer::mark_written() const { Memory::process().mark_written(address(), bytes_); }

DeviceBuffer DeviceBuffer::unwritten(std::size_t bytes) { return DeviceBuffer(bytes); }

DeviceBuffer DeviceBuffer::zeros(std::size_t bytes) {
  DeviceBuffer buffer(bytes);
  map_over(buffer.data_, whole_pages(bytes), -1);
  buffer.mark_written();
  return buffer;
}

DeviceBuffer DeviceBuffer::random(Number number, std::size_t count, std::uint64_t seed) {
  const std::size_t bytes = bytes_of(number, count);
  DeviceBuffer buffer(bytes);
  if (bytes <= block) {
    fill_random(number, {buffer.data_, bytes}, seed);
  } else {
    const int file = random_file(number, seed);
    for (std::size_t at = 0; at < bytes; at += block)
      map_over(buffer.data_ + at, std::min(block, whole_pages(bytes - at)), file);
  }
  buffer.mark_written();
  return buffer;
}

DeviceBuffer DeviceBuffer::copy_of(std::span<const std::byte> bytes) {
  DeviceBuffer buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data_, bytes.data(), bytes.size());
  buffer.mark_written();
  return buffer;
}

}  // namespace rapt::sim::validate
