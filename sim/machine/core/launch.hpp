// The parameters of a kernel launch.
#pragma once

#include "sim/loader/code_object.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace rapt::sim {

struct Launch {
  const CodeObject* object = nullptr;
  const Kernel* kernel = nullptr;
  std::array<std::uint32_t, 3> groups{1, 1, 1};  // workgroups of the grid
  std::array<std::uint32_t, 3> group_size{1, 1, 1};
  std::array<std::uint32_t, 3> last_group_size{};  // 0: as the others (hipExtModuleLaunchKernel with a ragged grid)
  std::span<const std::byte> arguments;  // explicit ones, laid out as the metadata says; hidden ones are filled in
  std::uint32_t dynamic_lds = 0;
};

}  // namespace rapt::sim
