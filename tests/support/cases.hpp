// The one case table: problems, their values, their tensors' layout. Correctness, gradients, properties and
// the check of the math backend itself all read it. To add a case, add a row.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "support/inputs.hpp"

namespace test {

struct Case {
  std::string problem;
  Kind kind = Kind::normal;
  Layout layout = Layout::compact;
};

std::string name_of(const Case& c);  // letters, digits and underscores
inline void PrintTo(const Case& c, std::ostream* out) { *out << c.problem; }

std::vector<Case> option_cases(const std::string& dtype);  // every option and many together, small
std::vector<Case> cases();                                 // options and shapes in fp32, bf16 and fp16
std::vector<Case> nightly_cases();                         // products of options, lengths and head dims

}  // namespace test
