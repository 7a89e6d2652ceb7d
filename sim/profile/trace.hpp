// One wave's instructions as they run, with the registers that each reads and writes: lines of text in a file.
#pragma once

#include "sim/machine/core/launch.hpp"
#include "sim/machine/core/observer.hpp"
#include "sim/machine/core/program.hpp"

#include <atomic>
#include <cstdio>
#include <memory>

namespace rapt::sim {

struct TraceOptions {
  std::string file;    // "stderr", or where to write
  std::string kernel;  // empty: the first that is launched
  std::uint64_t group = 0;
  unsigned wave = 0;
  std::uint64_t from = 0, count = 1000;  // of the wave's instructions; the first is number 0
  unsigned lanes = 4;                    // shown for a register whose lanes differ
};

// Follows one wave of one launch.
class Trace final : public Observer {
 public:
  Trace(const TraceOptions& options, const Launch& launch, std::FILE* file);
  ~Trace() override;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  bool follows(std::array<std::uint32_t, 3> group) const { return group == group_; }
  void before(Wave& wave, const Entry& entry) override;
  void after(Wave& wave, const Entry& entry) override;

 private:
  bool wanted(const Wave& wave) const;

  const TraceOptions& options_;
  const Kernel& kernel_;
  std::FILE* file_;
  std::array<std::uint32_t, 3> group_{};
  std::uint64_t number_ = 0;  // of the wave's next instruction
  // EXEC before the instruction, and the lanes that it uses: the active ones, or all if it ignores EXEC (matrix
  // products, v_readlane).
  std::uint64_t exec_ = 0, lanes_ = 0;
  bool open_ = false;  // a line has begun
};

class Tracer {
 public:
  explicit Tracer(const TraceOptions& options);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // A trace for the first launch that matches the settings, none for any other.
  std::unique_ptr<Trace> begin(const Launch& launch);
  // Set by RAPT_SIM_TRACE and related variables (docs/simulator.md); null if that is not set.
  static Tracer* process();

 private:
  TraceOptions options_;
  std::FILE* file_ = nullptr;
  std::atomic<bool> begun_{false};
};

}  // namespace rapt::sim
