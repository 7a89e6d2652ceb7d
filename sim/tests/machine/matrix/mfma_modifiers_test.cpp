// cbsz, abid and blgp of every MFMA and SMFMAC, with registers and five constants as C. The same comes from the plain
// instruction if the registers' lanes or signs are changed as the CDNA3 and CDNA4 documents say ("Broadcast values").
#include "sim/tests/support/vop/matrix.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

constexpr unsigned constants[] = {242, 247, 248, 192, 208};  // 1.0, -4.0, 1/(2 pi), 64, -16

struct Fields {
  unsigned cbsz, abid, blgp;
};

Sample with_fields(Sample words, Fields f) {
  words[0] |= f.cbsz << 8 | f.abid << 11;
  words[1] |= f.blgp << 29;
  return words;
}

// In a group of 2^cbsz blocks, all take A from block abid.
unsigned lane_of_a(const MatrixName& m, unsigned lane, Fields f) {
  if (m.blocks == 1) return lane;
  const unsigned block = lane / m.m;
  return ((block >> f.cbsz << f.cbsz) + f.abid) * m.m + lane % m.m;
}

unsigned lane_of_b(unsigned lane, unsigned blgp) {
  if (blgp == 0) return lane;
  if (blgp <= 2) return lane % 32 + 32 * (blgp - 1);
  return blgp == 3 ? (lane + 16) % 64 : lane % 16 + 16 * (blgp - 4);
}

template <class From>
Rows moved(const Rows& rows, From from) {
  Rows result(rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at)
    result[at] = rows[at / 64 * 64 + from(static_cast<unsigned>(at % 64))];
  return result;
}

Rows negated_doubles(Rows rows) {
  for (std::size_t at = 64; at < rows.size(); at += 128)
    for (std::size_t l = 0; l < 64; ++l) rows[at + l] ^= 0x80000000;
  return rows;
}

// From gfx942 on blgp is the signs of doubles (CDNA3, "Alternate meaning of broadcast fields for F64").
bool has_signs(const VopForm& form, const MatrixName& m) { return m.a == "f64" && form.arch != Arch::gfx90a; }

// The documents do not describe cbsz and abid for doubles, nor blocks and sets of indices that do not exist.
bool is_documented(const VopForm& form, const MatrixName& m, Fields f) {
  if (m.sparse) return f.blgp == 0 && f.abid < index_sets(form);
  if (m.a == "f64") return f.cbsz == 0 && f.abid == 0;
  return 1U << f.cbsz <= m.blocks && f.abid < 1U << f.cbsz;
}

// A sparse product uses set abid of the indices if cbsz is 0, else the first.
void modify(const VopForm& form, const MatrixName& m, Fields f, std::vector<Rows>& operands) {
  if (m.sparse) {
    operands[2] = with_set_first(form, operands[2], f.cbsz == 0 ? f.abid : 0);
  } else if (has_signs(form, m)) {
    for (unsigned k = 0; k < 3; ++k)
      if ((f.blgp >> k & 1) != 0) operands[k] = negated_doubles(operands[k]);
  } else {
    operands[0] = moved(operands[0], [&](unsigned lane) { return lane_of_a(m, lane, f); });
    operands[1] = moved(operands[1], [&](unsigned lane) { return lane_of_b(lane, f.blgp); });
  }
}

class MfmaModifiers : public testing::TestWithParam<Arch> {
 protected:
  void SetUp() override {
    forms = matrix_forms(GetParam());
    uses = constant_uses(GetParam(), forms);
    wave.emplace(GetParam());
  }
  void check(std::size_t f, Fields fields, unsigned constant);
  void check_everywhere(std::size_t f, Fields fields);

  std::vector<VopForm> forms;
  std::vector<std::vector<ConstantUse>> uses;
  std::optional<OneWave> wave;
  unsigned cases = 0, refused = 0, open = 0;
};

// `constant`: the code of C, or 0 for a register.
void MfmaModifiers::check(std::size_t f, Fields fields, unsigned constant) {
  const VopForm& form = forms[f];
  const VopSource& c = form.sources[2];
  VopBench bench(*wave, form);
  const Rows accumulator = small_accumulator(form);
  std::vector<Rows> operands = small_operands(form);
  for (unsigned k = 0; k < 3; ++k) bench.set_source(form.sources[k], operands[k]);
  const Sample words = with_fields(constant != 0 ? with_source(form, c, constant) : form.words, fields);
  const VopResult got = bench.run(*decode_form(form, words), accumulator);

  if (constant != 0) {
    bench.fill(c, bits_of_constant(form, c, uses[f][2].type, constant));
    operands[2] = bench.source(c);
  }
  modify(form, matrix_name(form), fields, operands);
  for (unsigned k = 0; k < 3; ++k) bench.set_source(form.sources[k], operands[k]);
  EXPECT_EQ(got, bench.run(*decode_form(form, form.words), accumulator))
      << name(form.arch) << " " << form.text << " cbsz " << fields.cbsz << " abid " << fields.abid << " blgp "
      << fields.blgp << (constant != 0 ? ", C of " + name_of_constant(constant) : "");
  ++cases;
}

void MfmaModifiers::check_everywhere(std::size_t f, Fields fields) {
  const VopForm& form = forms[f];
  const bool decoded = decode_form(form, with_fields(form.words, fields)).has_value();
  if (!is_documented(form, matrix_name(form), fields)) {
    (decoded ? open : refused)++;
    return;
  }
  ASSERT_TRUE(decoded) << form.text;
  check(f, fields, 0);
  if (uses[f][2].type == ConstantType::none || has_wrong_constants(form)) return;
  for (const unsigned code : constants) check(f, fields, code);
}

TEST_P(MfmaModifiers, MoveLanesAndSigns) {
  for (std::size_t f = 0; f < forms.size(); ++f)
    for (unsigned cbsz = 0; cbsz < 8; ++cbsz)
      for (unsigned abid = 0; abid < 16; ++abid)
        for (unsigned blgp = 0; blgp < 8; ++blgp) check_everywhere(f, {cbsz, abid, blgp});
  std::printf("%s: %u cases, %u fields refused, %u left open by the documents\n", std::string(name(GetParam())).c_str(),
              cases, refused, open);
  EXPECT_GT(cases, GetParam() == Arch::gfx908 ? 1300U : 9000U);
}

INSTANTIATE_TEST_SUITE_P(All, MfmaModifiers, testing::Values(Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace rapt::sim::test
