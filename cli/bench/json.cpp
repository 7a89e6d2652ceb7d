#include <nlohmann/json.hpp>

#include "cli/bench/output.hpp"
#include "cli/core/environment.hpp"
#include "cli/core/machine.hpp"

namespace rapt::cli {

namespace {

nlohmann::ordered_json row_json(const BenchRow& r) {
  nlohmann::ordered_json j;
  const bool measured = r.left_out.empty();
  const auto number = [&](double value) { return measured ? nlohmann::ordered_json(value) : nullptr; };
  j["table"] = r.which.table;
  j["case"] = r.which.label();
  j["problem"] = r.which.problem;
  j["op"] = r.op == RAPT_FORWARD ? "fwd" : "bwd";
  if (const rapt_device device = parse_device(r.device); on_gpu(device)) {
    const rapt_device_info info = describe(device);
    j["device"] = info.name;
    j["arch"] = info.arch;
    j["runtime"] = info.runtime;
  } else {
    j["device"] = machine().cpu;
    j["arch"] = best_cpu_tier();
  }
  j["backend"] = r.backend;
  j["kernel"] = r.kernel;
  j["dtype"] = r.dtype;
  j["causal"] = r.causal;
  if (!r.simulated.empty()) j["simulated"] = r.simulated;
  j["ms"] = number(r.measured.ms);
  j["ms_p20"] = number(r.measured.ms_p20);
  j["tflops"] = number(r.tflops());
  const bool probed = r.measured.limit_ms > 0;
  j["peak_tflops"] = probed ? number(r.measured.peak_flops * 1e-12) : nullptr;
  j["peak_fraction"] = probed ? number(r.peak_fraction()) : nullptr;
  j["extra_bytes"] = number(static_cast<double>(r.extra_bytes));
  if (measured) j["extra_bytes"] = r.extra_bytes;
  j["threads"] = r.threads;
  j["samples"] = r.measured.samples;
  if (r.work.bytes > 0) {  // peak_fraction is then of the smaller limit
    j["gbps"] = number(r.gigabytes());
    j["peak_gbps"] = probed ? number(r.measured.peak_bytes * 1e-9) : nullptr;
    j["limit"] = r.measured.memory_limited ? "memory" : "arithmetic";
  }
  if (!measured) j["left_out"] = r.left_out;
  j["variables"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : environment_variables()) j["variables"][name] = value;
  j["warnings"] = environment_warnings();
  return j;
}

}  // namespace

std::string bench_json(const std::vector<BenchRow>& rows) {
  std::string lines;
  for (const BenchRow& r : rows) lines += row_json(r).dump() + "\n";
  return lines;
}

}  // namespace rapt::cli
