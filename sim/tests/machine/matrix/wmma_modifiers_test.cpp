// neg, neg_hi, op_sel and clamp of every WMMA and SWMMAC in every combination, with registers and five constants as C.
// The same comes from the plain instruction on changed registers (RDNA3 and RDNA4 documents, "Wave matrix multiply
// accumulate"), for integers from 64-bit sums.
#include "sim/tests/support/vop/matrix.hpp"
#include "sim/tests/support/vop/modifiers.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

constexpr unsigned constants[] = {242, 247, 248, 192, 208};  // 1.0, -4.0, 1/(2 pi), 64, -16

bool is_half(const std::string& type) { return type == "f16" || type == "bf16"; }
bool is_integer(const MatrixName& m) { return m.d == "i32"; }
bool has_half_results(const MatrixName& m) { return contains(gfx11, m.arch) && is_half(m.d); }

// The bits that mean something. RDNA4 7.7: NEG of IU says which are signed; op_sel of sparse products names the set of
// indices; RDNA3 7.9: op_sel[2] is the half of 16-bit C and D. Others (neg of fp8) are undocumented or "must be zero".
struct Meaningful {
  unsigned neg = 0, neg_hi = 0;
  std::vector<unsigned> op_sel{0};
  bool clamp = false;
};
Meaningful meaningful(const VopForm& form, const MatrixName& m) {
  Meaningful bits;
  if (is_half(m.a)) bits.neg = bits.neg_hi = m.sparse ? 3 : 7;
  if (is_integer(m)) bits.neg = 3;
  if (has_half_results(m)) bits.op_sel = {0, 4};
  for (unsigned set = 1; m.sparse && set < index_sets(form); ++set) bits.op_sel.push_back(set);
  bits.clamp = is_integer(m);
  return bits;
}

std::vector<Modifiers> combinations(const VopForm& form, const Meaningful& bits) {
  std::vector<Modifiers> all;
  for (unsigned neg = 0; neg < 8; ++neg)
    for (unsigned hi = 0; hi < 8; ++hi)
      for (const unsigned op_sel : bits.op_sel)
        for (const bool clamp : {false, true})
          if ((neg & ~bits.neg) == 0 && (hi & ~bits.neg_hi) == 0 && clamp <= bits.clamp)
            all.push_back(plain_modifiers(form) | Modifiers{.neg = neg, .abs = hi, .op_sel = op_sel, .clamp = clamp});
  return all;
}

bool bit(unsigned bits, unsigned n) { return (bits >> n & 1) != 0; }

// neg: the lower halves; neg_hi: the upper ones. For C, neg is the sign and neg_hi the absolute value.
void change_signs(const MatrixName& m, const Modifiers& mod, std::vector<Rows>& operands) {
  for (unsigned k = 0; k < 2; ++k)
    for (std::uint32_t& v : operands[k]) v ^= (bit(mod.neg, k) ? 0x8000U : 0) | (bit(mod.abs, k) ? 0x80000000U : 0);
  const std::uint32_t signs = is_half(m.d) ? 0x80008000 : 0x80000000;
  for (std::uint32_t& v : operands[2]) {
    if (bit(mod.abs, 2)) v &= ~signs;
    if (bit(mod.neg, 2)) v ^= signs;
  }
}

void swap_halves(Rows& rows) {
  for (std::uint32_t& v : rows) v = v >> 16 | v << 16;
}

class WmmaModifiers : public testing::TestWithParam<Arch> {
 protected:
  void SetUp() override {
    forms = matrix_forms(GetParam());
    uses = constant_uses(GetParam(), forms);
    wave.emplace(GetParam());
  }
  void check(std::size_t f, const Modifiers& modifiers, unsigned constant);
  Rows plain_result(const VopForm& form, const std::vector<Rows>& operands, const Rows& accumulator);
  Rows integer_result(const VopForm& form, const Modifiers& modifiers, const std::vector<Rows>& operands);
  void count_others(const VopForm& form, const Meaningful& bits);

  std::vector<VopForm> forms;
  std::vector<std::vector<ConstantUse>> uses;
  std::optional<OneWave> wave;
  unsigned cases = 0, refused = 0, open = 0;
};

Rows WmmaModifiers::plain_result(const VopForm& form, const std::vector<Rows>& operands, const Rows& accumulator) {
  VopBench bench(*wave, form);
  for (unsigned k = 0; k < 3; ++k) bench.set_source(form.sources[k], operands[k]);
  return bench.run(*decode_form(form, form.words), accumulator).vgprs;
}

