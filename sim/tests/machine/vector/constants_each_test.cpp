// Every inline constant and some literals in each source of every vector operation, in each encoding, compared with the
// same operation with the constant's bits in a register.
#include "sim/tests/support/vop/bench.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rapt::sim::test {
namespace {

constexpr unsigned code_of_literal = 255;
constexpr std::uint32_t literals[] = {0x12345678, 0xbf9e3c01, 0x00004100, 0xfedcba98};

class ConstantsEach : public testing::TestWithParam<Arch> {
 protected:
  void SetUp() override {
    forms = vop_forms(GetParam());
    uses = constant_uses(GetParam(), forms);
    wave.emplace(GetParam());
  }
  void TearDown() override { std::printf("%s: %u cases\n", std::string(name(GetParam())).c_str(), cases); }

  std::vector<VopForm> forms;
  std::vector<std::vector<ConstantUse>> uses;
  std::optional<OneWave> wave;
  unsigned cases = 0;
};

// The result does not depend on the source: comparisons that are always false or true, and the mask of lanes 32 to 63.
bool is_always_the_same(const VopForm& form, const VopSource& source) {
  if (form.starts_with("v_cmp")) return form.has("f") || form.has("t") || form.has("tru");
  return form.starts_with("v_mbcnt_hi") && form.lanes == 32 && source.number == 0;
}

TEST_P(ConstantsEach, AreWhatARegisterWouldHold) {
  for (std::size_t f = 0; f < forms.size(); ++f) {
    const VopForm& form = forms[f];
    VopBench bench(*wave, form);
    const auto plain = decode_form(form, form.words);
    for (std::size_t k = 0; k < form.sources.size(); ++k) {
      const VopSource& source = form.sources[k];
      if (!source.any || has_wrong_constants(form)) continue;
      std::set<std::vector<std::uint32_t>> results;
      std::string wrong;
      for (const unsigned code : inline_codes()) {
        const auto instruction = decode_form(form, with_source(form, source, code));
        ASSERT_EQ(instruction.has_value(), uses[f][k].type != ConstantType::none)
            << form.text << " with a constant for " << source.text;
        if (!instruction) break;
        const VopResult got = bench.run(*instruction);
        bench.fill(source, bits_of_constant(form, source, uses[f][k].type, code));
        if (!(bench.run(*plain) == got)) wrong += " " + name_of_constant(code);
        results.insert(got.all());
        ++cases;
      }
      EXPECT_EQ(wrong, "") << name(form.arch) << " " << form.text << ", constants for " << source.text;
      EXPECT_TRUE(results.empty() || results.size() > 1 || is_always_the_same(form, source))
          << form.text << " does not depend on " << source.text;
      bench.reset_sources();
    }
  }
  EXPECT_GT(cases, 110000U);
}

TEST_P(ConstantsEach, LiteralsToo) {
  for (std::size_t f = 0; f < forms.size(); ++f) {
    VopForm& form = forms[f];
    VopBench bench(*wave, form);
    // fmamk and fmaak have a literal, which a source may share.
    const bool shared = !form.e64 && form.size == 2;
    const unsigned at = shared ? 1 : form.size;
    for (std::size_t k = 0; k < form.sources.size(); ++k) {
      const VopSource& source = form.sources[k];
      for (const std::uint32_t literal : literals) {
        Sample words = with_source(form, source, code_of_literal);
        if (!source.any || at >= words.size()) break;
        words[at] = form.words[at] = literal;
        const auto instruction = decode_form(form, words);
        if (is_cdna(form.arch) && form.e64) {
          ASSERT_FALSE(instruction) << form.text << ", literal for " << source.text;
        }
        if (!uses[f][k].literal && !shared) break;
        ASSERT_TRUE(instruction) << form.text << ", literal for " << source.text;
        const VopResult got = bench.run(*instruction);
        bench.fill(source, bits_of_literal(form, source, literal));
        EXPECT_EQ(bench.run(*decode_form(form, form.words)), got)
            << name(form.arch) << " " << form.text << " with " << literal << " for " << source.text;
        ++cases;
      }
      bench.reset_sources();
    }
  }
  EXPECT_GT(cases, is_cdna(GetParam()) ? 1300U : 4900U);
}

INSTANTIATE_TEST_SUITE_P(All, ConstantsEach,
                         testing::Values(Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950, Arch::gfx1100,
                                         Arch::gfx1151, Arch::gfx1201),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace rapt::sim::test
