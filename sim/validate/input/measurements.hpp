// Measured times of kernels: the rows of a table with the columns arch, cus, kind, kernel, shape, us, code_object.
#pragma once

#include "sim/isa/arch.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rapt::sim::validate {

struct Measurement {
  unsigned line;  // of its file
  Arch arch;
  unsigned compute_units;
  std::string kind;    // "gemm", "fmoe"
  std::string kernel;  // its symbol
  std::string shape;
  double microseconds;
  std::string code_object;  // a file, relative to the folder of all objects

  std::string part() const;  // "gfx942/304"
};

// InputError names the file and the line.
std::vector<Measurement> read_measurements(const std::string& path);

}  // namespace rapt::sim::validate
