// Runs calls on a GPU from the inputs of a test, which are on the host.
#pragma once

#include "support/run.hpp"

namespace test {

// Every tensor has its own device memory, including gaps and exact to the byte, so that the simulator sees an access
// past the end. Lengths of packed sequences are on the device too. Throws rapt::Error.
Results run_on(rapt_device device, const Inputs& inputs, const std::string& backend, Layout layout);

// The backward pass of a forward pass whose out and lse are `given`, and are among the results.
Results run_backward_on(rapt_device device, const Inputs& inputs, const Results& given, const std::string& backend,
                        Layout layout);

}  // namespace test
