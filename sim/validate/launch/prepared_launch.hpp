// A launch as the library that ships the kernel would make it, with its operands in device memory.
#pragma once

#include "sim/machine/core/launch.hpp"
#include "sim/validate/launch/arguments.hpp"
#include "sim/validate/launch/device_buffer.hpp"
#include "sim/validate/peak.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rapt::sim::validate {

// What the launch must do, however it is done.
struct Work {
  double flops = 0;
  double bytes = 0;  // each operand read once, each result written once
  MatrixType type{};
};

// Results of the kernel beside those computed in double.
struct Comparison {
  std::size_t compared = 0, wrong = 0;
  double worst = 0;  // the largest error, as a multiple of the one that is allowed
  std::string first_wrong;

  void add(double result, double expected, double allowed, const std::function<std::string()>& where);
};

struct PreparedLaunch {
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  std::array<std::uint32_t, 3> group_size{256, 1, 1};
  Arguments arguments;
  std::vector<DeviceBuffer> buffers;
  std::size_t cleared_bytes = 0;  // that the function which was timed clears first, by a launch of its own
  std::function<Comparison(const std::vector<DeviceBuffer>&)> compare;  // after the launch has run completely
};

}  // namespace rapt::sim::validate
