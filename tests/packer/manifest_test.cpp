// The manifest's grammar, its errors, and the arithmetic of occupancy.
#include <gtest/gtest.h>

#include "packer/manifest.hpp"
#include "packer/occupancy.hpp"

namespace rapt::archive {
namespace {

const std::string kGood =
    "forward gfx942,gfx1100 dtype=bf16 head_dim=128 features=plain block_k=64 waves=8 waves_per_eu=2 vgprs<=256 "
    "lds<=36864"
    " occupancy>=2 p=nearest";

std::string error_of(const std::string& text) {
  try {
    read_manifest("m", text);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Manifest, ARowSaysWhatIsCompiled) {
  const auto rows = read_manifest("m", "# a comment\n\n  " + kGood + " head_slices=2 flags=-mcumode,-O2 # why\n");
  ASSERT_EQ(rows.size(), 2U);  // one for each architecture
  const Row& row = rows[0];
  EXPECT_EQ(row.line, 3);
  EXPECT_EQ(row.name(), "forward.d128.bf16.plain.k64w8s2");
  EXPECT_EQ(row.symbol(), "forward_d128_bf16_plain_k64w8s2");
  EXPECT_EQ(row.arch, "gfx942");
  EXPECT_EQ(rows[1].arch, "gfx1100");
  EXPECT_EQ(row.queries_per_group(*find_architecture("gfx942")), 8 / 2 * 32);
  EXPECT_EQ(row.queries_per_group(*find_architecture("gfx1100")), 8 / 2 * 16);
  const Row two = read_manifest("m", kGood + " query_tiles=2")[0];
  EXPECT_EQ(two.name(), "forward.d128.bf16.plain.k64w8q2");
  EXPECT_EQ(two.queries_per_group(*find_architecture("gfx942")), 8 * 2 * 32);
  EXPECT_EQ(row.compiler_flags(),
            (std::vector<std::string>{"-DRAPT_HEAD_DIM=128", "-DRAPT_DTYPE=bf16", "-DRAPT_GENERAL=0",
                                      "-DRAPT_BLOCK_K=64", "-DRAPT_WAVES=8", "-DRAPT_WAVES_PER_EU=2",
                                      "-DRAPT_HEAD_SLICES=2", "-DRAPT_QUERY_TILES=1",
                                      "-DRAPT_SYMBOL=forward_d128_bf16_plain_k64w8s2", "-mcumode", "-O2"}));
  EXPECT_EQ(row.budget.registers, 256);
  EXPECT_EQ(row.budget.occupancy, 2);
  EXPECT_EQ(row.budget.agprs, -1);
}

TEST(Manifest, ALineIsForSeveralTypesWithBudgetsOfTheirOwn) {
  std::string line = kGood;
  line.replace(line.find("dtype=bf16"), 10, "dtype=fp16,bf16");
  const auto rows = read_manifest("m", line + " gfx1100:vgprs<=128 gfx1100:occupancy>=4 bf16:lds<=1024");
  ASSERT_EQ(rows.size(), 4U);
  const auto row = [&](const std::string& arch, const std::string& dtype) {
    for (const Row& r : rows)
      if (r.arch == arch && r.dtype == dtype) return r;
    return Row();
  };
  EXPECT_EQ(row("gfx942", "fp16").budget.registers, 256);
  EXPECT_EQ(row("gfx942", "fp16").budget.lds, 36864);
  EXPECT_EQ(row("gfx942", "bf16").budget.lds, 1024);
  EXPECT_EQ(row("gfx1100", "fp16").budget.registers, 128);
  EXPECT_EQ(row("gfx1100", "fp16").budget.occupancy, 4);
  EXPECT_EQ(row("gfx1100", "bf16").budget.lds, 1024);
  EXPECT_EQ(row("gfx1100", "bf16").name(), "forward.d128.bf16.plain.k64w8");
  EXPECT_EQ(row("gfx942", "fp16").compiler_flags()[1], "-DRAPT_DTYPE=fp16");

  EXPECT_EQ(error_of(line + " gfx90a:vgprs<=128"),
            "m:1: \"gfx90a:vgprs<=\" is for none of the line's architectures and types");
  EXPECT_EQ(error_of(line + " fp32:vgprs<=128"),
            "m:1: \"fp32:vgprs<=\" is for none of the line's architectures and types");
  EXPECT_EQ(error_of(line + " bf16:waves=4"),
            "m:1: \"bf16:waves=\" is no budget, which alone may be one architecture's or type's");
  EXPECT_EQ(error_of(line + " bf16:registers<=4"), "m:1: \"bf16:registers<=\" is given, but \"registers<=\" is not");
  EXPECT_EQ(error_of(line + " bf16:lds<=4 bf16:lds<=5"), "m:1: \"bf16:lds<=\" is given twice");
  EXPECT_EQ(error_of(line + " bf16:lds<=4 gfx942:lds<=5"), "m:1: \"lds<=\" is given for gfx942 and for bf16");
  EXPECT_EQ(error_of("forward gfx942,gfx942 dtype=bf16"), "m:1: the architectures \"gfx942,gfx942\" names one twice");
  EXPECT_EQ(error_of("forward gfx942 dtype=bf16,bf16"), "m:1: dtype= \"bf16,bf16\" names one twice");
}

TEST(Manifest, EachMistakeIsNamedWithItsLine) {
  EXPECT_EQ(error_of("\nforward"), "m:2: a row begins with an operation and its architectures");
  EXPECT_EQ(error_of("Forward gfx942"), "m:1: the operation \"Forward\" must be of small letters, digits and '_'");
  EXPECT_EQ(error_of("forward gfx9"),
            "m:1: the architecture \"gfx9\" is none of gfx908, gfx90a, gfx942, gfx950, gfx1100, gfx1151, gfx1201, "
            "gfx906, sm_80, sm_90, sm_100, sm_110, sm_120");
  EXPECT_EQ(error_of("forward gfx942 dtype=bf16"), "m:1: the row has no \"head_dim=\"");
  EXPECT_EQ(error_of(kGood + " waves=4"), "m:1: \"waves=\" is given twice");
  EXPECT_EQ(error_of(kGood + " wave=4"), "m:1: \"wave=\" is not a key of a row");
  EXPECT_EQ(error_of(kGood + " fast"), "m:1: \"fast\" is not key=value, key<=value or key>=value");
  EXPECT_EQ(error_of(kGood + " head_slices=0"), "m:1: head_slices= is \"0\", must be a whole number from 1 to 32");
  EXPECT_EQ(error_of(kGood + " head_slices=2x"), "m:1: head_slices= is \"2x\", must be a whole number from 1 to 32");
  EXPECT_EQ(error_of(kGood + " head_slices=3"), "m:1: head_slices= is 3, must divide waves=");
  EXPECT_EQ(error_of("f gfx942 dtype=fp8"), "m:1: dtype= is \"fp8\", must be one of fp16, bf16, fp32");
  EXPECT_EQ(error_of(kGood + "\n" + kGood), "m:2: forward.d128.bf16.plain.k64w8 is in line 1 for gfx942 too");
  EXPECT_EQ(error_of("x\ny"),
            "m:1: a row begins with an operation and its architectures\n"
            "m:2: a row begins with an operation and its architectures");
}

const std::string kByTriton =
    "forward gfx942 maker=triton dtype=fp16 head_dim=64 features=plain block_q=64 block_k=128 waves=4 stages=2 mfma=16 "
    "flags=a=b,c vgprs<=184 sgpr_spills<=24 lds<=16384 occupancy>=2 p=nearest";

TEST(Manifest, ARowOfTritonSaysItsTileAndWhatItsCompilerIsTold) {
  const Row row = read_manifest("m", kByTriton)[0];
  EXPECT_TRUE(row.by_triton());
  EXPECT_EQ(row.name(), "forward.d64.fp16.plain.tq64k128w4n2");
  EXPECT_EQ(row.queries_per_group(*find_architecture("gfx942")), 64);
  EXPECT_EQ(row.compiler_flags(),
            (std::vector<std::string>{"dtype=fp16", "features=plain", "head_dim=64", "block_q=64", "block_k=128",
                                      "waves=4", "waves_per_eu=0", "stages=2", "mfma=16", "flags=a=b", "flags=c"}));
  EXPECT_EQ(row.budget.sgpr_spills, 24);
}

TEST(Manifest, OnlyKernelsForHopperHaveScores) {
  const auto with_scores = [](std::string text) {
    return error_of(text.replace(text.find("features=plain"), 14, "features=scores"));
  };
  const std::string why = "m:1: features= is \"scores\", which only kernels for Hopper have";
  EXPECT_EQ(with_scores(kGood), why);
  EXPECT_EQ(with_scores(kByTriton), why);
}

TEST(Manifest, KeysOfTritonAndOfCppAreApart) {
  const auto without = [](std::string text, const std::string& token) {
    return error_of(text.erase(text.find(token), token.size()));
  };
  EXPECT_EQ(without(kByTriton, "maker=triton "), "m:1: the row has no \"waves_per_eu=\"");
  EXPECT_EQ(without(kByTriton, "block_q=64 "), "m:1: the row has no \"block_q=\"");
  EXPECT_EQ(without(kByTriton, "stages=2 "), "m:1: the row has no \"stages=\"");
  EXPECT_EQ(error_of(kGood + " block_q=64"), "m:1: \"block_q=\" is no key of rows for amd");
  EXPECT_EQ(error_of(kGood + " sgpr_spills<=1"), "m:1: \"sgpr_spills<=\" is no key of rows for amd");
  EXPECT_EQ(error_of(kByTriton + " query_tiles=2"), "m:1: \"query_tiles=\" is no key of rows for amd by Triton");
  EXPECT_EQ(error_of(kGood + " maker=mojo"), "m:1: maker= is \"mojo\", must be one of triton");
}

// Waves per SIMD by registers, as clang's own remarks give them.
TEST(Occupancy, RegistersAsTheCompilerCountsThem) {
  const auto waves = [](const char* arch, int vgprs) {
    return occupancy(*find_architecture(arch), vgprs, 0, 0, 4).by_registers;
  };
  for (const auto& [vgprs, expected] : {std::pair{64, 4}, {96, 2}, {128, 2}, {160, 1}})
    EXPECT_EQ(waves("gfx908", vgprs), expected);
  EXPECT_EQ(waves("gfx908", 4), 10);  // the slots of gfx9 before gfx90a
  EXPECT_EQ(waves("gfx90a", 4), 8);
  for (const auto& [vgprs, expected] : {std::pair{64, 8}, {96, 5}, {128, 4}, {160, 3}, {192, 2}, {256, 2}, {512, 1}})
    for (const char* arch : {"gfx90a", "gfx942", "gfx950"}) EXPECT_EQ(waves(arch, vgprs), expected);
  for (const auto& [vgprs, expected] : {std::pair{96, 16}, {128, 10}, {160, 9}, {192, 8}, {256, 5}})
    for (const char* arch : {"gfx1100", "gfx1151", "gfx1201"}) EXPECT_EQ(waves(arch, vgprs), expected);
}

TEST(Occupancy, WholeWorkgroupsShareTheLds) {
  const Architecture &cdna = *find_architecture("gfx942"), &rdna = *find_architecture("gfx1100");
  EXPECT_EQ(occupancy(cdna, 128, 40, 0, 8).waves, 4);
  EXPECT_EQ(occupancy(cdna, 128, 40, 36864, 8).waves, 2);  // one workgroup of 8 waves on 4 SIMDs
  EXPECT_EQ(occupancy(cdna, 160, 40, 0, 8).waves, 2);      // 3 waves per SIMD have no room for a second workgroup
  EXPECT_EQ(occupancy(cdna, 64, 128, 0, 4).waves, 6);      // SGPRs
  EXPECT_EQ(occupancy(*find_architecture("gfx950"), 128, 40, 36864, 8).waves, 4);
  EXPECT_EQ(occupancy(rdna, 256, 0, 24576, 4).waves, 5);  // a workgroup processor has 128 KiB
}

}  // namespace
}  // namespace rapt::archive
