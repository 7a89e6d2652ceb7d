// NVIDIA's kernels: the facts that the packer reads from a cubin, and each way to fail the gate.
#include <gtest/gtest.h>

#include "made_up.hpp"
#include "packer/pack.hpp"

namespace rapt::archive {
namespace {

const std::string kName = "forward.d64.bf16.plain.k64w4q2", kWhere = "manifest:1: " + kName + " on sm_90: ";

std::string error_of(const std::vector<std::byte>& code) {
  try {
    pack("manifest", good_nvidia_rows(), {"sm_90", "", "", {{kName, code}}});
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

template <class Value>
std::string error_with(Value Cubin::* fact, const Value& value) {
  Cubin cubin;
  cubin.*fact = value;
  return error_of(code_object(cubin));
}

TEST(Nvidia, AGoodKernelPasses) { EXPECT_EQ(error_with(&Cubin::registers, 128), "no error"); }

TEST(Nvidia, EachViolationIsNamed) {
  EXPECT_EQ(error_with(&Cubin::stack, 8),
            kWhere + "bytes of stack per thread is 8, allowed is 0: registers are spilled, or indexed by a variable");
  EXPECT_EQ(error_with(&Cubin::static_shared, 16),
            kWhere + "bytes of static shared memory is 16, allowed is 0: shared= has all of it");
  EXPECT_EQ(error_with(&Cubin::threads, 256), kWhere + "threads per workgroup is 256, must be 128");
  EXPECT_EQ(error_with(&Cubin::processor, 80), kWhere + "the code object is for sm_80, not for sm_90");
  EXPECT_EQ(error_with(&Cubin::kernel, std::string("other")),
            kWhere + "the code object's kernel is named other, must be forward_d64_bf16_plain_k64w4q2");
  EXPECT_TRUE(error_with(&Cubin::argument_size, 8).starts_with(kWhere + "bytes of arguments is 8, must be "));
  EXPECT_EQ(error_with(&Cubin::registers, 129),
            kWhere + "registers is 129, the row allows at most 128\n" + kWhere +
                "occupancy is 3 warps per partition, the row requires at least 4 (registers allow 3 warps per "
                "partition, shared memory 6 workgroups of 4 warps)");
}

TEST(Nvidia, AForeignCodeObjectIsNamed) {
  std::vector<std::byte> code = code_object(Cubin());
  code[18] = std::byte{62};  // e_machine: x86-64
  EXPECT_EQ(error_of(code), kWhere + "an ELF file, but not for CUDA");
  code = code_object(Cubin());
  code[8] = std::byte{7};  // EI_ABIVERSION: CUDA 12
  EXPECT_EQ(error_of(code), kWhere + "its ABI version is 7, must be 8: compile it with CUDA 13");
}

std::string hopper_error(const std::vector<std::array<uint64_t, 2>>& code, const std::string& said = "") {
  try {
    hopper_archive(code, said);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}
const std::string kHopper = "manifest:1: forward_hopper.d128.bf16.plain.k128w12 on sm_90: ";

TEST(Hopper, FourWavesCopy) { EXPECT_EQ(hopper_rows()[0].queries_per_group(*find_architecture("sm_90")), 128); }

TEST(Hopper, ExponentialsRunBesideProducts) {
  using namespace instruction;
  const std::string none = kHopper +
                           "no exponential is between products and the wait for them: softmax does not run "
                           "beside products";
  EXPECT_EQ(hopper_error({product, product, wait_for_one, exponential, wait_for_all}), "no error");
  EXPECT_EQ(hopper_error({exponential, product, wait_for_one, reciprocal, wait_for_all, exponential}), none);
  EXPECT_EQ(hopper_error({product, wait_for_all, exponential, product, wait_for_all}), none);
  EXPECT_EQ(hopper_error({product, wait_for_all}), "no error");  // it has no softmax
  EXPECT_NO_THROW(hopper_backward_archive());                    // in one of its kernels another group's products run
  // a wait in a branch that is rarely taken
  EXPECT_EQ(hopper_error({product, wait_for_one, wait_for_all, exponential, wait_for_all}), "no error");
}

TEST(Hopper, DescriptorsAreInTheWarpsRegisters) {
  using namespace instruction;
  EXPECT_EQ(hopper_error({to_uniform, to_uniform, to_uniform, to_uniform, product, product}), "no error");
  EXPECT_EQ(hopper_error({product, to_uniform, to_uniform, product, to_uniform, product}), "no error");
  EXPECT_EQ(hopper_error({product, to_uniform, to_uniform, wait_for_all, to_uniform, to_uniform, product}), "no error");
  EXPECT_EQ(hopper_error({product, to_uniform, to_uniform, product, to_uniform, to_uniform, product, wait_for_all}),
            kHopper +
                "4 moves to the warp's registers are between products of one batch, at most 3 may be: behind a branch "
                "of single lanes the compiler computes descriptors lane by lane");
}

TEST(Hopper, WhatTheCompilerSaysOfProductsIsRead) {
  using namespace instruction;
  const std::string loss = "Potential Performance Loss: wgmma.mma_async instructions are serialized";
  EXPECT_EQ(hopper_error({product, exponential, wait_for_all}, "ptxas info    : (C7512) " + loss + "\nmore\n"),
            kHopper + "the compiler says: " + loss);
}

// A code object that is cut anywhere is not read past its end.
TEST(Nvidia, ATruncatedCodeObjectIsRefused) {
  const std::vector<std::byte> code = code_object(Cubin(), 0);
  for (size_t size = 0; size < code.size(); ++size)
    EXPECT_NE(error_of({code.begin(), code.begin() + static_cast<std::ptrdiff_t>(size)}), "no error") << size;
}

TEST(Nvidia, RowsHaveTheirVendorsKeys) {
  const auto error = [](const std::string& row) {
    try {
      read_manifest("manifest", row);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const std::string common =
      " dtype=bf16 head_dim=64 features=plain block_k=64 waves=4 waves_per_eu=2 occupancy>=2 p=nearest";
  const std::string nvidia = " registers<=128 shared=0", amd = " vgprs<=128 lds<=0";
  EXPECT_EQ(error("forward sm_80,sm_90" + common + nvidia), "no error");
  EXPECT_EQ(error("forward sm_90" + common + amd), "manifest:1: the row has no \"registers<=\"");
  EXPECT_EQ(error("forward sm_90" + common + nvidia + amd), "manifest:1: \"vgprs<=\" is no key of rows for nvidia");
  EXPECT_EQ(error("forward gfx942" + common + amd + " shared=0"), "manifest:1: \"shared=\" is no key of rows for amd");
  EXPECT_EQ(error("forward sm_90,gfx942" + common + nvidia),
            "manifest:1: gfx942 is not of the vendor nvidia, as sm_90 is");
  EXPECT_EQ(error("forward_hopper sm_90" + common + nvidia),
            "manifest:1: forward_hopper is for sm_90 alone, and has groups of 4 waves, at least 2");
  const Row row = good_nvidia_rows()[0];
  EXPECT_EQ(row.name(), kName);
  EXPECT_EQ(row.queries_per_group(*find_architecture("sm_90")), 4 * 2 * 16);
}

}  // namespace
}  // namespace rapt::archive
