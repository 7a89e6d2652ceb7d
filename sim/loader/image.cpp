#include "sim/loader/image.hpp"

#include "sim/memory/memory.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace rapt::sim {

namespace {

constexpr std::uint64_t largest_image = std::uint64_t{1} << 31, page = 4096;

}  // namespace

Image::Image(std::span<const std::byte> file, const Elf64_Ehdr& header, int device) : file_size_(file.size()) {
  const auto segments = elf::segments(file, header);
  try {
    place(file, segments);
    const Bytes bytes(file, "segments");
    for (const auto& segment : segments) {
      if (segment.p_type == PT_DYNAMIC) read_dynamic(segment);
      if (segment.p_type == PT_NOTE && notes_.empty()) notes_ = bytes.part(segment.p_offset, segment.p_filesz);
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

void Image::place(std::span<const std::byte> file, const std::vector<Elf64_Phdr>& segments) {
  std::uint64_t end = 0;
  for (const auto& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    const std::string where = "segment at " + hex(segment.p_vaddr);
    if (segment.p_filesz > segment.p_memsz) broken(where + " has more bytes in the file than in memory");
    if (segment.p_memsz == 0) continue;
    if (segment.p_vaddr > largest_image || segment.p_memsz > largest_image - segment.p_vaddr)
      broken(where + " of " + hex(segment.p_memsz) + " bytes is out of range");
    // The gABI requires loadable segments in ascending order.
    if (segment.p_vaddr < end) broken(where + " overlaps the one before it, or is out of order");
    Bytes(file, "segment").part(segment.p_offset, segment.p_filesz);
    end = segment.p_vaddr + segment.p_memsz;
    loaded_.push_back({segment.p_vaddr, segment.p_memsz, (segment.p_flags & PF_X) != 0, false});
  }
  if (loaded_.empty()) broken("no loadable segment");
  size_ = (end + page - 1) / page * page;
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(memory);
  for (const auto& segment : segments)
    if (segment.p_type == PT_LOAD && segment.p_filesz != 0)
      std::memcpy(base_ + segment.p_vaddr, file.data() + segment.p_offset, segment.p_filesz);
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
