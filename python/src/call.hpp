// The arguments of a Python call as rapt::Attention and rapt::Execution.
#pragma once

#include "tensors.hpp"

namespace rapt::python {

struct Call {
  Call() = default;

  // `options` are the keyword arguments that rapt.attention documents; None means that an option is not given.
  Call(nb::handle q, nb::handle k, nb::handle v, const nb::kwargs& options);

  // Runs `function` with the GIL released, and waits for the device if no stream of the caller's does.
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

// Takes only the options that say how to run.
Execution parse_execution(const nb::kwargs& options);

}  // namespace rapt::python
