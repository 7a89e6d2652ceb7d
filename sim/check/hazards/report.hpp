// The report of a hazard.
#pragma once

#include "sim/check/checks.hpp"
#include "sim/check/register_name.hpp"

namespace rapt::sim {

inline std::string wait_states(std::uint64_t n) {
  return std::to_string(n) + (n == 1 ? " wait state" : " wait states");
}

inline std::optional<unsigned> common_register(const RegisterAccess& a, const RegisterAccess& b) {
  if (a.file != b.file || a.first >= b.first + b.count || b.first >= a.first + a.count) return {};
  return std::max(a.first, b.first);
}

}  // namespace rapt::sim
