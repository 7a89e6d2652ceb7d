#include "cli/bench/output.hpp"

namespace rapt::cli {
std::string bench_html(const std::vector<BenchRow>&) { return ""; }
}  // namespace rapt::cli
