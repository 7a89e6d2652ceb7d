// Host pages for allocations.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rapt::sim {

struct Pages {
  void* base = nullptr;  // of the whole mapping, guards included
  std::size_t length = 0;
  unsigned char* data = nullptr;
};

// `bytes` between two guard zones of at least a page that cannot be accessed, `pattern` in every dword (0: zeros, and
// no page is touched). Large ones share one set of pages with the pattern until they are written. data is null if the
// system has no memory.
Pages map_pages(std::size_t bytes, std::size_t alignment, std::uint32_t pattern);
void unmap_pages(const Pages& pages);

}  // namespace rapt::sim
