// Passes lines of assembly through one check of the sanitizer; the instructions themselves do not run.
#pragma once

#include "sim/machine/memory/flat_access.hpp"
#include "sim/check/checks.hpp"
#include "sim/tests/support/one_wave.hpp"

#include <deque>
#include <memory>
#include <sstream>
#include <tuple>

namespace rapt::sim::test {

using MakeCheck = std::unique_ptr<Observer> (*)(Workgroup&);

// Decodes lines of assembly, one instruction each; the assembler runs once for all new ones.
class DecodedLines {
 public:
  std::vector<Instruction> get(Arch arch, unsigned lanes, const std::string& text) {
    std::vector<std::string> lines, fresh;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
      if (!line.empty()) lines.push_back(line);
    std::string source;
    for (const std::string& line : lines) {
      if (known_.contains({arch, lanes, line})) continue;
      fresh.push_back(line);
      source += line + "\n";
    }
    if (!fresh.empty()) {
      const auto decoded = decode_all(arch, lanes, assemble(arch, lanes, source));
      if (decoded.size() != fresh.size()) throw std::runtime_error("more or fewer instructions than lines: " + source);
      for (std::size_t n = 0; n < fresh.size(); ++n) known_.insert({{arch, lanes, fresh[n]}, decoded[n]});
    }
    std::vector<Instruction> all;
    for (const std::string& line : lines) all.push_back(known_.at({arch, lanes, line}));
    return all;
  }

 private:
  std::map<std::tuple<Arch, unsigned, std::string>, Instruction> known_;
};

inline DecodedLines& decoded_lines() {
  static DecodedLines lines;
  return lines;
}

class CheckRun {
 public:
  CheckRun(MakeCheck make, Arch arch, unsigned lanes = 0, unsigned waves = 1) : wave_(arch, lanes) {
    Workgroup& group = wave_.group;
    const Wave first = group.waves[0];
    group.waves.assign(waves, first);
    for (unsigned n = 0; n < waves; ++n) group.waves[n].index = n;
    check_ = make(group);
  }

  Wave& wave(unsigned n = 0) { return wave_.group.waves[n]; }

  // What the check finds in these lines of wave n, "" for nothing; a finding ends the run.
  std::string run(const std::string& text, unsigned n = 0) {
    Wave& wave = wave_.group.waves[n];
    try {
      for (const Instruction& i : decoded_lines().get(wave.arch, wave.lanes, text)) {
        const Entry& entry = entries_.emplace_back(make_entry({wave.arch, wave.lanes}, i));
        check_->before(wave, entry);
        check_->after(wave, entry);
      }
    } catch (const Fault& fault) {
      return fault.what();
    }
    return "";
  }

  // An LDS access by all lanes of wave n, as its last instruction would report it: `bytes` per lane from `offset` on.
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
  std::unique_ptr<Observer> check_;
};

// The finding of one wave's lines; "" for none.
inline std::string finding(MakeCheck make, Arch arch, const std::string& text, unsigned lanes = 0) {
  return CheckRun(make, arch, lanes).run(text);
}

}  // namespace rapt::sim::test
