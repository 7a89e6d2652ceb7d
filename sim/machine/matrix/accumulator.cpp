// C and D of matrix instructions.
#include "sim/isa/constants.hpp"
#include "sim/machine/matrix/operands.hpp"
#include "sim/machine/operands/types.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace rapt::sim::matrix {

namespace {

constexpr std::array<std::uint16_t, 128> same_place{};
constexpr auto one_after_another = [] {
  std::array<std::uint16_t, 16> places{};
  for (unsigned i = 0; i < 16; ++i) places[i] = static_cast<std::uint16_t>(16 * i);
  return places;
}();

bool is_narrow(const Op& op) { return bits(op.d) == 16; }

// The place of a 16-bit row of C or D: gfx11 keeps one in a register, in the half that op_sel selects; gfx12 two.
struct Half {
  unsigned at, shift;
};
Half narrow_place(const Plan& plan, const Instruction& i, unsigned row) {
  const unsigned at = plan.d_at[row], item = at / plan.lanes, lane = at % plan.lanes;
  if (plan.op->family == Family::wmma_gfx11) return {at, (i.op_sel & 4) != 0 ? 16U : 0U};
  return {item / 2 * plan.lanes + lane, item % 2 * 16};
}

// A constant as bits of another type, if the decoder took the operand for a 32-bit one.
std::uint64_t constant_as(const Operand& c, Type type) {
  const auto code = inline_code(c.value, Type::b32);
  return code ? *inline_constant(*code, type) : c.value;
}

}  // namespace

Accumulator::Accumulator(const Plan& plan, Wave& w, const Instruction& i) : plan_(plan), w_(w), i_(i) {
  const Operand& c = is_sparse(*plan.op) ? i.dst : i.src[2];
  output_ = w.row(i.dst);
  output_at_ = input_at_ = plan.d_at.data();
  if (is_narrow(*plan.op)) {
    widen_input(c);
    input_at_ = output_at_ = one_after_another.data();
    output_ = buffer_;
  } else if (c.kind == OperandKind::constant) {
    std::fill_n(buffer_, plan.op->shape.n, static_cast<std::uint32_t>(c.value));
    input_ = buffer_;
    input_at_ = same_place.data();
  } else {
    const std::uint32_t* const registers = w.row(c);
    const auto count = static_cast<std::ptrdiff_t>(plan.d_registers * plan.lanes);
    const std::ptrdiff_t apart = registers - output_;
    input_ = registers;
    if (apart != 0 && std::abs(apart) < count) {  // D would overwrite rows of C that are still to be read
      std::copy_n(registers, count, buffer_);
      input_ = buffer_;
    }
  }
  modify_input();
}

void Accumulator::widen_input(const Operand& c) {
  const bool f16 = plan_.op->d == Element::f16;
  const auto widen_one = [&](std::uint32_t v) { return f16 ? widen_bits<f16_format>(v & 0xffff) : v << 16; };
  input_ = buffer_;
  if (c.kind == OperandKind::constant) {
    const auto value = static_cast<std::uint32_t>(constant_as(c, f16 ? Type::f16 : Type::bf16));
    std::fill_n(buffer_, 256, widen_one(value));
    return;
  }
  const std::uint32_t* const registers = w_.row(c);
  for (unsigned row = 0; row < 16; ++row) {
    const Half half = narrow_place(plan_, i_, row);
    std::uint32_t words[16];
    std::memcpy(words, registers + half.at, sizeof words);
    for (std::uint32_t& v : words) v = widen_one(v >> half.shift);
    std::memcpy(buffer_ + row * 16, words, sizeof words);
  }
}

void Accumulator::modify_input() {
  const Op& op = *plan_.op;
  const bool rdna = is_rdna(w_.arch) && !is_sparse(op) && op.d != Element::i32;
  const bool negative = rdna && (i_.neg & 4) != 0, absolute = rdna && (i_.neg_hi & 4) != 0;
  const bool flushes =
      w_.arch == Arch::gfx90a && op.a == Element::f32 && (w_.mode & mode::denorm_f32 & -mode::denorm_f32) == 0;
  if (!negative && !absolute && !flushes) return;
  const unsigned count = is_narrow(op)                             ? 256
                         : i_.src[2].kind == OperandKind::constant ? op.shape.n
                                                                   : plan_.d_registers * plan_.lanes;
  for (unsigned n = 0; n < count; ++n) {
    std::uint32_t v = input_[n];
    if (absolute) v &= 0x7fffffff;
    if (negative) v ^= 0x80000000;
    if (flushes && (v & 0x7f800000) == 0) v &= 0x80000000;
    buffer_[n] = v;
  }
  input_ = buffer_;
}

void Accumulator::finish(const Tile& t) {
  const Op& op = *plan_.op;
  if (is_narrow(op)) {
    std::uint32_t* const registers = w_.row(i_.dst);
    const valu::Rounding rounding{valu::Round::nearest, (w_.mode & mode::fp16_ovfl) != 0};
    for (unsigned row = 0; row < 16; ++row) {
      const Half half = narrow_place(plan_, i_, row);
      std::uint32_t words[16], old[16];
      std::memcpy(words, buffer_ + row * 16, sizeof words);
      std::memcpy(old, registers + half.at, sizeof old);
      if (op.d == Element::f16)
        for (std::uint32_t& v : words) v = valu::float_to_half(std::bit_cast<float>(v), rounding);
      else
        for (std::uint32_t& v : words) v = valu::float_to_bf16(std::bit_cast<float>(v), valu::Round::nearest);
      for (unsigned n = 0; n < 16; ++n) words[n] = (old[n] & 0xffff0000U >> half.shift) | words[n] << half.shift;
      std::memcpy(registers + half.at, words, sizeof words);
    }
    return;
  }
  if (t.saturate && op.d == Element::f32) clamp_overflow(t);
  if (w_.arch == Arch::gfx90a && op.a == Element::f32 && (w_.mode & mode::denorm_f32 & mode::denorm_f32 << 1) == 0)
    for (unsigned n = 0; n < plan_.d_registers * plan_.lanes; ++n)
      if ((output_[n] & 0x7f800000) == 0) output_[n] &= 0x80000000;
}

// MODE.FP16_OVFL: a sum that overflows is the largest number; infinite inputs stay infinite.
void Accumulator::clamp_overflow(const Tile& t) {
  const auto infinite = [](const float* values, unsigned count) {
    return std::any_of(values, values + count, [](float v) { return std::isinf(v); });
  };
  if (infinite(t.a, t.a_count) || infinite(t.b, t.b_count)) return;
  for (unsigned n = 0; n < plan_.d_registers * plan_.lanes; ++n)
    if ((output_[n] & 0x7fffffff) == 0x7f800000) --output_[n];
}

}  // namespace rapt::sim::matrix
