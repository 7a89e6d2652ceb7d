// Lines of assembly through one check of the sanitizer; the instructions themselves do not run.
#pragma once

#include "sim/check/checks.hpp"
#include "sim/tests/support/one_wave.hpp"

#include <deque>
#include <memory>

namespace rapt::sim::test {

using MakeCheck = std::unique_ptr<Check> (*)(Workgroup&);

class CheckRun {
 public:
  CheckRun(MakeCheck make, Arch arch, unsigned lanes = 0, unsigned waves = 1) : wave_(arch, lanes) {
    Workgroup& group = wave_.group;
    const Wave first = group.waves[0];
    group.waves.assign(waves, first);
    for (unsigned n = 0; n < waves; ++n) group.waves[n].index = n;
    check_ = make(group);
  }

  // What the check finds in these lines of wave n, "" for nothing; a finding ends the run.
  std::string run(const std::string& text, unsigned n = 0) {
    Wave& wave = wave_.group.waves[n];
    try {
      for (const Instruction& i : decode_all(wave.arch, wave.lanes, assemble(wave.arch, wave.lanes, text))) {
        const Entry& entry = entries_.emplace_back(make_entry({wave.arch, wave.lanes}, i));
        check_->before(wave, entry);
        check_->after(wave, entry);
      }
    } catch (const Fault& fault) {
      return fault.what();
    }
    return "";
  }

  // An access of LDS by all lanes of wave n as its last instruction would announce it: `bytes` a lane from `offset` on.
  std::string access_lds(unsigned n, Action action, std::uint64_t offset, unsigned bytes) {
    Wave& wave = wave_.group.waves[n];
    Addresses addresses;
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
      addresses.at[lane] = reinterpret_cast<std::uint64_t>(wave_.group.lds.data()) + offset + lane * bytes;
    try {
      check_->access(wave, entries_.back().instruction, {Space::lds, action, bytes, wave.all_lanes(), addresses.at});
    } catch (const Fault& fault) {
      return fault.what();
    }
    return "";
  }

 private:
  OneWave wave_;
  std::deque<Entry> entries_;
  std::unique_ptr<Check> check_;
};

// The finding of one wave's lines; "" for none.
inline std::string finding(MakeCheck make, Arch arch, const std::string& text, unsigned lanes = 0) {
  return CheckRun(make, arch, lanes).run(text);
}

}  // namespace rapt::sim::test
