#include "sim/check/checks.hpp"

namespace rapt::sim {

Checks::Checks(const CheckOptions& options, Workgroup& group, RaceLaunch* races) {
  access_hooks.check = [](Wave& wave, const Instruction& instruction, const Access& access) {
    wave.group->checks->access(wave, instruction, access);
  };
  // What is undefined is found before its consequences are.
  if (options.values) checks_.push_back(make_value_check(group));
  if (options.waits) checks_.push_back(make_wait_check(group));
  if (options.hazards) checks_.push_back(make_hazard_check(group));
  if (options.operands) checks_.push_back(make_operand_check(group));
  if (options.alignment) checks_.push_back(make_alignment_check(group));
  if (options.races) checks_.push_back(make_race_check(group, *races));
  if (options.barriers) checks_.push_back(make_barrier_check(group));
}

void report(const std::string& finding, std::optional<unsigned> lane, std::optional<std::uint64_t> address) {
  throw Fault(FaultKind::check, finding, lane, address);
}

}  // namespace rapt::sim
