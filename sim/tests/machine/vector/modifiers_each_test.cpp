// Every modifier bit of every VOP3 and VOP3P operation except for matrices, singly and all together. Sources are
// registers and five constants; an ordinary run has one of the constants, in turn. The same comes from the operation
// without modifiers, if their effects are applied to its registers and its result.
#include "sim/tests/support/sampling.hpp"
#include "sim/tests/support/vop/expected.hpp"
#include "sim/tests/support/vop/rulings.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

constexpr unsigned constants[] = {242, 247, 248, 192, 208};  // 1.0, -4.0, 1/(2 pi), 64, -16
constexpr std::uint32_t usual_mode = mode::denorm_f32 | mode::denorm_f16_f64 | mode::dx10_clamp | mode::ieee;
constexpr std::uint32_t omod_mode = mode::dx10_clamp;  // output denormals are flushed, and IEEE is off

// Modifiers as encoded, and as they take effect.
struct Variant {
  Modifiers encoded, effective;
};

bool is_tested(const VopForm& form) {
  return form.e64 && !form.is_matrix() && !form.sources.empty() && !form.starts_with("v_bitop3_");
}

class ModifiersEach : public testing::TestWithParam<Arch> {
 protected:
  void SetUp() override {
    forms = vop_forms(GetParam());
    std::erase_if(forms, [](const VopForm& form) { return !is_tested(form); });
    uses = constant_uses(GetParam(), forms);
    known = known_modifiers(GetParam(), forms);
    wave.emplace(GetParam());
  }

  std::vector<Variant> variants(std::size_t f);
  void check(std::size_t f, VopBench& bench, const Variant& variant, const VopSource* source, unsigned code);
  void check_everywhere(std::size_t f, VopBench& bench, const Variant& variant);

  std::vector<VopForm> forms;
  std::vector<std::vector<ConstantUse>> uses;
  std::vector<std::vector<Known>> known;
  std::optional<OneWave> wave;
  unsigned cases = 0, refused = 0, open = 0;
  // Counts the cases. An ordinary run takes one in six: as there are five constants, each has its turn.
  std::size_t turn = 0;
};

// LLVM expects 0 there, although its assembler writes op_sel_hi's default of 1: gfx950's hardware ignores it.
bool decodes_bit_13(const VopForm& form, const Modifiers& m) {
  return form.arch == Arch::gfx950 && form.starts_with("v_cvt_pk_bf16_f32") && m.op_sel == 4;
}

Modifiers joined(const Modifiers& a, const Modifiers& b, const Modifiers& plain) {
  Modifiers m = a | b;
  m.op_sel_hi = plain.op_sel_hi ^ ((a.op_sel_hi ^ plain.op_sel_hi) | (b.op_sel_hi ^ plain.op_sel_hi));
  return m;
}

// Each bit that the documents do not leave open, and all of them.
std::vector<Variant> ModifiersEach::variants(std::size_t f) {
  const VopForm& form = forms[f];
  const Modifiers plain = plain_modifiers(form);
  std::vector<Variant> list;
  Variant all{plain, plain};
  const std::vector<Modifiers> singles = single_modifiers(form);
  for (std::size_t n = 0; n < singles.size(); ++n) {
    const Ruling rule = ruling(form, singles[n], known[f][n]);
    const bool decoded = decode_form(form, with_modifiers(form, form.words, singles[n])).has_value();
    const bool known_to_llvm = known[f][n] != Known::refused || decodes_bit_13(form, singles[n]);
    // Bits that are left open may be refused, such as true16's op_sel of a source that an operation does not have.
    EXPECT_TRUE(decoded == known_to_llvm || (rule.effect == Effect::open && !decoded))
        << form.text << name_of(form, singles[n]);
    refused += decoded ? 0 : 1;
    open += decoded && rule.effect == Effect::open ? 1 : 0;
    if (!decoded || rule.effect == Effect::open) continue;
    const Variant one{singles[n], rule.effect == Effect::some ? singles[n] : plain};
    list.push_back(one);
    all = {joined(all.encoded, one.encoded, plain), joined(all.effective, one.effective, plain)};
  }
  list.push_back(all);
  return list;
}

