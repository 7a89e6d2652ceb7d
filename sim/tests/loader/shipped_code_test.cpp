// Features that hand-written kernels of shipping libraries use and compilers do not.
#include "sim/tests/support/programs/kernels.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace rapt::sim::test {
namespace {

// A kernel `k` with one pointer argument, in s[0:1], from assembly of its body; `arguments`: more lines of metadata.
std::vector<std::byte> assemble_kernel(Arch arch, const std::string& body, const std::string& directives,
                                       const std::string& arguments = "") {
  const std::string stem = temporary_folder() + "/" + std::string(name(arch));
  std::ofstream(stem + ".s")
      << ".amdgcn_target \"amdgcn-amd-amdhsa--" << name(arch) << "\"\n.text\n.globl k\n.p2align 8\n"
      << ".type k,@function\nk:\n"
      << body << "\n.rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
      << ".amdhsa_kernarg_size 8\n.amdhsa_next_free_sgpr 16\n.amdhsa_group_segment_fixed_size 1024\n"
      << directives << R"(
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 16
    .max_flat_workgroup_size: 256
    .args:
      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
)" << arguments
      << ".end_amdgpu_metadata\n";
  shell("clang-22 --target=amdgcn-amd-amdhsa -mcpu=" + std::string(name(arch)) + " -nogpulib -o " + stem + ".co " +
        stem + ".s 2>&1");
  std::ifstream file(stem + ".co", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> object(bytes.size());
  std::memcpy(object.data(), bytes.data(), bytes.size());
  return object;
}

// AMD's gfx942 attention (aiter) has 160 VGPRs before its AGPRs and uses v160 to v235.
TEST(ShippedCode, VgprsBehindTheAccumulationOffsetAreAgprs) {
  const std::string body = R"(
    s_load_dwordx2 s[2:3], s[0:1], 0
    v_lshlrev_b32_e32 v1, 2, v0
    v_mov_b32_e32 v13, 41
    v_accvgpr_write_b32 a2, 7
    s_nop 1
    v_accvgpr_read_b32 v2, a5
    v_mul_u32_u24_e32 v2, v2, v10
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v2, s[2:3]
    s_endpgm)";
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    SCOPED_TRACE(name(arch));
    const Module module(arch, assemble_kernel(arch, body, ".amdhsa_next_free_vgpr 16\n.amdhsa_accum_offset 8"));
    const Buffer<std::uint32_t> out(64);
    module.launch("k", {1, 1, 1}, {64, 1, 1}, 0, out.data());
    for (unsigned lane = 0; lane < 64; ++lane) ASSERT_EQ(out[lane], 41U * 7U) << lane;
  }
}

// Memory is slow on hardware, and AMD's gfx950 attention loads a tile while others still read the one that it
// replaces.
TEST(ShippedCode, LoadsToLdsArriveWhenTheyAreWaitedFor) {
  const std::string body = R"(
    s_load_dwordx2 s[2:3], s[0:1], 0
    v_lshlrev_b32_e32 v1, 2, v0
    v_mov_b32_e32 v2, 5
    ds_write_b32 v1, v2
    s_mov_b32 m0, 0
    s_waitcnt lgkmcnt(0)
    global_load_lds_dword v1, s[2:3]
    global_load_dword v9, v1, s[2:3]
    global_load_dword v9, v1, s[2:3]
    ds_read_b32 v3, v1
    s_waitcnt vmcnt(3)
    ds_read_b32 v4, v1
    s_waitcnt vmcnt(2)
    ds_read_b32 v5, v1
    s_waitcnt lgkmcnt(0)
    v_mul_u32_u24_e32 v3, v3, v4
    v_mul_u32_u24_e32 v3, v3, v5
    s_waitcnt vmcnt(0)
    global_store_dword v1, v3, s[2:3]
    s_endpgm)";
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    SCOPED_TRACE(name(arch));
    const Module module(arch, assemble_kernel(arch, body, ".amdhsa_next_free_vgpr 16\n.amdhsa_accum_offset 16"));
    const Buffer<std::uint32_t> out(std::vector<std::uint32_t>(64, 11));
    module.launch("k", {1, 1, 1}, {64, 1, 1}, 0, out.data());
    for (unsigned lane = 0; lane < 64; ++lane) ASSERT_EQ(out[lane], 5U * 5U * 11U) << lane;
  }
}

// aiter's int8 GEMM for gfx942 (112x256) has one barrier for each part of its result: a wave overwrites LDS 22
// instructions after the barrier behind which the others read it.
TEST(ShippedCode, WavesKeepPaceAfterABarrier) {
  std::string body = R"(
    s_load_dwordx2 s[2:3], s[0:1], 0
    v_lshlrev_b32_e32 v1, 2, v0
    v_xor_b32_e32 v3, 0x100, v1
    ds_write_b32 v1, v0
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v4, v3)";
  for (int n = 0; n < 20; ++n) body += "\n    v_mov_b32_e32 v5, 0";
  body += R"(
    ds_write_b32 v1, v5
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v4, s[2:3]
    s_endpgm)";
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    SCOPED_TRACE(name(arch));
    const Module module(arch, assemble_kernel(arch, body, ".amdhsa_next_free_vgpr 16\n.amdhsa_accum_offset 16"));
    const Buffer<std::uint32_t> out(256);
    module.launch("k", {1, 1, 1}, {256, 1, 1}, 0, out.data());
    for (unsigned thread = 0; thread < 256; ++thread) ASSERT_EQ(out[thread], thread ^ 64U) << thread;
  }
}

// aiter's fmoe_bf16_blockscaleBf16_g1u1_vs_ps_silu_32x256 for gfx950.
TEST(ShippedCode, MayListPaddingBehindItsArguments) {
  const std::string body = "\n    s_endpgm", directives = ".amdhsa_next_free_vgpr 16\n.amdhsa_accum_offset 16";
  const Module module(Arch::gfx950, assemble_kernel(Arch::gfx950, body, directives,
                                                    "      - {.size: 4, .offset: 8, .value_kind: by_value}\n"));
  EXPECT_EQ(module.kernel("k").arguments.size(), 1U);
  const auto across =
      assemble_kernel(Arch::gfx950, body, directives, "      - {.size: 8, .offset: 4, .value_kind: by_value}\n");
  EXPECT_THROW(Module(Arch::gfx950, across), LoadError);
}

}  // namespace
}  // namespace rapt::sim::test
