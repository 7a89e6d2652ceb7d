#include "sim/loader/image.hpp"

#include "sim/memory/memory.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace rapt::sim {

namespace {

constexpr std::uint64_t largest_image = std::uint64_t{1} << 31, page = 4096;

}  // namespace

Image::Image(std::span<const std::byte> file, const elf::Header& header, int device) : file_size_(file.size()) {
  const auto segments = elf::segments(file, header);
  try {
    place(file, segments);
    const Bytes bytes(file, "segments");
    for (const auto& segment : segments) {
      if (segment.type == elf::segment_dynamic) read_dynamic(segment);
      if (segment.type == elf::segment_note && notes_.empty()) notes_ = bytes.part(segment.offset, segment.file_size);
    }
    for (auto& part : loaded_) {
      part.adopted = Memory::process().adopt(base_ + part.begin, part.size, MemoryKind::code, device);
      if (!part.adopted) broken("the memory of a segment cannot be registered");
    }
  } catch (...) {
    release();
    throw;
  }
}

Image::~Image() { release(); }

void Image::release() {
  for (const auto& part : loaded_)
    if (part.adopted) Memory::process().release(base_ + part.begin);
  if (base_ != nullptr) munmap(base_, size_);
}

void Image::place(std::span<const std::byte> file, const std::vector<elf::Segment>& segments) {
  std::uint64_t end = 0;
  for (const auto& segment : segments) {
    if (segment.type != elf::segment_load) continue;
    const std::string where = "segment at " + hex(segment.address);
    if (segment.file_size > segment.memory_size) broken(where + " has more bytes in the file than in memory");
    if (segment.memory_size == 0) continue;
    if (segment.address > largest_image || segment.memory_size > largest_image - segment.address)
      broken(where + " of " + hex(segment.memory_size) + " bytes is out of range");
    // The gABI wants loadable segments in ascending order.
    if (segment.address < end) broken(where + " overlaps the one before it, or is out of order");
    Bytes(file, "segment").part(segment.offset, segment.file_size);
    end = segment.address + segment.memory_size;
    loaded_.push_back({segment.address, segment.memory_size, (segment.flags & elf::flag_execute) != 0, false});
  }
  if (loaded_.empty()) broken("no loadable segment");
  size_ = (end + page - 1) / page * page;
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(memory);
  for (const auto& segment : segments)
    if (segment.type == elf::segment_load && segment.file_size != 0)
      std::memcpy(base_ + segment.address, file.data() + segment.offset, segment.file_size);
}

bool Image::holds(std::uint64_t address, std::uint64_t size) const {
  return std::any_of(loaded_.begin(), loaded_.end(), [&](const Loaded& part) {
    const std::uint64_t offset = address - base() - part.begin;
    return offset <= part.size && size <= part.size - offset;
  });
}

std::span<const std::byte> Image::executable(std::uint64_t address) const {
  for (const auto& part : loaded_)
    if (part.execute && address - base() - part.begin < part.size) return {base_ + part.begin, part.size};
  return {};
}

std::span<const std::byte> Image::first_executable() const {
  const auto part = std::find_if(loaded_.begin(), loaded_.end(), [](const Loaded& p) { return p.execute; });
  if (part == loaded_.end()) return {};
  return {base_ + part->begin, part->size};
}

}  // namespace rapt::sim
