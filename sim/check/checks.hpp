// The sanitizer of one workgroup: it watches every instruction before and after it runs, and every memory access. A
// finding is a Fault of kind check.
#pragma once

#include "sim/isa/facts/interest.hpp"
#include "sim/check/options.hpp"
#include "sim/machine/core/program.hpp"
#include "sim/machine/core/workgroup.hpp"

#include <memory>

namespace rapt::sim {

class RaceLaunch;

class Checks final : public Observer {
 public:
  // `races` is shared by the launch's groups; std::invalid_argument if races are checked and it is missing.
  Checks(const CheckOptions& options, Workgroup& group, RaceLaunch* races = nullptr);
  void before(Wave& wave, const Entry& entry) override {
    for_each(entry.checks.before, [&](Observer& check) { check.before(wave, entry); });
  }
  void after(Wave& wave, const Entry& entry) override {
    for_each(entry.checks.after, [&](Observer& check) { check.after(wave, entry); });
  }
  void access(Wave& wave, const Instruction& instruction, const Access& access) override {
    for_each(access_checks, [&](Observer& check) { check.access(wave, instruction, access); });
  }

 private:
  void add(CheckKind kind, std::unique_ptr<Observer> check);
  template <typename F>
  void for_each(CheckSet set, F f) {
    for (unsigned rest = set & present_; rest != 0; rest &= rest - 1)
      f(*checks_[static_cast<unsigned>(std::countr_zero(rest))]);
  }

  CheckSet present_ = 0;
  std::array<std::unique_ptr<Observer>, check_kinds> checks_;
};

// The checks of a workgroup's run, each in a separate file.
std::unique_ptr<Observer> make_value_check(Workgroup& group);
std::unique_ptr<Observer> make_wait_check(Workgroup& group);
std::unique_ptr<Observer> make_hazard_check(Workgroup& group);
std::unique_ptr<Observer> make_race_check(Workgroup& group, RaceLaunch& launch);
std::unique_ptr<Observer> make_barrier_check(Workgroup& group);
std::unique_ptr<Observer> make_operand_check(Workgroup& group);
std::unique_ptr<Observer> make_alignment_check(Workgroup& group);

[[noreturn]] void report(const std::string& finding, std::optional<unsigned> lane = {},
                         std::optional<std::uint64_t> address = {});

}  // namespace rapt::sim
