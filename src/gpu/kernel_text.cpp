#include "gpu/kernel_text.hpp"

#include "base/text.hpp"

namespace rapt::gpu {

namespace {

// A kernel's resources, in the words of AMD's documents.
std::string amd_resources(const Variant& v) {
  return cat(v.registers, " VGPRs", v.amd.agprs > 0 ? cat(" + ", v.amd.agprs, " AGPRs") : "", ", ", v.amd.sgprs,
             " SGPRs, ", v.shared_memory, " bytes of LDS, ", v.amd.occupancy, v.amd.occupancy == 1 ? " wave" : " waves",
             " per SIMD");
}

std::string nvidia_resources(const Variant& v) {
  return cat(v.registers, " registers, ", v.shared_memory, " bytes of shared memory, ", v.nvidia.occupancy,
             v.nvidia.occupancy == 1 ? " warp" : " warps", " per partition");
}

// Float32 has no matrix instruction of its own. Two kernels multiply no matrices.
std::string nvidia_products(const Variant& v) {
  const bool multiplies = !v.computes(Stage::split_combine) && !v.computes(Stage::backward_dsink);
  return v.dtype == DType::fp32 && multiplies ? ", products of the matrix unit by three of TF32" : "";
}

}  // namespace

std::string text_of(const Variant& v) {
  const bool keys =
      v.computes(Stage::backward_dkv) || v.computes(Stage::backward_fused) || v.computes(Stage::backward_short);
  return cat("tile ", v.block_q, keys ? " keys x " : " queries x ", v.block_k, keys ? " queries, " : " keys, ", v.waves,
             v.waves == 1 ? " wave of " : " waves of ", v.threads / v.waves, " lanes, ",
             v.nvidia.struct_size != 0 ? nvidia_resources(v) : amd_resources(v), ", P ",
             v.p == "exact"       ? "as fp32"
             : v.p == "truncated" ? "truncated"
                                  : "rounded to nearest",
             v.nvidia.struct_size != 0 ? nvidia_products(v) : "");
}

}  // namespace rapt::gpu
