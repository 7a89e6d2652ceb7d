#include "sim/timing/device_addresses.hpp"

#include "sim/memory/memory.hpp"

#include <bit>

namespace rapt::sim::timing {
namespace {

constexpr unsigned page_shift = 12;                        // the host's allocations begin at pages
constexpr std::uint64_t granule = std::uint64_t{2} << 20;  // a large page of the device

}  // namespace

DeviceAddresses::DeviceAddresses(unsigned line_bytes)
    : line_shift_(static_cast<unsigned>(std::countr_zero(line_bytes))) {}

std::uint64_t DeviceAddresses::moved(std::uint64_t address) {
  const auto [page, added] = pages_.try_emplace(address >> page_shift);
  if (added) {
    const Allocation* const allocation = Memory::process().find(address);
    const std::uint64_t page_begin = address >> page_shift << page_shift;
    // The first page of adopted memory may begin before it.
    const std::uint64_t begin = allocation ? allocation->base >> page_shift << page_shift : page_begin;
    const std::uint64_t size =
        allocation ? allocation->base + allocation->size - begin : std::uint64_t{1} << page_shift;
    const auto [place, first] = places_.try_emplace(begin, end_);
    if (first) end_ += (size + granule - 1) / granule * granule;
    page->second = place->second + (page_begin - begin);
  }
  return page->second + address % (std::uint64_t{1} << page_shift);
}

void DeviceAddresses::move(GroupTrace& group) {
  for (WaveTrace& wave : group.waves)
    for (std::uint64_t& line : wave.lines)
      if (line < private_memory >> line_shift_) line = moved(line << line_shift_) >> line_shift_;
}

}  // namespace rapt::sim::timing
