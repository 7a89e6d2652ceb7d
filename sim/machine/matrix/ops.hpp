// Every matrix instruction by name: shape, types, family. How it is executed follows from these.
#pragma once

#include "sim/machine/matrix/layout.hpp"

#include <array>
#include <string_view>

namespace rapt::sim::matrix {

struct Op {
  std::string_view name;
  ArchSet archs;
  Family family;
  Shape shape;
  Element a, b, d;
};

namespace detail {
using enum Element;
using enum Family;
inline constexpr ArchSet old = only(Arch::gfx908) | only(Arch::gfx90a), gfx90a = only(Arch::gfx90a);
inline constexpr ArchSet gfx942 = only(Arch::gfx942), gfx950 = only(Arch::gfx950), cdna3 = gfx942 | gfx950;
}  // namespace detail

inline constexpr auto ops = [] {
  using namespace detail;
  return std::to_array<Op>({
      // CDNA1 and CDNA2
      {"v_mfma_f32_32x32x1f32", old, mfma, {32, 32, 1, 2}, f32, f32, f32},
      {"v_mfma_f32_16x16x1f32", old, mfma, {16, 16, 1, 4}, f32, f32, f32},
      {"v_mfma_f32_4x4x1f32", old, mfma, {4, 4, 1, 16}, f32, f32, f32},
      {"v_mfma_f32_32x32x2f32", old, mfma, {32, 32, 2}, f32, f32, f32},
      {"v_mfma_f32_16x16x4f32", old, mfma, {16, 16, 4}, f32, f32, f32},
      {"v_mfma_f32_32x32x4f16", old, mfma, {32, 32, 4, 2}, f16, f16, f32},
      {"v_mfma_f32_16x16x4f16", old, mfma, {16, 16, 4, 4}, f16, f16, f32},
      {"v_mfma_f32_4x4x4f16", old, mfma, {4, 4, 4, 16}, f16, f16, f32},
      {"v_mfma_f32_32x32x8f16", old, mfma, {32, 32, 8}, f16, f16, f32},
      {"v_mfma_f32_16x16x16f16", old, mfma, {16, 16, 16}, f16, f16, f32},
      {"v_mfma_i32_32x32x4i8", old, mfma, {32, 32, 4, 2}, i8, i8, i32},
      {"v_mfma_i32_16x16x4i8", old, mfma, {16, 16, 4, 4}, i8, i8, i32},
      {"v_mfma_i32_4x4x4i8", old, mfma, {4, 4, 4, 16}, i8, i8, i32},
      {"v_mfma_i32_32x32x8i8", old, mfma, {32, 32, 8}, i8, i8, i32},
      {"v_mfma_i32_16x16x16i8", old, mfma, {16, 16, 16}, i8, i8, i32},
      {"v_mfma_f32_32x32x2bf16", old, mfma, {32, 32, 2, 2}, bf16, bf16, f32},
      {"v_mfma_f32_16x16x2bf16", old, mfma, {16, 16, 2, 4}, bf16, bf16, f32},
      {"v_mfma_f32_4x4x2bf16", old, mfma, {4, 4, 2, 16}, bf16, bf16, f32},
      {"v_mfma_f32_32x32x4bf16", old, mfma, {32, 32, 4}, bf16, bf16, f32},
      {"v_mfma_f32_16x16x8bf16", old, mfma, {16, 16, 8}, bf16, bf16, f32},
      {"v_mfma_f32_32x32x4bf16_1k", gfx90a, mfma, {32, 32, 4, 2}, bf16, bf16, f32},
      {"v_mfma_f32_16x16x4bf16_1k", gfx90a, mfma, {16, 16, 4, 4}, bf16, bf16, f32},
      {"v_mfma_f32_4x4x4bf16_1k", gfx90a, mfma, {4, 4, 4, 16}, bf16, bf16, f32},
      {"v_mfma_f32_32x32x8bf16_1k", gfx90a, mfma, {32, 32, 8}, bf16, bf16, f32},
      {"v_mfma_f32_16x16x16bf16_1k", gfx90a, mfma, {16, 16, 16}, bf16, bf16, f32},
      {"v_mfma_f64_16x16x4f64", gfx90a, mfma, {16, 16, 4}, f64, f64, f64},
      {"v_mfma_f64_4x4x4f64", gfx90a, mfma, {4, 4, 4, 4}, f64, f64, f64},
      // CDNA3 and CDNA4
      {"v_mfma_f32_32x32x1_2b_f32", cdna3, mfma, {32, 32, 1, 2}, f32, f32, f32},
      {"v_mfma_f32_16x16x1_4b_f32", cdna3, mfma, {16, 16, 1, 4}, f32, f32, f32},
      {"v_mfma_f32_4x4x1_16b_f32", cdna3, mfma, {4, 4, 1, 16}, f32, f32, f32},
      {"v_mfma_f32_32x32x2_f32", cdna3, mfma, {32, 32, 2}, f32, f32, f32},
      {"v_mfma_f32_16x16x4_f32", cdna3, mfma, {16, 16, 4}, f32, f32, f32},
      {"v_mfma_f32_16x16x8_xf32", gfx942, mfma, {16, 16, 8}, xf32, xf32, f32},
      {"v_mfma_f32_32x32x4_xf32", gfx942, mfma, {32, 32, 4}, xf32, xf32, f32},
      {"v_mfma_f32_32x32x4_2b_f16", cdna3, mfma, {32, 32, 4, 2}, f16, f16, f32},
      {"v_mfma_f32_16x16x4_4b_f16", cdna3, mfma, {16, 16, 4, 4}, f16, f16, f32},
      {"v_mfma_f32_4x4x4_16b_f16", cdna3, mfma, {4, 4, 4, 16}, f16, f16, f32},
      {"v_mfma_f32_32x32x8_f16", cdna3, mfma, {32, 32, 8}, f16, f16, f32},
      {"v_mfma_f32_16x16x16_f16", cdna3, mfma, {16, 16, 16}, f16, f16, f32},
      {"v_mfma_f32_32x32x4_2b_bf16", cdna3, mfma, {32, 32, 4, 2}, bf16, bf16, f32},
      {"v_mfma_f32_16x16x4_4b_bf16", cdna3, mfma, {16, 16, 4, 4}, bf16, bf16, f32},
      {"v_mfma_f32_4x4x4_16b_bf16", cdna3, mfma, {4, 4, 4, 16}, bf16, bf16, f32},
      {"v_mfma_f32_32x32x8_bf16", cdna3, mfma, {32, 32, 8}, bf16, bf16, f32},
      {"v_mfma_f32_16x16x16_bf16", cdna3, mfma, {16, 16, 16}, bf16, bf16, f32},
      {"v_mfma_i32_32x32x4_2b_i8", cdna3, mfma, {32, 32, 4, 2}, i8, i8, i32},
      {"v_mfma_i32_16x16x4_4b_i8", cdna3, mfma, {16, 16, 4, 4}, i8, i8, i32},
      {"v_mfma_i32_4x4x4_16b_i8", cdna3, mfma, {4, 4, 4, 16}, i8, i8, i32},
      {"v_mfma_i32_32x32x16_i8", cdna3, mfma, {32, 32, 16}, i8, i8, i32},
      {"v_mfma_i32_16x16x32_i8", cdna3, mfma, {16, 16, 32}, i8, i8, i32},
      {"v_mfma_f64_16x16x4_f64", cdna3, mfma, {16, 16, 4}, f64, f64, f64},
      {"v_mfma_f64_4x4x4_4b_f64", cdna3, mfma, {4, 4, 4, 4}, f64, f64, f64},
      {"v_mfma_f32_16x16x32_bf8_bf8", cdna3, mfma, {16, 16, 32}, bf8, bf8, f32},
      {"v_mfma_f32_16x16x32_bf8_fp8", cdna3, mfma, {16, 16, 32}, bf8, fp8, f32},
      {"v_mfma_f32_16x16x32_fp8_bf8", cdna3, mfma, {16, 16, 32}, fp8, bf8, f32},
      {"v_mfma_f32_16x16x32_fp8_fp8", cdna3, mfma, {16, 16, 32}, fp8, fp8, f32},
      {"v_mfma_f32_32x32x16_bf8_bf8", cdna3, mfma, {32, 32, 16}, bf8, bf8, f32},
      {"v_mfma_f32_32x32x16_bf8_fp8", cdna3, mfma, {32, 32, 16}, bf8, fp8, f32},
      {"v_mfma_f32_32x32x16_fp8_bf8", cdna3, mfma, {32, 32, 16}, fp8, bf8, f32},
      {"v_mfma_f32_32x32x16_fp8_fp8", cdna3, mfma, {32, 32, 16}, fp8, fp8, f32},
      {"v_mfma_f32_16x16x32_f16", gfx950, mfma, {16, 16, 32}, f16, f16, f32},
      {"v_mfma_f32_32x32x16_f16", gfx950, mfma, {32, 32, 16}, f16, f16, f32},
      {"v_mfma_f32_16x16x32_bf16", gfx950, mfma, {16, 16, 32}, bf16, bf16, f32},
      {"v_mfma_f32_32x32x16_bf16", gfx950, mfma, {32, 32, 16}, bf16, bf16, f32},
      {"v_mfma_i32_16x16x64_i8", gfx950, mfma, {16, 16, 64}, i8, i8, i32},
      {"v_mfma_i32_32x32x32_i8", gfx950, mfma, {32, 32, 32}, i8, i8, i32},
      // A's and B's types are named by cbsz and blgp
      {"v_mfma_f32_16x16x128_f8f6f4", gfx950, scaled, {16, 16, 128}, fp8, fp8, f32},
      {"v_mfma_f32_32x32x64_f8f6f4", gfx950, scaled, {32, 32, 64}, fp8, fp8, f32},
      {"v_mfma_scale_f32_16x16x128_f8f6f4", gfx950, scaled, {16, 16, 128}, fp8, fp8, f32},
      {"v_mfma_scale_f32_32x32x64_f8f6f4", gfx950, scaled, {32, 32, 64}, fp8, fp8, f32},
      // two of every four k of A are stored
      {"v_smfmac_f32_16x16x32_f16", cdna3, smfmac, {16, 16, 32}, f16, f16, f32},
      {"v_smfmac_f32_32x32x16_f16", cdna3, smfmac, {32, 32, 16}, f16, f16, f32},
      {"v_smfmac_f32_16x16x32_bf16", cdna3, smfmac, {16, 16, 32}, bf16, bf16, f32},
      {"v_smfmac_f32_32x32x16_bf16", cdna3, smfmac, {32, 32, 16}, bf16, bf16, f32},
      {"v_smfmac_i32_16x16x64_i8", cdna3, smfmac, {16, 16, 64}, i8, i8, i32},
      {"v_smfmac_i32_32x32x32_i8", cdna3, smfmac, {32, 32, 32}, i8, i8, i32},
      {"v_smfmac_f32_16x16x64_bf8_bf8", cdna3, smfmac, {16, 16, 64}, bf8, bf8, f32},
      {"v_smfmac_f32_16x16x64_bf8_fp8", cdna3, smfmac, {16, 16, 64}, bf8, fp8, f32},
      {"v_smfmac_f32_16x16x64_fp8_bf8", cdna3, smfmac, {16, 16, 64}, fp8, bf8, f32},
      {"v_smfmac_f32_16x16x64_fp8_fp8", cdna3, smfmac, {16, 16, 64}, fp8, fp8, f32},
      {"v_smfmac_f32_32x32x32_bf8_bf8", cdna3, smfmac, {32, 32, 32}, bf8, bf8, f32},
      {"v_smfmac_f32_32x32x32_bf8_fp8", cdna3, smfmac, {32, 32, 32}, bf8, fp8, f32},
      {"v_smfmac_f32_32x32x32_fp8_bf8", cdna3, smfmac, {32, 32, 32}, fp8, bf8, f32},
      {"v_smfmac_f32_32x32x32_fp8_fp8", cdna3, smfmac, {32, 32, 32}, fp8, fp8, f32},
      {"v_smfmac_f32_16x16x64_f16", gfx950, smfmac, {16, 16, 64}, f16, f16, f32},
      {"v_smfmac_f32_32x32x32_f16", gfx950, smfmac, {32, 32, 32}, f16, f16, f32},
      {"v_smfmac_f32_16x16x64_bf16", gfx950, smfmac, {16, 16, 64}, bf16, bf16, f32},
      {"v_smfmac_f32_32x32x32_bf16", gfx950, smfmac, {32, 32, 32}, bf16, bf16, f32},
      {"v_smfmac_i32_16x16x128_i8", gfx950, smfmac, {16, 16, 128}, i8, i8, i32},
      {"v_smfmac_i32_32x32x64_i8", gfx950, smfmac, {32, 32, 64}, i8, i8, i32},
      {"v_smfmac_f32_16x16x128_bf8_bf8", gfx950, smfmac, {16, 16, 128}, bf8, bf8, f32},
      {"v_smfmac_f32_16x16x128_bf8_fp8", gfx950, smfmac, {16, 16, 128}, bf8, fp8, f32},
      {"v_smfmac_f32_16x16x128_fp8_bf8", gfx950, smfmac, {16, 16, 128}, fp8, bf8, f32},
      {"v_smfmac_f32_16x16x128_fp8_fp8", gfx950, smfmac, {16, 16, 128}, fp8, fp8, f32},
      {"v_smfmac_f32_32x32x64_bf8_bf8", gfx950, smfmac, {32, 32, 64}, bf8, bf8, f32},
      {"v_smfmac_f32_32x32x64_bf8_fp8", gfx950, smfmac, {32, 32, 64}, bf8, fp8, f32},
      {"v_smfmac_f32_32x32x64_fp8_bf8", gfx950, smfmac, {32, 32, 64}, fp8, bf8, f32},
      {"v_smfmac_f32_32x32x64_fp8_fp8", gfx950, smfmac, {32, 32, 64}, fp8, fp8, f32},
      // RDNA3; integers are signed where neg says so
      {"v_wmma_f32_16x16x16_f16", gfx11, wmma_gfx11, {16, 16, 16}, f16, f16, f32},
      {"v_wmma_f32_16x16x16_bf16", gfx11, wmma_gfx11, {16, 16, 16}, bf16, bf16, f32},
      {"v_wmma_f16_16x16x16_f16", gfx11, wmma_gfx11, {16, 16, 16}, f16, f16, f16},
      {"v_wmma_bf16_16x16x16_bf16", gfx11, wmma_gfx11, {16, 16, 16}, bf16, bf16, bf16},
      {"v_wmma_i32_16x16x16_iu8", gfx11, wmma_gfx11, {16, 16, 16}, i8, i8, i32},
      {"v_wmma_i32_16x16x16_iu4", gfx11, wmma_gfx11, {16, 16, 16}, i4, i4, i32},
      // RDNA4
      {"v_wmma_f32_16x16x16_f16", gfx12, wmma_gfx12, {16, 16, 16}, f16, f16, f32},
      {"v_wmma_f32_16x16x16_bf16", gfx12, wmma_gfx12, {16, 16, 16}, bf16, bf16, f32},
      {"v_wmma_f16_16x16x16_f16", gfx12, wmma_gfx12, {16, 16, 16}, f16, f16, f16},
      {"v_wmma_bf16_16x16x16_bf16", gfx12, wmma_gfx12, {16, 16, 16}, bf16, bf16, bf16},
      {"v_wmma_i32_16x16x16_iu8", gfx12, wmma_gfx12, {16, 16, 16}, i8, i8, i32},
      {"v_wmma_i32_16x16x16_iu4", gfx12, wmma_gfx12, {16, 16, 16}, i4, i4, i32},
      {"v_wmma_i32_16x16x32_iu4", gfx12, wmma_gfx12, {16, 16, 32}, i4, i4, i32},
      {"v_wmma_f32_16x16x16_fp8_fp8", gfx12, wmma_gfx12, {16, 16, 16}, fp8, fp8, f32},
      {"v_wmma_f32_16x16x16_fp8_bf8", gfx12, wmma_gfx12, {16, 16, 16}, fp8, bf8, f32},
      {"v_wmma_f32_16x16x16_bf8_fp8", gfx12, wmma_gfx12, {16, 16, 16}, bf8, fp8, f32},
      {"v_wmma_f32_16x16x16_bf8_bf8", gfx12, wmma_gfx12, {16, 16, 16}, bf8, bf8, f32},
      {"v_swmmac_f32_16x16x32_f16", gfx12, swmmac, {16, 16, 32}, f16, f16, f32},
      {"v_swmmac_f32_16x16x32_bf16", gfx12, swmmac, {16, 16, 32}, bf16, bf16, f32},
      {"v_swmmac_f16_16x16x32_f16", gfx12, swmmac, {16, 16, 32}, f16, f16, f16},
      {"v_swmmac_bf16_16x16x32_bf16", gfx12, swmmac, {16, 16, 32}, bf16, bf16, bf16},
      {"v_swmmac_i32_16x16x32_iu8", gfx12, swmmac, {16, 16, 32}, i8, i8, i32},
      {"v_swmmac_i32_16x16x32_iu4", gfx12, swmmac, {16, 16, 32}, i4, i4, i32},
      {"v_swmmac_i32_16x16x64_iu4", gfx12, swmmac, {16, 16, 64}, i4, i4, i32},
      {"v_swmmac_f32_16x16x32_fp8_fp8", gfx12, swmmac, {16, 16, 32}, fp8, fp8, f32},
      {"v_swmmac_f32_16x16x32_fp8_bf8", gfx12, swmmac, {16, 16, 32}, fp8, bf8, f32},
      {"v_swmmac_f32_16x16x32_bf8_fp8", gfx12, swmmac, {16, 16, 32}, bf8, fp8, f32},
      {"v_swmmac_f32_16x16x32_bf8_bf8", gfx12, swmmac, {16, 16, 32}, bf8, bf8, f32},
  });
}();

}  // namespace rapt::sim::matrix
