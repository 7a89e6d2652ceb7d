// A workgroup of a few waves, each with a separate program in assembly, under checks of the sanitizer. The test decides
// whose turn it is.
#pragma once

#include "sim/check/checks.hpp"
#include "sim/check/races/launch.hpp"
#include "sim/loader/code_object.hpp"
#include "sim/machine/core/run.hpp"
#include "sim/machine/core/workgroup.hpp"
#include "sim/tests/support/programs/assemble.hpp"
#include "sim/tests/support/instructions/tested.hpp"

namespace rapt::sim::test {

// Programs in assembly, one after the other; each ends with s_endpgm.
class CheckedCode {
 public:
  CheckedCode(Arch arch, const std::vector<std::string>& programs, unsigned lanes = 0)
      : mode_{arch, lanes ? lanes : default_lanes(arch)} {
    for (const std::string& text : programs) {
      starts_.push_back(words_.size() * 4);
      const auto words = assemble(arch, mode_.lanes, text + "\ns_endpgm");
      words_.insert(words_.end(), words.begin(), words.end());
      for (const Instruction& i : decode_all(arch, mode_.lanes, words)) record_tested(i.opcode->name, arch);
    }
    program_ = std::make_unique<Program>(std::as_bytes(std::span(words_)), mode_);
    kernel_.name = "test";
    kernel_.entry = program_->base();
  }
  DecodeMode mode() const { return mode_; }
  const Program& program() const { return *program_; }
  const Kernel& kernel() const { return kernel_; }
  std::uint64_t start(unsigned n) const { return program_->base() + starts_[n]; }
  unsigned programs() const { return static_cast<unsigned>(starts_.size()); }

 private:
  DecodeMode mode_;
  std::vector<std::uint32_t> words_;
  std::vector<std::uint64_t> starts_;
  std::unique_ptr<Program> program_;
  Kernel kernel_;
};

class CheckedGroup {
 public:
  // A group whose waves run programs first..first + count - 1. v0 is the lane's number times four. The check of values
  // treats v0 and s0 to s15 as written.
  CheckedGroup(std::shared_ptr<const CheckedCode> code, unsigned first, unsigned count, const CheckOptions& options,
               RaceLaunch* launch = nullptr, unsigned number = 0)
      : code_(std::move(code)) {
    const unsigned lanes = code_->mode().lanes;
    group_.program = &code_->program();
    group_.kernel = &code_->kernel();
    group_.id = {number, 0, 0};
    group_.lds.resize(65536);
    group_.lds_bytes = 65536;
    group_.live_waves = group_.barrier.members = count;
    group_.waves.resize(count);
    registers_.resize(std::size_t{512} * lanes * count);
    for (unsigned n = 0; n < count; ++n) {
      Wave& w = group_.waves[n];
      w.arch = code_->mode().arch;
      w.lanes = lanes;
      w.index = n;
      w.group = &group_;
      w.vgpr = registers_.data() + std::size_t{512} * lanes * n;
      w.vgpr_count = w.agpr_count = 256;
      w.initial_vgprs = 1, w.initial_sgprs = 16;
      w.pc = code_->start(first + n);
      w.set_pair(sreg::exec, w.all_lanes());
      for (unsigned l = 0; l < lanes; ++l) w.row(0)[l] = 4 * l;
    }
    if (options.races && !launch) launch = (own_launch_ = std::make_unique<RaceLaunch>()).get();
    checks_ = std::make_unique<Checks>(options, group_, launch);
    group_.observers = {checks_.get()};
    group_.checked = true;
  }
  // A wave for each program.
  CheckedGroup(Arch arch, const std::vector<std::string>& programs, const CheckOptions& options, unsigned lanes = 0)
      : CheckedGroup(std::make_shared<CheckedCode>(arch, programs, lanes), 0, static_cast<unsigned>(programs.size()),
                     options) {}

  Wave& wave(unsigned n) { return group_.waves[n]; }
  void set_address(unsigned sgpr, const void* address) {
    for (Wave& w : group_.waves) w.set_pair(sgpr, reinterpret_cast<std::uint64_t>(address));
  }
  // Turns in this order, each until the wave waits or ends; returns the first finding, "" for none.
  std::string run(const std::vector<unsigned>& order) {
    try {
      for (unsigned n : order)
        if (wave(n).state == WaveState::running) run_wave(wave(n), 10000);
    } catch (const Fault& fault) {
      return fault.what();
    }
    return "";
  }
  // One instruction of a wave.
  std::string step(unsigned n) {
    try {
      run_wave(wave(n), 1);
    } catch (const Fault& fault) {
      return fault.what();
    }
    return "";
  }

 private:
  std::shared_ptr<const CheckedCode> code_;
  std::vector<std::uint32_t> registers_;
  Workgroup group_;
  std::unique_ptr<RaceLaunch> own_launch_;
  std::unique_ptr<Checks> checks_;
};

}  // namespace rapt::sim::test
