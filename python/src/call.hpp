// The arguments of a Python call as rapt::Attention and rapt::Execution.
#pragma once

#include "tensors.hpp"

namespace rapt::python {

struct Call {
  // `options` are the keyword arguments that rapt.attention documents; None is the default of each.
  Call(nb::handle q, nb::handle k, nb::handle v, const nb::kwargs& options);

  // With the GIL released: runs `function`, and waits for it where nobody else would.
  template <class Function>
  void run(const Function& function) {
    execution.stream = tensors.stream();
    const nb::gil_scoped_release released;
    function();
    if (tensors.must_synchronize()) synchronize(tensors.device());
  }

  Tensors tensors;
  Attention attention;
  Execution execution;
};

// Only the options that say how to run.
Execution parse_execution(const nb::kwargs& options);

}  // namespace rapt::python
