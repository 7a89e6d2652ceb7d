// One vector instruction run on registers that are the same each time, and its results.
#pragma once

#include "sim/tests/support/one_wave.hpp"
#include "sim/tests/support/vop/constants.hpp"

#include <ostream>

namespace rapt::sim::test {

struct VopResult {
  std::vector<std::uint32_t> vgprs;  // the rows of the destination
  std::array<std::uint32_t, sreg::count> sgprs;
  bool operator==(const VopResult&) const = default;
  std::vector<std::uint32_t> all() const {
    std::vector<std::uint32_t> both = vgprs;
    both.insert(both.end(), sgprs.begin(), sgprs.end());
    return both;
  }
};
inline std::ostream& operator<<(std::ostream& out, const VopResult& r) {
  out << std::hex;
  for (std::size_t l = 0; l < std::min<std::size_t>(r.vgprs.size(), 8); ++l) out << r.vgprs[l] << ' ';
  return out << "vcc " << r.sgprs[sreg::vcc] << std::dec;
}

class VopBench {
 public:
  explicit VopBench(OneWave& wave, const VopForm& form);

  // The same values in every source each time: small integers, floats of each width near 1, and edge values, by lanes.
  void reset_sources();
  // A source's rows, one after the other; for a scalar register its dwords.
  std::vector<std::uint32_t> source(const VopSource& source);
  void set_source(const VopSource& source, const std::vector<std::uint32_t>& rows);
  // Every lane of a source.
  void fill(const VopSource& source, const Bits& bits);

  // The destination's rows at each run's start: it may also be a source (v_fmac).
  const std::vector<std::uint32_t>& before() const { return before_; }
  VopResult run(const Instruction& instruction) { return run(instruction, before_); }
  VopResult run(const Instruction& instruction, const std::vector<std::uint32_t>& before);
  unsigned lanes() const { return form_.lanes; }

 private:
  std::uint32_t* row(VopRegister in, unsigned dword);

  OneWave& wave_;
  const VopForm& form_;
  Handler handler_;
  std::vector<std::uint32_t> before_;
};

}  // namespace rapt::sim::test
