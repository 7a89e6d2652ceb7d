// Python values that are not tensors, by argument name; a wrong one is a ValueError that names it and what is allowed.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <type_traits>

#include "errors.hpp"
#include "rapt/rapt.hpp"

namespace rapt::python {

namespace nb = nanobind;

inline std::string quoted(nb::handle value) { return nb::repr(value).c_str(); }

template <class Number>
Number number(nb::handle value, const char* name) {
  Number result = 0;
  if (nb::try_cast(value, result)) return result;
  const char* allowed = std::is_floating_point_v<Number> ? "a number"
                        : std::is_unsigned_v<Number>     ? "an integer from 0 to 2^64 - 1"
                                                         : "an integer";
  invalid(name, " must be ", allowed, "; it is ", quoted(value));
}

bool truth(nb::handle value, const char* name);
std::string text(nb::handle value, const char* name);
rapt_causal causal(nb::handle value, const char* name);
Window window(nb::handle value, const char* name);

// An executor of that many threads: from a pool that is kept for later calls, or from the process's OpenMP if it has
// one.
enum class Threads { own, openmp };
const rapt_executor* executor(nb::handle value, const char* name, Threads kind);

}  // namespace rapt::python
