#include "sim/memory/pages.hpp"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

namespace rapt::sim {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t block = std::size_t{32} << 20;  // of the file that holds the pattern

void fill(unsigned char* data, std::size_t bytes, std::uint32_t pattern) {
  auto* words = reinterpret_cast<std::uint32_t*>(data);
  std::fill(words, words + bytes / 4, pattern);
}

// A file in memory full of the pattern, made when the first large allocation needs it; -1 if the system refuses.
int pattern_file(std::uint32_t pattern) {
  static const int file = [pattern] {
    const int fd = memfd_create("rapt-sim-fresh", MFD_CLOEXEC);
    if (fd < 0) return -1;
    void* view =
        ftruncate(fd, block) == 0 ? mmap(nullptr, block, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (view == MAP_FAILED) {
      close(fd);
      return -1;
    }
    fill(static_cast<unsigned char*>(view), block, pattern);
    munmap(view, block);
    return fd;
  }();
  return file;
}

bool map_pattern(unsigned char* data, std::size_t bytes, std::uint32_t pattern) {
  const int file = pattern_file(pattern);
  if (file < 0) return false;
  for (std::size_t at = 0; at < bytes; at += block)
    if (mmap(data + at, std::min(block, bytes - at), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
             file, 0) == MAP_FAILED)
      return false;
  return true;
}

}  // namespace

Pages map_pages(std::size_t bytes, std::size_t alignment, std::uint32_t pattern) {
  Pages pages;
  const std::size_t usable = (bytes + page - 1) / page * page;
  const std::size_t guard = std::max(page, alignment);
  if (usable < bytes || usable + 3 * guard < usable) return pages;
  pages.length = usable + 2 * guard + (alignment > page ? alignment : 0);
  pages.base = mmap(nullptr, pages.length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages.base == MAP_FAILED) return {};
  const auto first = reinterpret_cast<std::uintptr_t>(pages.base) + guard;
  auto* data = reinterpret_cast<unsigned char*>((first + alignment - 1) / alignment * alignment);
  const bool shared = pattern != 0 && usable > block / 2;
  if (mprotect(data, usable, PROT_READ | PROT_WRITE) != 0 || (shared && !map_pattern(data, usable, pattern))) {
    unmap_pages(pages);
    return {};
  }
  if (pattern != 0 && !shared) fill(data, usable, pattern);
  pages.data = data;
  return pages;
}

void unmap_pages(const Pages& pages) {
  if (pages.base) munmap(pages.base, pages.length);
}

}  // namespace rapt::sim
