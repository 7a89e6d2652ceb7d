// Whole mixtures of experts with weights in fp4, aiter's fmoe_g1u1 of MXFP4. x is bf16; the kernels round it and the
// hidden values to fp4, 32 elements with one power of two.
#include "sim/validate/families/families.hpp"
#include "sim/validate/families/fused_moe.hpp"
#include "sim/validate/families/gemm.hpp"
#include "sim/validate/input/input_error.hpp"

#include <bit>
#include <random>

namespace rapt::sim::validate {
namespace {

constexpr std::uint32_t block = 32;

class MoeFp4 final : public Family {
 public:
  std::string_view name() const override { return "moe-fp4"; }
  bool has(std::string_view kernel) const override { return kernel.starts_with("fmoe_bf16_pertokenMXfp4_g1u1_flat_"); }
  std::uint32_t argument_bytes(const Target&) const override { return 480; }
  Shape small(const Target& target, const Shape& shape) const override;
  Work work(const Target& target, const Shape& shape) const override;
  PreparedLaunch prepare(const Target& target, const Shape& shape) const override;
};

// One kernel computes the activation in rounds 4 to 7 of its loop, with 256 of model_dim in each round.
Shape MoeFp4::small(const Target& target, const Shape& shape) const {
  Shape small = small_moe(target, shape);
  small.set("model_dim", std::min(shape.number("model_dim"), 2048U));
  return small;
}

Work MoeFp4::work(const Target& target, const Shape& shape) const {
  const MoeSize s = moe_size(target, shape);
  const double rows = static_cast<double>(s.tokens) * s.topk, weights = 3.0 * s.inter * s.model;
  return {2 * rows * weights, experts_in_use(s) * weights * (0.5 + 1.0 / block) + 4.0 * s.tokens * s.model,
          MatrixType::fp4};
}

// bf16 that are whole fp4 times 1/256, so that rounding them changes nothing and sums stay near 1.
std::vector<std::uint16_t> exact_in_fp4(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<std::uint16_t> values(count);
  for (std::uint16_t& value : values) {
    const auto bits = std::byte(random() & 15);
    const auto number = static_cast<float>(value_at(Number::fp4, &bits, 0) / 256);
    value = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16);
  }
  return values;
}

PreparedLaunch MoeFp4::prepare(const Target& target, const Shape& shape) const {
  const MoeSize s = moe_size(target, shape);
  const bool gelu = uses_gelu(shape);
  const std::uint32_t model_blocks = s.model / block, inter_blocks = s.inter / block;
  if (model_blocks % 8 != 0 || inter_blocks % 8 != 0)
    throw InputError("shape '" + shape.text() + "': model_dim and inter_dim must be multiples of 256");
  const std::size_t w1_rows = std::size_t{s.experts} * 2 * s.inter, w2_rows = std::size_t{s.experts} * s.model;

  const auto routing = std::make_shared<const MoeRouting>(s, target.compute_units);
  const FusedMoe moe{
      s, true, false, s.model * 2, s.model / 2, s.inter / 2, 2 * s.inter * model_blocks, s.model * inter_blocks};
  PreparedLaunch launch = moe.launch(
      target, *routing,
      {DeviceBuffer::of(exact_in_fp4(std::size_t{s.tokens} * s.model)),
       DeviceBuffer::random(Number::fp4, w1_rows * s.model, 2), DeviceBuffer::random(Number::fp4, w2_rows * s.inter, 3),
       DeviceBuffer::zeros(1),  // x has no scales
       DeviceBuffer::random(Number::e8m0, w1_rows * model_blocks, 5),
       DeviceBuffer::random(Number::e8m0, w2_rows * inter_blocks, 6)});

  launch.compare = [=](const std::vector<DeviceBuffer>& memory) {
    const auto x = [&](std::size_t token, std::size_t k) {
      return memory[FusedMoe::x].value(Number::bf16, token * s.model + k);
    };
    const auto weight = [&](std::size_t values, std::size_t scales, std::size_t row, std::size_t k,
                            std::size_t length) {
      return memory[values].value(Number::fp4, shuffled_fp4(row, k, length)) *
             memory[scales].value(Number::e8m0, shuffled_scale(row, k / block, length / block));
    };
    const auto w1 = [&](std::size_t row, std::size_t k) {
      return weight(FusedMoe::w1, FusedMoe::w1_scales, row, k, s.model);
    };
    const auto w2 = [&](std::size_t row, std::size_t k) {
      return weight(FusedMoe::w2, FusedMoe::w2_scales, row, k, s.inter);
    };
    return moe.compare(target, *routing, MoeReference(s, gelu, x, w1), w2, memory[FusedMoe::out], {1.0 / 4, 1.0 / 12});
  };
  return launch;
}

}  // namespace

std::unique_ptr<Family> moe_fp4() { return std::make_unique<MoeFp4>(); }

}  // namespace rapt::sim::validate
