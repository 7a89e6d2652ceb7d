// GPUs that run another architecture's code objects: the facts, the gate, and how a code object is renamed.
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/rename_code.hpp"
#include "made_up.hpp"
#include "packer/occupancy.hpp"
#include "packer/pack.hpp"

namespace rapt::archive {
namespace {

using nlohmann::json;

constexpr const char* kRow =
    "forward gfx1100 dtype=bf16 head_dim=64 features=plain block_k=32 waves=4 waves_per_eu=4 vgprs<=256 lds<=65536 "
    "occupancy>=1 p=nearest";

json metadata_of(const Row& row) {
  json metadata = good_metadata(row);
  metadata["amdhsa.target"] = "amdgcn-amd-amdhsa--gfx1100";
  json& kernel = metadata["amdhsa.kernels"][0];
  kernel[".wavefront_size"] = 32;
  kernel[".max_flat_workgroup_size"] = row.waves * 32;
  kernel[".agpr_count"] = 0;
  return metadata;
}

// Waves per SIMD by registers: 1024 VGPRs in granules of 16, as clang's remarks for gfx1102 have them.
TEST(Siblings, HaveTheirOwnRegisters) {
  for (const auto& [vgprs, full, small] : {std::tuple{96, 16, 10}, {128, 10, 8}, {192, 8, 5}, {256, 5, 4}}) {
    for (const char* gpu : {"gfx1101", "gfx1200"})
      EXPECT_EQ(occupancy(*find_gpu(gpu), vgprs, 0, 0, 4).by_registers, full) << gpu;
    for (const char* gpu : {"gfx1102", "gfx1103", "gfx1150", "gfx1152", "gfx1153"})
      EXPECT_EQ(occupancy(*find_gpu(gpu), vgprs, 0, 0, 4).by_registers, small) << gpu;
  }
}

TEST(Siblings, NameTheirCode) {
  EXPECT_EQ(code_of("gfx1103"), "gfx1100");
  EXPECT_EQ(code_of("gfx1153"), "gfx1151");
  EXPECT_EQ(code_of("gfx1200"), "gfx1201");
  EXPECT_EQ(code_of("gfx942"), "gfx942");
  EXPECT_EQ(code_of("gfx1104"), "gfx1104");
  EXPECT_EQ(find_gpu("gfx1104"), nullptr);
  EXPECT_EQ(find_gpu("gfx1102")->simds_per_unit, find_gpu("gfx1100")->simds_per_unit);
}

TEST(Siblings, ACodeObjectIsRenamed) {
  const Row row = read_manifest("m", kRow).at(0);
  const std::vector<std::byte> code = code_object(metadata_of(row));
  std::vector<std::byte> renamed = code;
  ASSERT_TRUE(rename_code(renamed, *find_sibling("gfx1103")));
  Elf64_Ehdr header{};
  std::memcpy(&header, renamed.data(), sizeof header);
  EXPECT_EQ(header.e_flags & 0xff, 0x44U);
  const std::string text(reinterpret_cast<const char*>(renamed.data()), renamed.size());
  EXPECT_NE(text.find("amdgcn-amd-amdhsa--gfx1103"), text.npos);
  EXPECT_EQ(text.find("gfx1100"), text.npos);
  EXPECT_EQ(renamed.size(), code.size());

  std::vector<std::byte> other = code;
  EXPECT_FALSE(rename_code(other, *find_sibling("gfx1150")));  // whose code is gfx1151's
  EXPECT_EQ(other, code);
  std::vector<std::byte> none(10);
  EXPECT_FALSE(rename_code(none, *find_sibling("gfx1103")));
}

std::string error_with(int vgprs, int waves) {
  std::string text = kRow;
  text.replace(text.find("waves=4"), 7, "waves=" + std::to_string(waves));
  const std::vector<Row> rows = read_manifest("m", text);
  json metadata = metadata_of(rows[0]);
  metadata["amdhsa.kernels"][0][".vgpr_count"] = vgprs;
  try {
    pack("m", rows, {"gfx1100", "", "", {{rows[0].name(), code_object(metadata)}}});
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// A workgroup processor has four SIMDs: 20 waves of 256 VGPRs where a SIMD has 1536, and 16 where it has 1024.
TEST(Siblings, AWorkgroupMustFitOnEach) {
  EXPECT_EQ(error_with(256, 16), "no error");
  const std::string error = error_with(256, 20);
  EXPECT_NE(error.find("no workgroup fits on a unit of gfx1102, which runs the code of gfx1100"), error.npos) << error;
  EXPECT_NE(error.find("gfx1103"), error.npos) << error;
  EXPECT_EQ(error.find("gfx1101"), error.npos) << error;
}

}  // namespace
}  // namespace rapt::archive
