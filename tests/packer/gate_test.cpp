// The resource gate: each way to fail it gives its own sentence, with row, kernel, value and budget.
#include <gtest/gtest.h>

#include "packer/pack.hpp"
#include "made_up.hpp"

namespace rapt::archive {
namespace {

using nlohmann::json;

const std::string kWhere = "manifest:1: forward.d64.bf16.plain.k64w4 on gfx942: ";

std::string error_of(const std::vector<std::byte>& code, const std::string& name = "forward.d64.bf16.plain.k64w4") {
  try {
    pack("manifest", good_rows(), {"gfx942", "", "", {{name, code}}});
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

std::string error_with(const char* key, const json& value) {
  json metadata = good_metadata(good_rows()[0]);
  metadata["amdhsa.kernels"][0][key] = value;
  return error_of(code_object(metadata));
}

TEST(Gate, AGoodKernelPasses) { EXPECT_EQ(error_with(".vgpr_count", 128), "no error"); }

TEST(Gate, EachViolationIsNamed) {
  EXPECT_EQ(error_with(".vgpr_spill_count", 2), kWhere + "spilled VGPRs is 2, allowed is 0");
  EXPECT_EQ(error_with(".sgpr_spill_count", 3), kWhere + "spilled SGPRs is 3, allowed is 0");
  EXPECT_EQ(error_with(".private_segment_fixed_size", 16), kWhere + "scratch bytes per lane is 16, allowed is 0");
  EXPECT_EQ(error_with(".uses_dynamic_stack", true), kWhere + "it needs a stack of unknown size");
  EXPECT_EQ(error_with(".args", {{{".value_kind", "hidden_grid_dims"}}}),
            kWhere + "hidden arguments are 1 (hidden_grid_dims, ...), allowed is 0");
  EXPECT_EQ(error_with(".wavefront_size", 32), kWhere + "lanes per wave is 32, must be 64");
  EXPECT_EQ(error_with(".max_flat_workgroup_size", 1024), kWhere + "threads per workgroup is 1024, must be 256");
  EXPECT_EQ(error_with(".name", "other"),
            kWhere + "the code object's kernel is named other, must be forward_d64_bf16_plain_k64w4");
  EXPECT_EQ(error_with(".group_segment_fixed_size", 16385).substr(0, kWhere.size() + 47),
            kWhere + "lds is 16385, the row allows at most 16384\nmani");
  EXPECT_TRUE(error_with(".kernarg_segment_size", 8).starts_with(kWhere + "bytes of arguments is 8, must be "));
  EXPECT_EQ(error_with(".vgpr_count", 129),
            kWhere + "vgprs is 129, the row allows at most 128\n" + kWhere +
                "occupancy is 3 waves per SIMD, the row requires at least 4 (registers allow 3 waves per SIMD, LDS 4"
                " workgroups of 4 waves)");
}

TEST(Gate, EveryKernelIsReported) {
  Contents contents{"gfx942", "", "", {}};
  for (const Row& row : good_rows()) {
    json metadata = good_metadata(row);
    metadata["amdhsa.kernels"][0][".vgpr_spill_count"] = 1;
    contents.objects.push_back({row.name(), code_object(metadata)});
  }
  try {
    pack("manifest", good_rows(), contents);
    FAIL();
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("manifest:1: forward.d64.bf16.plain.k64w4 on gfx942: spilled"), text.npos) << text;
    EXPECT_NE(text.find("manifest:2: forward.d128.fp16.general.k32w8s2 on gfx942: spilled"), text.npos) << text;
  }
}

TEST(Gate, AForeignCodeObjectIsNamed) {
  const json good = good_metadata(good_rows()[0]);
  EXPECT_EQ(error_of(code_object(good), "backward"), "manifest: no row for backward on gfx942");
  EXPECT_EQ(error_of({}), kWhere + "the ELF header is beyond the end of the code object");
  EXPECT_EQ(error_of(std::vector<std::byte>(100)), kWhere + "not a 64-bit ELF file");

  json other = good;
  other["amdhsa.target"] = "amdgcn-amd-amdhsa--gfx90a";
  EXPECT_EQ(error_of(code_object(other)), kWhere + "the code object is for gfx90a, not for gfx942");
  other["amdhsa.kernels"].push_back(other["amdhsa.kernels"][0]);
  EXPECT_EQ(error_of(code_object(other)), kWhere + "has 2 kernels, must have one");
  EXPECT_TRUE(error_of(code_object({{"nothing", 1}})).starts_with(kWhere + "its metadata cannot be read: "));

  std::vector<std::byte> code = code_object(good);
  code[18] = std::byte{62};  // e_machine: x86-64
  EXPECT_EQ(error_of(code), kWhere + "an ELF file, but not for AMDGPU");
  code = code_object(good, 0);
  code.resize(code.size() - 1);
  EXPECT_EQ(error_of(code), kWhere + "a note segment is beyond the end of the code object");
}

}  // namespace
}  // namespace rapt::archive
