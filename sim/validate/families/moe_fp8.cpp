// Whole mixtures of experts in fp8, aiter's fmoe_g1u1 and fmoe_fp8_blockscale_g1u1. The kernels round the hidden values
// to fp8.
#include "sim/validate/families/families.hpp"
#include "sim/validate/families/fused_moe.hpp"
#include "sim/validate/families/gemm.hpp"

namespace rapt::sim::validate {
namespace {

class MoeFp8 final : public Family {
 public:
  std::string_view name() const override { return "moe-fp8"; }
  bool has(std::string_view kernel) const override {
    for (const char* stem : {"fmoe_bf16_pertokenFp8_g1u1_", "fmoe_bf16_blockscaleFp8_g1u1_",
                             "fmoe_bf16_blockscaleBf16_g1u1_", "fmoe_bf16_a16_blockscaleFp8_g1u1_"})
      if (kernel.starts_with(stem)) return true;
    return false;
  }
  // Block-scaled kernels of gfx950 have more arguments than the launcher passes, and one segment ends with its last
  // one.
  std::uint32_t argument_bytes(const Target& target) const override {
    if (target.arch == Arch::gfx942 || says(target, "_pertokenFp8_")) return 448;
    return says(target, "_blockscaleBf16_g1u1_vs_ps_") ? 436 : 480;
  }
  Shape small(const Target& target, const Shape& shape) const override { return small_moe(target, shape); }
  Work work(const Target& target, const Shape& shape) const override;
  PreparedLaunch prepare(const Target& target, const Shape& shape) const override;

 private:
  static bool says(const Target& target, std::string_view word) {
    return plain_name(target.kernel).find(word) != std::string_view::npos;
  }
  // x is bf16, and the kernel rounds it to fp8.
  static bool bf16_input(const Target& target) { return says(target, "_blockscaleBf16_") || says(target, "_a16_"); }
};

Work MoeFp8::work(const Target& target, const Shape& shape) const {
  const MoeSize s = moe_size(target, shape);
  const double rows = static_cast<double>(s.tokens) * s.topk, weights = 3.0 * s.inter * s.model;
  const double x_and_result = (bf16_input(target) ? 2.0 : 1.0) + 2.0;
  return {2 * rows * weights, experts_in_use(s) * weights + x_and_result * s.tokens * s.model, MatrixType::fp8};
}

PreparedLaunch MoeFp8::prepare(const Target& target, const Shape& shape) const {
  const MoeSize s = moe_size(target, shape);
  const bool gelu = uses_gelu(shape), bf16_x = bf16_input(target);
  const bool sorts = says(target, "_emsort_");
  // A scale for each 1x128 of x and 128x128 of the weights, or for each row.
  const bool blocks = says(target, "_blockscale");
  const Number number = target.arch == Arch::gfx942 ? Number::fp8_fnuz : Number::fp8;
  const Number input = bf16_x ? Number::bf16 : number;
  const std::uint32_t model_blocks = s.model / scale_block, inter_blocks = s.inter / scale_block;
  const std::uint32_t w1_scales = blocks ? 2 * inter_blocks * model_blocks : 2 * s.inter;  // of one expert
  const std::uint32_t w2_scales = blocks ? model_blocks * inter_blocks : s.model;

  const auto routing = std::make_shared<const MoeRouting>(s, target.compute_units);
  const FusedMoe moe{s,
                     sorts || says(target, "_flat_"),
                     sorts || says(target, "_ps_"),
                     s.model * (bf16_x ? 2 : 1),
                     s.model,
                     s.inter,
                     w1_scales * 4,
                     w2_scales * 4};
  PreparedLaunch launch =
      moe.launch(target, *routing,
                 {DeviceBuffer::random(input, std::size_t{s.tokens} * s.model, 1),
                  DeviceBuffer::random(number, std::size_t{s.experts} * 2 * s.inter * s.model, 2),
                  DeviceBuffer::random(number, std::size_t{s.experts} * s.model * s.inter, 3),
                  moe_scales(std::size_t{s.tokens} * (blocks ? model_blocks : 1), bf16_x ? 1 : s.model, 4),
                  moe_scales(std::size_t{s.experts} * w1_scales, bf16_x ? s.model : 1, 5),
                  moe_scales(std::size_t{s.experts} * w2_scales, s.inter, 6)});

  launch.cleared_bytes = std::size_t{s.tokens} * s.model * 2;  // aiter's gemm_moe_tune.py: torch.zeros
  launch.compare = [=](const std::vector<DeviceBuffer>& memory) {
    const auto scale = [&](std::size_t buffer, std::size_t index) { return memory[buffer].value(Number::f32, index); };
    const auto x = [&](std::size_t token, std::size_t k) {
      const double value = memory[FusedMoe::x].value(input, token * s.model + k);
      return bf16_x ? value : value * scale(FusedMoe::x_scales, blocks ? block_scale_of_x(s, token, k) : token);
    };
    const auto w1 = [&](std::size_t row, std::size_t k) {
      return memory[FusedMoe::w1].value(number, shuffled(row, k, s.model)) *
             scale(FusedMoe::w1_scales, blocks ? block_scale_of_weight(row, k, s.model) : row);
    };
    const auto w2 = [&](std::size_t row, std::size_t k) {
      return memory[FusedMoe::w2].value(number, shuffled(row, k, s.inter)) *
             scale(FusedMoe::w2_scales, blocks ? block_scale_of_weight(row, k, s.inter) : row);
    };
    // Rounding x makes gates and ups as wrong as rounding the hidden values does.
    return moe.compare(target, *routing, MoeReference(s, gelu, x, w1), w2, memory[FusedMoe::out],
                       {bf16_x ? 1.0 / 8 : 1.0 / 16, 0});
  };
  return launch;
}

}  // namespace

std::unique_ptr<Family> moe_fp8() { return std::make_unique<MoeFp8>(); }

}  // namespace rapt::sim::validate
