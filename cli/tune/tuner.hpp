// Finds the kernel that runs each problem fastest on one device. A problem's kernels are checked and raced, and the
// answer goes into a table at once, so that a run can be interrupted at any time and continued.
#pragma once

#include <string>
#include <vector>

#include "cli/core/report.hpp"
#include "cli/tune/kernels.hpp"
#include "cli/tune/problems.hpp"
#include "cli/tune/race.hpp"

namespace rapt::cli {

struct TuneOptions {
  rapt_device device;
  double budget = 300;  // seconds
  std::string output;   // the table; "": it is only printed
  uint64_t seed = 1;
};

class Tuner {
 public:
  // `progress` must outlive it. Throws InputError where the device's times mean nothing.
  Tuner(const TuneOptions& options, Progress& progress);

  // Returns the number of kernels that computed wrong results or could not run.
  int run(const std::vector<WantedProblem>& wanted);

 private:
  struct Task;
  std::vector<Task> tasks_of(const std::vector<WantedProblem>& wanted);
  bool is_done(const Task& task) const;
  // Both return false if the time until `end` was too short.
  bool remove_wrong(Task& task, double end);
  bool tune(Task& task, double end, size_t left);  // `left`: tasks that share the time, this one included
  RaceResult timed(const Task& task, double end, size_t left) const;
  void print(const Task& task, const RaceResult& result) const;
  void store(const TuneRow& row);
  std::string machine() const;

  const TuneOptions& options_;
  Progress& progress_;
  DeviceKernels kernels_;
  std::string by_;                                             // "measured", "simulated"
  TuneTable table_;                                            // the output's rows and this run's
  std::vector<std::pair<std::string, std::string>> verdicts_;  // of checked kernels: problem and backend; what is wrong
  int wrong_ = 0;
};

}  // namespace rapt::cli
