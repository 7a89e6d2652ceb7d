#include "information.hpp"

#include <nanobind/stl/string.h>

#include "rapt/rapt.hpp"

namespace rapt::python {

namespace nb = nanobind;

namespace {

nb::list tiers() {
  nb::list result;
  for (const CpuTier& tier : cpu_tiers()) result.append(nb::make_tuple(tier.name, tier.available));
  return result;
}

// The devices of a type. Raises if their run-time library cannot be opened.
nb::list devices(int32_t type) {
  nb::list result;
  const int32_t count = device_count(static_cast<rapt_device_type>(type));
  for (int32_t id = 0; id < count; ++id) {
    const rapt_device_info info = describe({type, id});
    nb::dict device;
    device["name"] = info.name;
    device["arch"] = info.arch;
    device["archive"] = info.archive;
    device["target"] = info.target;
    device["runtime"] = info.runtime;
    device["library"] = info.library;
    device["memory"] = info.memory;
    device["compute_units"] = info.compute_units;
    device["simulator"] = info.simulator != 0;
    device["time_model"] = info.time_model;
    result.append(device);
  }
  return result;
}

// The path of each archive, and its contents, or why it cannot be read.
nb::list archives() {
  nb::list result;
  for (const std::string& path : Archive::find()) {
    std::string contents;
    try {
      const Archive archive(path);
      contents = archive.arch() + ", " + std::to_string(archive.size()) + " kernels by " + archive.compiler();
    } catch (const Error& e) {
      contents = e.what();
    }
    result.append(nb::make_tuple(path, contents));
  }
  return result;
}

// The names of an archive's kernels.
nb::list archive_kernels(const std::string& path) {
  nb::list names;
  const Archive archive(path);
  for (size_t i = 0; i < archive.size(); ++i) names.append(archive.kernel(i).name);
  return names;
}

void preload_all(int32_t type, int32_t id) { preload({type, id}); }

}  // namespace

void define_information(nb::module_& m) {
  m.def("cpu_tiers", tiers);
  m.def("devices", devices, nb::arg("type"));
  m.def("preload", preload_all, nb::arg("type"), nb::arg("id"));
  m.def("archives", archives);
  m.def("archive_kernels", archive_kernels, nb::arg("path"));
}

}  // namespace rapt::python
