// Runs an instruction that only moves bits on the shadow instead of the values, which gives the shadow of its result.
// Matrix products run with NaNs in place of undefined elements: results that are NaNs are undefined.
#pragma once

#include "sim/check/values/shadow.hpp"
#include "sim/machine/core/handlers.hpp"

#include <vector>

namespace rapt::sim {

// The undefined bits of the registers that an instruction writes: rows of all lanes, or scalar registers.
struct Undefined {
  RegisterFile file;
  unsigned first = 0;                            // row (AGPRs from Wave::agpr_row on) or scalar register
  std::vector<std::vector<std::uint32_t>> rows;  // a vector register: one word per lane; a scalar one: one word
};

class ShadowRunner {
 public:
  explicit ShadowRunner(unsigned lanes);

  // Operands with Use::value hold their shadow, others their value. None if the handler is unknown or an operand is
  // both.
  std::optional<std::vector<Undefined>> move(const Wave& wave, const Instruction& i, const Effects& e,
                                             const Shadow& shadow);
  // The same for products; `element_bits`: 16, 32 or 64, in which an undefined bit spreads before it flows.
  std::vector<Undefined> multiply(const Wave& wave, const Instruction& i, const Effects& e, const Shadow& shadow,
                                  unsigned element_bits, unsigned result_bits);

  // Source `n` of a VALU instruction after DPP or SDWA, as words per lane.
  std::vector<std::uint32_t> source(const Wave& wave, const Instruction& i, unsigned n, const Shadow& shadow);

 private:
  void spoil(const Wave& wave, const Instruction& i, const RegisterAccess& control, const Shadow& shadow,
             std::vector<Undefined>& results) const;
  void prepare(const Wave& wave, const Effects& e, const Shadow& shadow, unsigned spread);
  void load_row(const Wave& wave, const RegisterAccess& access, const Shadow& shadow, unsigned spread);
  std::vector<Undefined> collect(const Effects& e) const;
  static Instruction without_constants(const Instruction& i, const Effects& e);

  unsigned lanes_;
  std::vector<std::uint32_t> registers_;
  Wave wave_;
};

}  // namespace rapt::sim
