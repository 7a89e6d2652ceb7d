// AMD's forward attention: what its launches pass, the reference, the published times. With RAPT_AITER_OBJECTS, a
// checkout of ROCm/aiter, each kernel in bf16 runs a small problem, whose results must be right.
#include "sim/validate/check.hpp"
#include "sim/validate/families/attention.hpp"
#include "sim/validate/input/input_error.hpp"
#include "sim/validate/roofline.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace rapt::sim::validate {
namespace {

std::string symbol(const std::string& name) { return "_ZN5aiter" + std::to_string(name.size()) + name + "E"; }

PreparedLaunch prepare(Arch arch, const std::string& name, const std::string& shape) {
  return family_of(symbol(name)).prepare({arch, 1, symbol(name)}, Shape(shape));
}

std::string refusal(const std::string& name, const std::string& shape) {
  try {
    prepare(Arch::gfx942, name, shape);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::uint32_t argument(const PreparedLaunch& launch, std::size_t slot) {
  std::uint32_t value = 0;
  std::memcpy(&value, &launch.arguments.bytes()[16 * slot], sizeof value);
  return value;
}

using Groups = std::array<std::uint32_t, 3>;

TEST(Attention, PassesWhatTheLauncherPasses) {
  const auto launch = prepare(Arch::gfx942, "fmha_fwd_hd128_bf16_causal_rtne",
                              "batch=2 heads=8 heads_k=2 seqlen=600 head_dim=128 causal=1");
  ASSERT_EQ(launch.arguments.bytes().size(), 512U);
  EXPECT_EQ(launch.groups, (Groups{2, 8, 2})) << "a workgroup takes two tiles";
  EXPECT_EQ(launch.group_size, (Groups{512, 1, 1}));
  const std::uint32_t expected[] = {600, 2048, 256 * 2048, 256, 600 * 2048, 4, 512, 256, 600 * 512,
                                    5,   1,    600,        128, 128,        8, 512, 256, 600 * 512};
  for (std::size_t n = 0; n < std::size(expected); ++n) EXPECT_EQ(argument(launch, 6 + n), expected[n]) << n;
  EXPECT_EQ(argument(launch, 27), 0U) << "no beginnings of sequences";
  EXPECT_EQ(argument(launch, 29), 600U * 4);
}

TEST(Attention, OrdersTilesAsTheLauncherDoes) {
  const auto tuning = [](Arch arch, const std::string& name, const std::string& shape) {
    return argument(prepare(arch, name, "batch=1 heads_k=1 " + shape), 15);
  };
  const std::string causal = "fmha_fwd_hd128_bf16_causal";
  EXPECT_EQ(tuning(Arch::gfx950, causal, "heads=8 seqlen=16384 head_dim=128 causal=1"), 5U);
  EXPECT_EQ(tuning(Arch::gfx950, causal, "heads=8 seqlen=16385 head_dim=128 causal=1"), 3U);
  EXPECT_EQ(tuning(Arch::gfx950, causal, "heads=6 seqlen=512 head_dim=128 causal=1"), 3U);
  EXPECT_EQ(tuning(Arch::gfx950, "fmha_fwd_hd128_bf16", "heads=6 seqlen=512 head_dim=128 causal=0"), 5U);
  EXPECT_EQ(tuning(Arch::gfx942, "fmha_fwd_hd192x128_bf16_rtz", "heads=8 seqlen=512 head_dim=192 causal=0"), 0U);
}

TEST(Attention, GridsDifferByKernel) {
  const auto groups = [](Arch arch, const std::string& name, const std::string& shape) {
    return prepare(arch, name, "batch=3 heads=8 heads_k=8 seqlen=700 " + shape).groups;
  };
  const std::string plain = "head_dim=128 causal=0", wide = "head_dim=192 causal=1";
  EXPECT_EQ(groups(Arch::gfx942, "fmha_fwd_hd128_bf16_rtna", plain), (Groups{3, 8, 3}));
  EXPECT_EQ(groups(Arch::gfx942, "fmha_fwd_hd128_bf16_rtna_group", plain), (Groups{8, 3, 3}));
  EXPECT_EQ(groups(Arch::gfx942, "fmha_fwd_hd192x128_bf16_causal_rtna", wide), (Groups{8, 6, 3}));
  EXPECT_EQ(groups(Arch::gfx942, "fmha_fwd_hd192x128_bf16_causal_rtna_group", wide), (Groups{8, 3, 6}));
  EXPECT_EQ(groups(Arch::gfx950, "fmha_fwd_hd192_hd128_bf16_causal", wide), (Groups{3, 8, 3}));
}

TEST(Attention, RefusesOtherProblems) {
  const std::string name = "fmha_fwd_hd128_bf16_rtz", good = "batch=1 heads=8 heads_k=2 seqlen=64 ";
  EXPECT_NE(refusal(name, good + "head_dim=64 causal=0").find("head_dim must be 128"), std::string::npos);
  EXPECT_NE(refusal(name, good + "head_dim=128 causal=1").find("causal must be 0"), std::string::npos);
  EXPECT_NE(refusal(name, "batch=1 heads=8 heads_k=3 seqlen=64 head_dim=128 causal=0")
                .find("heads must be a multiple of heads_k"),
            std::string::npos);
}

// Keys 0 and 1 with the scores 0 and log 3: by hand, a quarter of the first value and three quarters of the second.
TEST(Attention, ReferenceFindsWrongResults) {
  const AttentionSize size{1, 2, 1, 2, 1, 1, true};
  const auto compare = [&](double last, double lse) {
    const std::vector<double> out{8, 8, 8, last};  // [token, head]; q of head 0 is zero
    const auto constant = [](std::vector<double> values) { return [=](std::size_t n) { return values[n]; }; };
    const AttentionOperands operands{constant({0, 0, 0, std::log(3.0)}), constant({0, 1}), constant({8, 16}),
                                     [&](std::size_t n) { return n == 2 ? 12 : out[n]; },
                                     [&](std::size_t token, std::size_t head) {
                                       return token == 0 ? 0 : head == 0 ? std::log(2.0) : lse;
                                     }};
    return compare_attention(size, operands, 0x1p-10);
  };
  EXPECT_EQ(compare(14, std::log(4.0)).compared, 8U);
  EXPECT_EQ(compare(14, std::log(4.0)).wrong, 0U);
  EXPECT_EQ(compare(14, 1.38).wrong, 1U);
  const Comparison found = compare(14.2, std::log(4.0));
  EXPECT_EQ(found.wrong, 1U);
  EXPECT_EQ(found.first_wrong.substr(0, 9), "out[1, 1]");
}

TEST(Attention, PublishedTimesAreOfProblemsThatExist) {
  for (const Measurement& row : read_measurements(RAPT_SIM_SOURCE_FOLDER "/tests/data/attention_times.csv")) {
    const Work work = family_of(row.kernel).work({row.arch, row.compute_units, row.kernel}, Shape(row.shape));
    EXPECT_GT(row.microseconds, least_microseconds(work, chip_of(row.arch, row.compute_units))) << row.line;
  }
}

struct Variant {
  Arch arch;
  unsigned units;
  std::string folder, wide;  // of the code objects; head_dim 192 in their names
  std::vector<std::string> roundings;
};

TEST(Attention, KernelsComputeWhatTheyShould) {
  const char* folder = std::getenv("RAPT_AITER_OBJECTS");
  if (!folder || !*folder) GTEST_SKIP() << "RAPT_AITER_OBJECTS is not set to a checkout of ROCm/aiter";
  Objects objects(folder);
  const std::vector<std::string> roundings{"_rtne", "_rtna", "_rtz"};
  for (const Variant& variant : {Variant{Arch::gfx942, 304, "gfx942/fmha_v3_fwd/MI300/", "hd192x128", roundings},
                                 {Arch::gfx942, 80, "gfx942/fmha_v3_fwd/MI308/", "hd192x128", roundings},
                                 {Arch::gfx950, 256, "gfx950/fmha_v3_fwd/", "hd192_hd128", {""}}})
    for (const std::string& dims : {std::string("hd128"), variant.wide})
      for (const bool causal : {false, true})
        for (const std::string& rounding : variant.roundings)
          for (const char* mode : {"", "_group"}) {
            const std::string file = "fwd_" + dims + "_bf16" + (causal ? "_causal" : "") + rounding + mode;
            const std::string shape = "batch=1 heads=8 heads_k=8 seqlen=1024 head_dim=" + dims.substr(2, 3) +
                                      " causal=" + (causal ? "1" : "0");
            const Check result = check(objects, {1, variant.arch, variant.units, "fmha-fwd", symbol("fmha_" + file),
                                                 shape, 1, "hsa/" + variant.folder + file + ".co"});
            EXPECT_TRUE(result.good()) << variant.folder << file << ": " << result.failure << result.result.first_wrong;
          }
}

}  // namespace
}  // namespace rapt::sim::validate
