// A set of registers, to follow values through code without running it: say, the registers that hold what was loaded.
#pragma once

#include "sim/machine/core/program.hpp"

#include <algorithm>
#include <bitset>

namespace rapt::sim::timing {

class RegisterSet {
 public:
  void set(const RegisterAccess& access, bool value) {
    for (unsigned n = 0; n < access.count; ++n) bits_.set(first(access) + n, value);
  }
  bool any(const RegisterAccess& access) const {
    for (unsigned n = 0; n < access.count; ++n)
      if (bits_.test(first(access) + n)) return true;
    return false;
  }
  // Returns whether any of them is new.
  bool add(const RegisterSet& others) {
    const auto before = bits_;
    bits_ |= others.bits_;
    return bits_ != before;
  }

 private:
  static constexpr unsigned scc = sreg::count, vgprs = scc + 1, agprs = vgprs + 256;
  static unsigned first(const RegisterAccess& access) {
    switch (access.file) {
      case RegisterFile::sgpr: return access.first;
      case RegisterFile::scc: return scc;
      case RegisterFile::vgpr: return vgprs + access.first;
      case RegisterFile::agpr: return agprs + access.first;
    }
    return scc;
  }
  std::bitset<agprs + 256 + 16> bits_;
};

template <typename Which>
bool reads_any(const Entry& entry, const RegisterSet& registers, Which which) {
  const auto reads = entry.effects.reads();
  return std::any_of(reads.begin(), reads.end(),
                     [&](const RegisterAccess& read) { return which(read) && registers.any(read); });
}

inline bool reads_any(const Entry& entry, const RegisterSet& registers) {
  return reads_any(entry, registers, [](const RegisterAccess&) { return true; });
}

inline void mark_writes(const Entry& entry, RegisterSet& registers, bool value) {
  for (const RegisterAccess& write : entry.effects.writes()) registers.set(write, value);
}

}  // namespace rapt::sim::timing