// Plain integers are unsigned, and signed(x) = x - 2^bits * top_bit(x): a signed product is a sum of unsigned ones.
Rows WmmaModifiers::integer_result(const VopForm& form, const Modifiers& modifiers, const std::vector<Rows>& operands) {
  const MatrixName m = matrix_name(form);
  const unsigned bits = type_bits(m.a);
  const Rows& c = m.sparse ? operands[3] : operands[2];
  std::vector<std::int64_t> sums;
  for (const std::uint32_t v : c) sums.push_back(static_cast<std::int32_t>(v));
  for (unsigned tops = 0; tops < 4; ++tops) {
    if ((tops & ~modifiers.neg) != 0) continue;
    std::vector<Rows> part = operands;
    std::int64_t factor = 1;
    for (unsigned k = 0; k < 2; ++k) {
      if (!bit(tops, k)) continue;
      for (std::uint32_t& v : part[k]) v = v >> (bits - 1) & (bits == 8 ? 0x01010101 : 0x11111111);
      factor *= -(std::int64_t{1} << bits);
    }
    if (!m.sparse) part[2].assign(c.size(), 0);
    const Rows product = plain_result(form, part, Rows(c.size()));
    for (std::size_t at = 0; at < sums.size(); ++at) sums[at] += factor * static_cast<std::int32_t>(product[at]);
  }
  Rows result;
  for (const std::int64_t sum : sums)
    result.push_back(
        static_cast<std::uint32_t>(modifiers.clamp ? std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX) : sum));
  return result;
}

// `constant`: the code of C, or 0 for a register.
void WmmaModifiers::check(std::size_t f, const Modifiers& modifiers, unsigned constant) {
  const VopForm& form = forms[f];
  const VopSource& c = form.sources[2];
  const MatrixName m = matrix_name(form);
  VopBench bench(*wave, form);
  Rows accumulator = small_accumulator(form);
  std::vector<Rows> operands = small_operands(form);
  for (unsigned k = 0; k < 3; ++k) bench.set_source(form.sources[k], operands[k]);
  const Sample words = with_modifiers(form, constant != 0 ? with_source(form, c, constant) : form.words, modifiers);
  const auto instruction = decode_form(form, words);
  ASSERT_TRUE(instruction) << form.text << name_of(form, modifiers);
  const Rows got = bench.run(*instruction, accumulator).vgprs;

  if (constant != 0) {
    bench.fill(c, bits_of_constant(form, c, uses[f][2].type, constant));
    operands[2] = bench.source(c);
  }
  if (m.sparse) operands[2] = with_set_first(form, operands[2], modifiers.op_sel);
  Rows want;
  if (is_integer(m)) {
    operands.push_back(accumulator);
    want = integer_result(form, modifiers, operands);
  } else {
    change_signs(m, modifiers, operands);
    const bool upper = has_half_results(m) && modifiers.op_sel == 4;
    if (upper) swap_halves(operands[2]), swap_halves(accumulator);
    want = plain_result(form, operands, accumulator);
    if (upper) swap_halves(want);
  }
  EXPECT_EQ(got, want) << name(form.arch) << " " << form.text << name_of(form, modifiers)
                       << (constant != 0 ? ", C of " + name_of_constant(constant) : "");
  ++cases;
}

void WmmaModifiers::count_others(const VopForm& form, const Meaningful& bits) {
  for (const Modifiers& single : single_modifiers(form)) {
    const bool listed = std::find(bits.op_sel.begin(), bits.op_sel.end(), single.op_sel) != bits.op_sel.end();
    const bool has_meaning = (single.neg & ~bits.neg) == 0 && (single.abs & ~bits.neg_hi) == 0 && listed &&
                             single.clamp <= bits.clamp && single.op_sel_hi == plain_modifiers(form).op_sel_hi;
    if (has_meaning) continue;
    (decode_form(form, with_modifiers(form, form.words, single)) ? open : refused)++;
  }
}

TEST_P(WmmaModifiers, ChangeSignsHalvesAndSums) {
  for (std::size_t f = 0; f < forms.size(); ++f) {
    const Meaningful bits = meaningful(forms[f], matrix_name(forms[f]));
    count_others(forms[f], bits);
    for (const Modifiers& modifiers : combinations(forms[f], bits)) {
      check(f, modifiers, 0);
      if (uses[f][2].type == ConstantType::none) continue;
      for (const unsigned code : constants) check(f, modifiers, code);
    }
  }
  std::printf("%s: %u cases, %u bits refused, %u left open by the documents\n", std::string(name(GetParam())).c_str(),
              cases, refused, open);
  EXPECT_GT(cases, 1800U);
}

INSTANTIATE_TEST_SUITE_P(All, WmmaModifiers, testing::Values(Arch::gfx1100, Arch::gfx1151, Arch::gfx1201),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace rapt::sim::test
