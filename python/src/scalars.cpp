#include "scalars.hpp"

#include <unistd.h>

#include <map>
#include <memory>

#include "openmp.hpp"

namespace rapt::python {

bool truth(nb::handle value, const char* name) {
  const int result = PyObject_IsTrue(value.ptr());
  if (result >= 0) return result != 0;
  PyErr_Clear();  // the error of an array with several elements
  invalid(name, " must be True or False; it is ", quoted(value));
}

std::string text(nb::handle value, const char* name) {
  std::string result;
  if (nb::try_cast(value, result)) return result;
  invalid(name, " must be a string; it is ", quoted(value));
}

rapt_causal causal(nb::handle value, const char* name) {
  if (value.is(Py_True)) return RAPT_CAUSAL;
  if (value.is(Py_False)) return RAPT_NOT_CAUSAL;
  std::string alignment;
  nb::try_cast(value, alignment);
  if (alignment == "bottom-right") return RAPT_CAUSAL;
  if (alignment == "top-left") return RAPT_CAUSAL_TOP_LEFT;
  invalid(name, " must be False, True or 'bottom-right' (the same), or 'top-left'; it is ", quoted(value));
}

Window window(nb::handle value, const char* name) {
  if (!PySequence_Check(value.ptr()) || nb::len(value) != 2)
    invalid(name, " must be a pair (left, right) of integers; it is ", quoted(value));
  return {number<int64_t>(value[0], "window's left"), number<int64_t>(value[1], "window's right")};
}

const rapt_executor* executor(nb::handle value, const char* name, Threads kind) {
  const auto threads = number<int32_t>(value, name);
  if (threads < 1) invalid(name, " must be at least 1; it is ", threads);
  if (kind == Threads::openmp)
    if (const rapt_executor* openmp = openmp_executor(threads)) return openmp;
  // Never destroyed: calls may come at exit. A forked child has none of the threads, and makes its own pools.
  static std::map<int32_t, std::unique_ptr<Pool>>* pools = nullptr;
  static pid_t process = 0;
  if (process != getpid()) {
    pools = new std::map<int32_t, std::unique_ptr<Pool>>;
    process = getpid();
  }
  std::unique_ptr<Pool>& pool = (*pools)[threads];
  if (!pool) pool = std::make_unique<Pool>(threads);
  return pool->executor();
}

}  // namespace rapt::python
