// Some lists are long: an ordinary run takes every n-th case of them, the nightly run (RAPT_SIM_LISTS=all) takes all.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace rapt::sim::test {

inline bool whole_lists() {
  const char* asked = std::getenv("RAPT_SIM_LISTS");
  return asked != nullptr && std::string_view(asked) == "all";
}

// Whether case `number` of a list is taken, where one in `every` is.
inline bool taken(std::size_t number, std::size_t every) { return whole_lists() || number % every == 0; }

}  // namespace rapt::sim::test
