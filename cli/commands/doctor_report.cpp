#include "cli/commands/doctor_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "cli/commands/device_report.hpp"
#include "cli/core/environment.hpp"
#include "cli/core/machine.hpp"
#include "cli/core/placement.hpp"
#include "cli/inputs/error.hpp"
#include "cli/install/aotriton.hpp"
#include "cli/probe/team.hpp"
#include "cli/verify/drop_in.hpp"

namespace rapt::cli {

namespace {

// Why the device has no archive, or "".
std::string no_kernels(rapt_device device) {
  try {
    const Archive archive("", describe(device).arch);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

// The drop-in, or nothing and a line that says why.
std::optional<DropIn> find_drop_in() {
  try {
    std::optional<DropIn> found(drop_in_library());
    fmt::print("\nAOTriton drop-in: {}\n", found->library());
    return found;
  } catch (const InputError& e) {
    fmt::print("\nAOTriton drop-in: not checked, because {}\n", e.what());
    return std::nullopt;
  }
}

}  // namespace

void print_machine() {
  const Machine& m = machine();
  fmt::print("rapt {}\n\nmachine\n", rapt_version_string());
  fmt::print("  cpu     {} ({}), {} core{} usable\n", m.cpu, m.architecture, m.cores, m.cores == 1 ? "" : "s");
  std::vector<std::string> caches;
  for (const Cache& c : m.caches)
    if (c.type != "Instruction") caches.push_back(fmt::format("L{} {}", c.level, bytes_text(c.bytes)));
  fmt::print("  caches  {}\n", caches.empty() ? "unknown" : fmt::format("{}", fmt::join(caches, ", ")));
  fmt::print("  memory  {}, {} available\n", bytes_text(m.memory), bytes_text(available_memory()));
}

void print_devices() {
  fmt::print("\ndevices\n");
  utsname os = {};
  uname(&os);
  std::string driver;
  std::getline(std::ifstream("/sys/module/amdgpu/version"), driver);  // AMD's own driver has it, Linux's does not
  fmt::print("  {} {}, amdgpu driver {}\n", os.sysname, os.release,
             driver.empty() ? "the Linux kernel's own, or none" : driver);
  for (const rapt_device_type type : {RAPT_ROCM, RAPT_CUDA}) {
    int32_t count = 0;
    const std::string backend = gpu_backend({type, 0});
    if (rapt_device_count(type, &count) != RAPT_OK) fmt::print("  no {}: {}\n", backend, rapt_last_error());
    else if (count == 0) fmt::print("  {} finds none\n", backend);
  }
  if (const std::vector<rapt_device> found = gpus();
      std::ranges::any_of(found, [](rapt_device device) { return device.type == RAPT_ROCM; }))
    fmt::print("  libaotriton_v2 of python3's torch: {}\n", aotriton_status());
  for (const rapt_device device : gpus()) {
    const rapt_device_info info = describe(device);
    fmt::print("  {}\n    target {}, {} of memory, library {}\n", device_text(device), info.target,
               bytes_text(static_cast<int64_t>(info.memory)), info.library);
    for (const std::string& warning : rocm_warnings(info)) fmt::print("    warning: {}\n", warning);
  }
  print_environment("  ");
}

void print_archives(bool verify) {
  fmt::print("\nkernel archives\n");
  const std::vector<std::string> paths = Archive::find();
  if (paths.empty()) fmt::print("  none in RAPT_KERNEL_PATH or next to the library\n");
  for (const std::string& path : paths) {
    try {
      const Archive archive(path);
      uint32_t sum = 0;  // of all kernels, in order
      for (size_t i = 0; i < archive.size(); ++i) {
        if (verify) archive.code(i);
        sum = sum * 31 + archive.kernel(i).crc32;
      }
      fmt::print("  {:<8} {} kernels, checksum {:08x}{}, by {}, {}\n", archive.arch(), archive.size(), sum,
                 verify ? " (all verified)" : "", archive.compiler(), path);
    } catch (const Error& e) {
      fmt::print("  {}\n", e.what());
    }
  }
}

void print_gpus_without_kernels() {
  for (const rapt_device device : gpus())
    if (const std::string why = no_kernels(device); !why.empty())
      fmt::print("  no kernels for {}, so it computes nothing: {}\n", device_name(device), why);
}

int doctor_report() {
  constexpr double kSeconds = 110, kMostTiming = 40;
  const double end = seconds_now() + kSeconds;
  setenv("RAPT_SIM_TIME", "1", 1);  // a simulated GPU then runs everything, and forecasts times
  print_machine();
  print_devices();
  print_archives(true);
  const Team team(0);
  ReportChecks checks;
  const std::vector<rapt_device> devices = gpus();
  std::optional<DropIn> drop_in;
  for (size_t i = 0; i < devices.size(); ++i) {
    const rapt_device device = devices[i];
    if (const std::string why = no_kernels(device); !why.empty()) {
      fmt::print("\n{}: {}\n", device_name(device), why);
      continue;
    }
    if (seconds_now() >= end) {
      fmt::print("\n{}: left out, because the report takes at most two minutes\n", device_name(device));
      continue;
    }
    // The null stream is of HIP's current device, which is the first one here.
    const bool current = device.type == RAPT_ROCM && device.id == 0;
    if (current) drop_in = find_drop_in();
    const DropIn* const through = current && drop_in ? &*drop_in : nullptr;
    report_checks(device, through, team, checks);
    const double left = (end - seconds_now()) / static_cast<double>(devices.size() - i);
    report_times(device, through, team, std::clamp(left, 1.0, kMostTiming));
  }
  fmt::print("\n{} checks, {} failed\n", checks.done, checks.failed);
  return checks.done > 0 && checks.failed == 0 ? 0 : 1;
}

}  // namespace rapt::cli
