// Proof that a kernel is launched as it expects: a small problem, run completely, against the same in double.
#pragma once

#include "sim/validate/objects.hpp"

namespace rapt::sim::validate {

struct Check {
  std::string kernel, shape;  // what was run
  Comparison result;
  std::string failure;  // the kernel did not complete, or could not be launched
  bool good() const { return failure.empty() && result.wrong == 0 && result.compared > 0; }
};

Check check(Objects& objects, const Measurement& row);

// Rows with different small problems: for each kernel one, or several that divide the work differently.
std::vector<const Measurement*> distinct_checks(const std::vector<const Measurement*>& rows);

}  // namespace rapt::sim::validate
