// Operands of a matrix instruction: reading A, B and C, the modifiers, writing D.
#pragma once

#include "sim/machine/matrix/plan.hpp"
#include "sim/machine/matrix/truncated.hpp"
#include "sim/machine/convert/small_float.hpp"
#include "sim/machine/core/wave.hpp"

namespace rapt::sim::matrix {

constexpr bool is_sparse(const Op& op) { return op.family == Family::smfmac || op.family == Family::swmmac; }
constexpr bool is_cdna(const Op& op) { return (op.archs & cdna) != 0; }

// A (which = 0) or B (1) as floats, with neg, blgp and flushing applied.
void read_operand(const Plan& plan, Wave& w, const Instruction& i, unsigned which, float* to);
// Whether integer sums saturate: clamp on RDNA, MODE.FP16_OVFL on gfx942 and gfx950.
bool saturates(const Wave& w, const Instruction& i);
// The lane that B is taken from (CDNA3 document, "BLGP").
unsigned permuted_lane(unsigned lane, unsigned blgp);
// cbsz and abid: in every group of 2^cbsz blocks, all take A from the block that abid names.
void broadcast_blocks(const Plan& plan, const Instruction& i, std::array<std::uint16_t, 128>& a_at);
// Where B's values are for the stored k of each row of a sparse A. Values that have no place are cleared in `a`.
void sparse_steps(const Plan& plan, Wave& w, const Instruction& i, float* a,
                  std::array<std::uint16_t, largest_operand / 2>& b_at);

// C as the arithmetic reads it and D as it writes it.
class Accumulator {
 public:
  Accumulator(const Plan& plan, Wave& w, const Instruction& i);
  const std::uint32_t* input() const { return input_; }
  const std::uint16_t* input_at() const { return input_at_; }
  std::uint32_t* output() const { return output_; }
  const std::uint16_t* output_at() const { return output_at_; }
  // After the arithmetic: narrow results go to their registers, overflow is clamped if the mode says so.
  void finish(const Tile& t);

 private:
  void widen_input(const Operand& c);
  void modify_input();
  void clamp_overflow(const Tile& t);

  const Plan& plan_;
  Wave& w_;
  const Instruction& i_;
  const std::uint32_t* input_;
  std::uint32_t* output_;
  const std::uint16_t *input_at_, *output_at_;
  alignas(64) std::uint32_t buffer_[2048];  // C, if it cannot be used directly from registers
};

void execute_f64(const Plan& plan, Wave& w, const Instruction& i);
void execute_scaled(const Op& op, Wave& w, const Instruction& i);

}  // namespace rapt::sim::matrix
