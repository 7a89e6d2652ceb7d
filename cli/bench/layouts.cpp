#include "cli/bench/layouts.hpp"

#include <algorithm>

namespace rapt::cli {

bool is_report(const BenchPlan& plan, const std::string& table) {
  return on_gpu(plan.device) && !plan.cases.empty() &&
         std::ranges::all_of(plan.cases, [&](const BenchCase& c) { return c.table == table; });
}

std::unique_ptr<BenchLayout> bench_layout(const BenchPlan& plan, const Team& team) {
  if (is_report(plan, "strix-halo")) {
    const Archive kernels("", describe(plan.device).arch);  // without any, one error instead of one for each row
    return strix_halo_layout(plan);
  }
  if (plan.every_kernel) return mi300x_d256_layout(plan);
  return std::make_unique<BenchTable>(plan, team);
}

}  // namespace rapt::cli
