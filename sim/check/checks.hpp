// The sanitizer of one workgroup: it watches every instruction before and after it runs, and every memory access. A
// finding is a Fault of kind check.
#pragma once

#include "sim/check/options.hpp"
#include "sim/machine/flat_access.hpp"
#include "sim/machine/program.hpp"

#include <memory>
#include <vector>

namespace rapt::sim {

// One check. Made for a workgroup's run.
class Check {
 public:
  virtual ~Check() = default;
  virtual void before(Wave&, const Entry&) {}
  virtual void after(Wave&, const Entry&) {}
  // Inside the instruction, before memory is touched; once for each of its accesses.
  virtual void access(Wave&, const Instruction&, const Access&) {}
};

class RaceLaunch;

class Checks {
 public:
  // `races` is what the launch's groups share; needed where races are checked.
  Checks(const CheckOptions& options, Workgroup& group, RaceLaunch* races = nullptr);
  void before(Wave& wave, const Entry& entry) {
    for (const auto& check : checks_) check->before(wave, entry);
  }
  void after(Wave& wave, const Entry& entry) {
    for (const auto& check : checks_) check->after(wave, entry);
  }
  void access(Wave& wave, const Instruction& instruction, const Access& access) {
    for (const auto& check : checks_) check->access(wave, instruction, access);
  }

 private:
  std::vector<std::unique_ptr<Check>> checks_;
};

// Each in a file of its own.
std::unique_ptr<Check> make_value_check(Workgroup& group);
std::unique_ptr<Check> make_wait_check(Workgroup& group);
std::unique_ptr<Check> make_hazard_check(Workgroup& group);
std::unique_ptr<Check> make_race_check(Workgroup& group, RaceLaunch& launch);
std::unique_ptr<Check> make_barrier_check(Workgroup& group);
std::unique_ptr<Check> make_operand_check(Workgroup& group);
std::unique_ptr<Check> make_alignment_check(Workgroup& group);

[[noreturn]] void report(const std::string& finding, std::optional<unsigned> lane = {},
                         std::optional<std::uint64_t> address = {});

}  // namespace rapt::sim