// A constant gives only one dword of a pair of f32 (forms.cpp).
bool selects_what_no_constant_has(const VopForm& form, const VopSource& source, const Modifiers& m) {
  const ValueKind kind = source_kind(form, source.number);
  return form.is_vop3p() && kind.pair && kind.bits == 32 && ((m.op_sel | m.op_sel_hi) >> source.number & 1) != 0;
}

// `source`: the one that has the constant, or none.
void ModifiersEach::check(std::size_t f, VopBench& bench, const Variant& variant, const VopSource* source,
                          unsigned code) {
  const VopForm& form = forms[f];
  VopForm encoded = form;
  encoded.words = with_modifiers(form, source ? with_source(form, *source, code) : form.words, variant.encoded);
  const auto instruction = decode_form(form, encoded.words);
  ASSERT_TRUE(instruction) << form.text << name_of(form, variant.encoded);
  bench.reset_sources();
  const VopResult got = bench.run(*instruction);

  bench.reset_sources();
  if (source) {
    const auto type = uses[f][static_cast<std::size_t>(source - form.sources.data())].type;
    bench.fill(*source, bits_of_constant(encoded, *source, type, code));
  }
  SourceRows sources;
  for (const VopSource& s : form.sources) {
    sources.push_back(bench.source(s));
    modify_source(form, s, variant.effective, sources.back());
    bench.set_source(s, sources.back());
  }
  std::vector<std::uint32_t> before = bench.before();
  const bool adds_to_high_half = form.starts_with("v_fmac_f16") && (variant.effective.op_sel & 8) != 0;
  for (std::uint32_t& v : before) v = adds_to_high_half ? v >> 16 | v << 16 : v;
  const VopForm reference = reference_form(form);
  Expected want = modify_result(form, variant.effective, result_mode(wave->wave(), form),
                                bench.run(*decode_form(reference, reference.words), before), sources, bench.before());
  for (std::size_t at = 0; at < got.vgprs.size(); ++at)
    if (want.open[at % form.lanes]) want.result.vgprs[at] = got.vgprs[at];
  if (form.starts_with("v_s_") && want.open[0]) want.result.sgprs[0] = got.sgprs[0];
  ++cases;
  EXPECT_EQ(got, want.result) << name(form.arch) << " " << form.text << name_of(form, variant.encoded)
                              << (source ? ", " + name_of_constant(code) + " for " + source->text : "")
                              << (wave->wave().mode == usual_mode ? "" : ", denormals flushed");
}

void ModifiersEach::check_everywhere(std::size_t f, VopBench& bench, const Variant& variant) {
  check(f, bench, variant, nullptr, 0);
  for (std::size_t k = 0; k < forms[f].sources.size(); ++k) {
    const VopSource& source = forms[f].sources[k];
    if (uses[f][k].type == ConstantType::none || selects_what_no_constant_has(forms[f], source, variant.effective))
      continue;
    for (const unsigned code : constants)
      if (taken(turn++, std::size(constants) + 1)) check(f, bench, variant, &source, code);
  }
}

TEST_P(ModifiersEach, AreChangesOfSourcesAndResults) {
  for (std::size_t f = 0; f < forms.size(); ++f) {
    VopBench bench(*wave, forms[f]);
    for (const Variant& variant : variants(f)) {
      wave->wave().mode = usual_mode;
      check_everywhere(f, bench, variant);
      if (variant.encoded.omod == 0) continue;
      wave->wave().mode = omod_mode;
      check_everywhere(f, bench, variant);
    }
  }
  std::printf("%s: %u cases, %u bits refused, %u left open by the documents\n", std::string(name(GetParam())).c_str(),
              cases, refused, open);
  EXPECT_GT(cases, whole_lists() ? 47000U : 9000U);
}

