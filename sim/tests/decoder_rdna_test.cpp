// The decoder of gfx1100, gfx1151 and gfx1201, in waves of 32 and 64 lanes, against LLVM 22's disassembler.
#include "sim/isa/decode.hpp"

#include "sim/tests/support/decoder_agreement.hpp"
#include "sim/tests/support/kernels.hpp"
#include "sim/tests/support/rdna_words.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

class DecoderRdna : public testing::TestWithParam<std::tuple<Arch, unsigned>> {
 protected:
  DecodeMode mode() const { return {std::get<0>(GetParam()), std::get<1>(GetParam())}; }
};

TEST_P(DecoderRdna, AgreesOverRandomWords) {
  const std::vector<Sample> samples = random_rdna_words(mode().arch, 24, 11 + mode().lanes);
  const std::vector<Disassembled> llvm = disassemble(mode().arch, mode().lanes, samples);
  Agreement agreement;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    agreement.compare(mode(), samples[i], llvm[i], llvm_exception_rdna);
  }
  EXPECT_TRUE(agreement.differences.empty()) << agreement.differences.size() << " kinds\n" << agreement.examples;
  EXPECT_GT(agreement.valid, samples.size() / 8);
  EXPECT_GT(agreement.invalid, samples.size() / 8);

  // Every row of the tables was among them, and is what LLVM calls by that name.
  std::string missing;
  for (const Opcode& row : opcodes(mode().arch)) {
    const bool dual = row.format == Format::vopd;
    if (row.format != Format::unsupported && !dual && !agreement.rows.contains(&row)) {
      missing += std::string(row.name) + ' ';
    }
  }
  EXPECT_EQ(missing, "");
  RecordProperty("samples", std::to_string(samples.size()));
  RecordProperty("same", std::to_string(agreement.same));
  RecordProperty("valid", std::to_string(agreement.valid));
  for (const auto& [reason, count] : agreement.exceptions) RecordProperty(std::string(reason), std::to_string(count));
}

TEST_P(DecoderRdna, RefusesWhatCrashesLlvm) {
  for (unsigned code = 0x4e; code <= 0x52; ++code) {
    const Sample barrier{0xbe8000ff | code << 8, 5};
    EXPECT_TRUE(crashes_llvm_rdna(barrier));
    EXPECT_FALSE(decode(mode(), barrier)) << hex_words(barrier);
  }
}

TEST_P(DecoderRdna, RefusesWordsThatEndTooEarly) {
  const std::uint32_t literal[] = {0x7e0002ff}, dpp[] = {0x7e0002fa}, vop3[] = {0xd6460000};
  for (const std::span<const std::uint32_t> words : {std::span(literal), std::span(dpp), std::span(vop3)}) {
    EXPECT_FALSE(decode(mode(), words)) << hex_words(words);
  }
  EXPECT_FALSE(decode(mode(), {}));
}

INSTANTIATE_TEST_SUITE_P(Rdna, DecoderRdna,
                         testing::Combine(testing::Values(Arch::gfx1100, Arch::gfx1151, Arch::gfx1201),
                                          testing::Values(32U, 64U)),
                         [](const auto& info) {
                           return std::string(name(std::get<0>(info.param))) + "_wave" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace rapt::sim::test
