#include "cli/commands/doctor_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <span>

#include "cli/bench/output.hpp"
#include "cli/core/environment.hpp"
#include "cli/core/inputs.hpp"
#include "cli/core/machine.hpp"
#include "cli/core/placement.hpp"
#include "cli/core/report.hpp"
#include "cli/install/aotriton.hpp"
#include "cli/probe/team.hpp"
#include "cli/verify/check.hpp"
#include "cli/verify/suites.hpp"

namespace rapt::cli {

namespace {

constexpr const char* kMeasured[] = {
    "b1 hq32 hk8 sq4096 sk4096 d128 bf16 causal",
    "b4 hq16 hk16 sq2048 sk2048 d64 fp16",
    "b1 hq16 hk16 sq4096 sk4096 d256 bf16",
};
constexpr const char* kMeasuredOnSimulator[] = {"b1 hq1 hk1 sq64 sk64 d64 bf16"};

struct Checks {
  int done = 0, failed = 0;
};

void check_device(rapt_device device, const Team& team, Checks& checks) {
  TextTable table({"problem", "kernel", "tensor", "error", "allowance", ""});
  for (const auto& [text, kind, forward_only] : suite("doctor")) {
    try {
      const Problem problem = Problem::parse(text);
      const Attention a = make_inputs(problem, kind, 1);
      for (const CheckRow& r : Checker(problem, a, false, team.executor(), device).check_forward(gpu_backend(device))) {
        ++checks.done;
        checks.failed += r.ok() ? 0 : 1;
        table.add({text, r.kernel, r.tensor, fmt::format("{:.2e}", r.error), fmt::format("{:.2e}", r.allowance),
                   r.ok() ? "ok" : "FAIL"});
      }
    } catch (const Error& e) {
      checks.failed += e.status() == RAPT_UNSUPPORTED ? 0 : 1;
      table.add({text, "none", "-", "-", "-", e.what()});
    }
  }
  fmt::print("\nchecks on {}\n", device_name(device));
  table.print("  ");
}

// Why the device has no archive, or "".
std::string no_kernels(rapt_device device) {
  try {
    const Archive archive("", describe(device).arch);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

void measure_device(rapt_device device, const Team& team) {
  BenchPlan plan;
  plan.device = device;
  plan.ops = {RAPT_FORWARD};
  plan.budget = 60;
  std::span<const char* const> problems = kMeasured;
  if (describe(device).simulator) problems = kMeasuredOnSimulator;
  for (const char* problem : problems) plan.cases.push_back({"", "report", "", problem});
  Progress progress(false);
  BenchRunner runner(plan, team, progress);
  BenchTable table(plan, team);
  fmt::print("\ntimes\n");
  table.begin();
  std::vector<BenchRow> rows;
  for (const BenchCase& c : plan.cases)
    for (BenchRow& row : runner.run(c)) {
      table.print({row});
      rows.push_back(std::move(row));
    }
  print_left_out(rows);
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
    if (const std::string warning = rocm_warning(info); !warning.empty()) fmt::print("    warning: {}\n", warning);
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
  print_machine();
  print_devices();
  print_archives(true);
  const Team team(0);
  Checks checks;
  for (const rapt_device device : gpus()) {
    if (const std::string why = no_kernels(device); !why.empty()) {
      fmt::print("\n{}: {}\n", device_name(device), why);
      continue;
    }
    check_device(device, team, checks);
    measure_device(device, team);
  }
  fmt::print("\n{} checks, {} failed\n", checks.done, checks.failed);
  return checks.done > 0 && checks.failed == 0 ? 0 : 1;
}

}  // namespace rapt::cli