INSTANTIATE_TEST_SUITE_P(All, ModifiersEach,
                         testing::Values(Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950, Arch::gfx1100,
                                         Arch::gfx1151, Arch::gfx1201),
                         [](const auto& test) { return std::string(name(test.param)); });

// v_bitop3 has its truth table in place of neg, abs and omod; the order of the bits is LLVM's.
Sample with_table(Sample words, unsigned table) {
  words[0] = (words[0] & ~(7U << 8)) | (table >> 3 & 7) << 8;
  words[1] = (words[1] & 0x07ffffff) | (table & 7) << 29 | table >> 6 << 27;
  return words;
}

// Bit n of the result: the table's bit that the sources' bits n count. For 16 bits, op_sel selects the half.
std::uint32_t bitop3(const SourceRows& sources, std::size_t lane, unsigned table, unsigned op_sel, bool narrow,
                     std::uint32_t before) {
  std::uint32_t bits[3], result = 0;
  for (unsigned k = 0; k < 3; ++k) bits[k] = sources[k][lane] >> (op_sel >> k & 1) * 16;
  for (unsigned n = 0; n < (narrow ? 16 : 32); ++n)
    result |= (table >> ((bits[0] >> n & 1) << 2 | (bits[1] >> n & 1) << 1 | (bits[2] >> n & 1)) & 1) << n;
  if (!narrow) return result;
  return op_sel >> 3 != 0 ? (before & 0xffff) | result << 16 : (before & 0xffff0000) | result;
}

TEST(ModifiersOfBitop3, AreTheTruthTable) {
  std::vector<VopForm> forms = vop_forms(Arch::gfx950);
  std::erase_if(forms, [](const VopForm& form) { return !form.starts_with("v_bitop3_"); });
  const auto uses = constant_uses(Arch::gfx950, forms);
  OneWave wave(Arch::gfx950);
  unsigned cases = 0;
  const auto check = [&](std::size_t f, unsigned table, unsigned op_sel, unsigned constant_source, unsigned code) {
    const VopForm& form = forms[f];
    VopBench bench(wave, form);
    VopForm encoded = form;
    if (code != 0) {
      const VopSource& source = form.sources[constant_source];
      encoded.words = with_source(form, source, code);
      bench.fill(source, bits_of_constant(form, source, uses[f][constant_source].type, code));
    }
    SourceRows sources;
    for (const VopSource& source : form.sources) sources.push_back(bench.source(source));
    encoded.words = with_table(encoded.words, table);
    encoded.words[0] |= op_sel << 11;
    bench.reset_sources();
    const std::vector<std::uint32_t> got = bench.run(*decode_form(form, encoded.words)).vgprs;
    for (std::size_t l = 0; l < got.size(); ++l)
      ASSERT_EQ(got[l], bitop3(sources, l, table, op_sel, form.has("b16"), bench.before()[l]))
          << form.opcode->name << " table " << table << " op_sel " << op_sel << " " << name_of_constant(code);
    ++cases;
  };
  for (std::size_t f = 0; f < forms.size(); ++f)
    for (const unsigned table : {0U, 1U, 2U, 4U, 8U, 16U, 32U, 64U, 128U, 0x96U, 0xffU})
      for (const unsigned op_sel : {0U, 1U, 2U, 4U, 8U, 15U}) {
        if (op_sel != 0 && !forms[f].has("b16")) continue;
        check(f, table, op_sel, 0, 0);
        for (unsigned k = 0; k < 3; ++k)
          for (const unsigned code : constants) check(f, table, op_sel, k, code);
      }
  std::printf("v_bitop3: %u cases\n", cases);
  EXPECT_GT(cases, 1200U);
}

}  // namespace
}  // namespace rapt::sim::test
