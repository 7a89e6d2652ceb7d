// Stands in for checks that are being written.
#include "sim/check/checks.hpp"
namespace rapt::sim {
[[gnu::weak]] std::unique_ptr<Check> make_wait_check(Workgroup&) { return std::make_unique<Check>(); }
[[gnu::weak]] std::unique_ptr<Check> make_hazard_check(Workgroup&) { return std::make_unique<Check>(); }
[[gnu::weak]] std::unique_ptr<Check> make_race_check(Workgroup&) { return std::make_unique<Check>(); }
[[gnu::weak]] std::unique_ptr<Check> make_barrier_check(Workgroup&) { return std::make_unique<Check>(); }
[[gnu::weak]] std::unique_ptr<Check> make_operand_check(Workgroup&) { return std::make_unique<Check>(); }
[[gnu::weak]] std::unique_ptr<Check> make_alignment_check(Workgroup&) { return std::make_unique<Check>(); }
}
