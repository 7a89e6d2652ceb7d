// Assembly run as one workgroup under the profile's counters.
#pragma once

#include "sim/machine/core/run.hpp"
#include "sim/profile/report.hpp"
#include "sim/tests/support/memory_wave.hpp"

namespace rapt::sim::test {

class ProfiledCode {
 public:
  // v0 of each wave is the lane's number times four.
  ProfiledCode(Arch arch, const std::string& text, unsigned lanes = 0, unsigned waves = 1)
      : mode_{arch, lanes ? lanes : default_lanes(arch)},
        words_(assemble(arch, mode_.lanes, text)),
        program_(std::as_bytes(std::span(words_)), mode_),
        registers_(std::size_t{512} * mode_.lanes * waves) {
    for (const Instruction& i : decode_all(arch, mode_.lanes, words_)) record_tested(i.opcode->name, arch);
    kernel_.name = "test";
    kernel_.entry = program_.base();
    group.program = &program_;
    group.kernel = &kernel_;
    group.lds.resize(65536);
    group.lds_bytes = 65536;
    group.live_waves = group.barrier.members = waves;
    group.waves.resize(waves);
    for (unsigned n = 0; n < waves; ++n) {
      Wave& w = group.waves[n];
      w.arch = arch;
      w.lanes = mode_.lanes;
      w.index = n;
      w.group = &group;
      w.vgpr = registers_.data() + std::size_t{512} * w.lanes * n;
      w.vgpr_count = w.agpr_count = 256;
      w.pc = program_.base();
      w.set_pair(sreg::exec, w.all_lanes());
      for (unsigned l = 0; l < w.lanes; ++l) w.row(0)[l] = 4 * l;
    }
  }

  Wave& wave(unsigned n = 0) { return group.waves[n]; }
  const Program& program() const { return program_; }
  // To the end, waves in turn. Either may be called once.
  void run() {
    Profile profile(program_, {1, 1}, counts);
    profile.begin_group(group);
    run(profile);
    profile.end_group(group);
  }
  void run(Observer& observer) {
    group.observers = {&observer};
    while (group.live_waves > 0)
      for (Wave& w : group.waves) {
        if (w.state == WaveState::sleeping) w.state = WaveState::running;
        if (w.state == WaveState::running) run_wave(w, 1000);
      }
    group.observers.clear();
  }
  // As the process's profile would store it.
  KernelProfile kernel() const {
    KernelProfile k;
    k.name = kernel_.name;
    const auto bytes = std::as_bytes(std::span(words_));
    k.code = std::make_shared<const CodeCopy>(CodeCopy{mode_, {bytes.begin(), bytes.end()}, {}});
    k.slots = counts.slots;
    k.footprint = counts.footprint.bytes();
    k.launch_count = k.groups = 1;
    k.waves = counts.wave_count;
    return k;
  }
  KernelReport report() const { return analyse(kernel()); }
  const WaveCounts& counted(unsigned n = 0) const { return counts.waves.at(n); }
  std::uint64_t count(InstructionClass c, unsigned n = 0) const {
    return counted(n).totals.classes[static_cast<unsigned>(c)];
  }
  std::uint64_t clocks(Pipe pipe, unsigned n = 0) const {
    return counted(n).totals.clocks[static_cast<unsigned>(pipe)];
  }

  Workgroup group;
  LaunchCounts counts;

 private:
  DecodeMode mode_;
  std::vector<std::uint32_t> words_;
  Program program_;
  std::vector<std::uint32_t> registers_;
  Kernel kernel_;
};

}  // namespace rapt::sim::test
