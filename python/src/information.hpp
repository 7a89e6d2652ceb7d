#pragma once

#include <nanobind/nanobind.h>

namespace rapt::python {

// What rapt.doctor prints: the tiers of the CPU, devices and kernel archives.
void define_information(nanobind::module_& m);

}  // namespace rapt::python
