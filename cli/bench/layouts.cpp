#include "cli/bench/layouts.hpp"

#include <algorithm>

namespace rapt::cli {

std::unique_ptr<BenchLayout> bench_layout(const BenchPlan& plan, const Team& team) {
  const auto is_all = [&](const char* table) {
    return !plan.cases.empty() && std::ranges::all_of(plan.cases, [&](const BenchCase& c) { return c.table == table; });
  };
  if (on_gpu(plan.device) && is_all("strix-halo")) return strix_halo_layout(plan);
  return std::make_unique<BenchTable>(plan, team);
}

}  // namespace rapt::cli
