#include "sim/check/checks.hpp"

#include <stdexcept>

namespace rapt::sim {

Checks::Checks(const CheckOptions& options, Workgroup& group, RaceLaunch* races) {
  if (options.races && !races) throw std::invalid_argument("the check of races needs the launch's RaceLaunch");
  if (options.values) add(CheckKind::values, make_value_check(group));
  if (options.waits) add(CheckKind::waits, make_wait_check(group));
  if (options.hazards) add(CheckKind::hazards, make_hazard_check(group));
  if (options.operands) add(CheckKind::operands, make_operand_check(group));
  if (options.alignment) add(CheckKind::alignment, make_alignment_check(group));
  if (options.races) add(CheckKind::races, make_race_check(group, *races));
  if (options.barriers) add(CheckKind::barriers, make_barrier_check(group));
}

void Checks::add(CheckKind kind, std::unique_ptr<Observer> check) {
  present_ |= set_of(kind);
  checks_[static_cast<unsigned>(kind)] = std::move(check);
}

void report(const std::string& finding, std::optional<unsigned> lane, std::optional<std::uint64_t> address) {
  throw Fault(FaultKind::check, finding, lane, address);
}

}  // namespace rapt::sim
