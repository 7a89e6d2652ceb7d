// Families of kernels that are launched alike: one file of families/ each.
#pragma once

#include "sim/validate/input/measurements.hpp"
#include "sim/validate/launch/prepared_launch.hpp"
#include "sim/validate/input/shape.hpp"

#include <memory>
#include <span>

namespace rapt::sim::validate {

// What is launched: a kernel of one architecture, on a product with this many compute units.
struct Target {
  Arch arch;
  unsigned compute_units;
  std::string kernel;  // its symbol
};

// All functions that take a shape throw InputError if the kernel cannot be launched for it.
class Family {
 public:
  virtual ~Family() = default;
  virtual std::string_view name() const = 0;
  virtual bool has(std::string_view kernel) const = 0;

  virtual Work work(const Target& target, const Shape& shape) const = 0;
  // The smallest problem that takes all of the kernel's paths: edges, several tiles, the same division of the work.
  virtual Shape small(const Target& target, const Shape& shape) const = 0;
  virtual PreparedLaunch prepare(const Target& target, const Shape& shape) const = 0;
  virtual std::uint32_t argument_bytes(const Target& target) const = 0;  // of the kernel's argument segment
};

std::span<const std::unique_ptr<Family>> families();
const Family& family_of(std::string_view kernel);  // InputError if there is none

// "_ZN5aiter24bf16gemm_bf16_tn_256x256E" -> "bf16gemm_bf16_tn_256x256"; other symbols stay as they are.
std::string_view plain_name(std::string_view kernel);
// The last AxB in the kernel's name: rows and columns of the result that one workgroup computes.
std::pair<std::uint32_t, std::uint32_t> tile_of(std::string_view kernel);

}  // namespace rapt::sim::validate
