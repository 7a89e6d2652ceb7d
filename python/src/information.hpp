#pragma once

#include <nanobind/nanobind.h>

namespace rapt::python {

// The tiers of the CPU, devices and kernel archives: what rapt.doctor prints, and loading a device's kernels.
void define_information(nanobind::module_& m);

}  // namespace rapt::python
