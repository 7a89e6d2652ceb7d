// The first half of a mixture of experts in fp8, aiter's moe_stage1_g1u1. For each token and each of its experts it is
// act(x . gate) * (x . up) in bf16; some kernels multiply by the router's weight. Block-scaled kernels round it to fp8
// with a scale for each 128 columns.
#include "sim/validate/families/families.hpp"
#include "sim/validate/families/gemm.hpp"
#include "sim/validate/families/moe.hpp"

#include <cmath>

namespace rapt::sim::validate {
namespace {

bool has_blocks(std::string_view kernel) { return plain_name(kernel).find("_blockscale_") != std::string_view::npos; }

class MoeStage1 final : public Family {
 public:
  std::string_view name() const override { return "moe-stage1"; }
  bool has(std::string_view kernel) const override {
    return kernel.starts_with("fmoe_stage1_bf16_pertokenFp8_g1u1_") ||
           kernel.starts_with("fmoe_stage1_bf16_pertokenFp8_doweight_g1u1_") ||
           kernel.starts_with("fmoe_stage1_bf16_pertokenFp8_blockscale_g1u1_");
  }
  std::uint32_t argument_bytes(const Target&) const override { return 368; }
  Shape small(const Target& target, const Shape& shape) const override { return small_moe(target, shape); }
  Work work(const Target& target, const Shape& shape) const override;
  PreparedLaunch prepare(const Target& target, const Shape& shape) const override;
};

Work MoeStage1::work(const Target& target, const Shape& shape) const {
  const MoeSize s = moe_size(target, shape);
  const double rows = static_cast<double>(s.tokens) * s.topk, weights = 2.0 * s.inter * s.model;
  const double result = has_blocks(target.kernel) ? 1 : 2;  // bytes
  return {2 * rows * weights, 1.0 * s.tokens * s.model + experts_in_use(s) * weights + rows * s.inter * result,
          MatrixType::fp8};
}

// What comparing needs of a launch.
struct Compared {
  MoeSize size;
  Number number;
  bool use_gelu, weighted, blocks;
  std::size_t results;
};

Comparison compare_stage1(const Compared& c, const MoeRouting& routing, const std::vector<DeviceBuffer>& memory) {
  const MoeSize& s = c.size;
  const MoeReference reference(
      s, c.use_gelu,
      [&](std::size_t token, std::size_t k) {
        return memory[1].value(c.number, token * s.model + k) *
               memory[4].value(Number::f32, c.blocks ? block_scale_of_x(s, token, k) : token);
      },
      [&](std::size_t row, std::size_t k) {
        return memory[2].value(c.number, shuffled(row, k, s.model)) *
               memory[5].value(Number::f32, c.blocks ? block_scale_of_weight(row, k, s.model) : row);
      });
  const double rounding = c.blocks ? 1.0 / 16 : bf16_rounding;
  const auto scale = [&](std::size_t choice, std::size_t n) {
    return memory[0].value(Number::f32, c.results / 4 + choice * (s.inter / scale_block) + n / scale_block);
  };
  const auto result = [&](std::size_t choice, std::size_t n) {
    if (!c.blocks) return memory[0].value(Number::bf16, choice * s.inter + n);
    return memory[0].value(c.number, choice * s.inter + n) * scale(choice, n);
  };
  Comparison comparison;
  for (std::size_t choice = 0; choice < routing.choices.size(); ++choice) {
    const auto [expert, weight] = routing.choices[choice];
    const auto hidden = reference.hidden(choice / s.topk, expert, c.weighted ? weight : 1);
    for (std::size_t n = 0; n < s.inter; ++n)
      comparison.add(result(choice, n), hidden[n].value,
                     rounding * std::abs(hidden[n].value) + 0x1p-10 * std::abs(hidden[n].up) +
                         (c.blocks ? 0x1p-10 * scale(choice, n) : 0),  // near 0 fp8's numbers are so far apart
                     [&] {
                       return "out[" + std::to_string(choice / s.topk) + ", " + std::to_string(choice % s.topk) + ", " +
                              std::to_string(n) + "]";
                     });
  }
  return comparison;
}

PreparedLaunch MoeStage1::prepare(const Target& target, const Shape& shape) const {
  const MoeSize s = moe_size(target, shape);
  const bool use_gelu = uses_gelu(shape);
  const bool weighted = plain_name(target.kernel).find("_doweight_") != std::string_view::npos;
  const Number number = target.arch == Arch::gfx942 ? Number::fp8_fnuz : Number::fp8;
  const auto routing = std::make_shared<const MoeRouting>(s, target.compute_units);
  const std::size_t rows = std::size_t{s.experts} * 2 * s.inter;  // of all experts' gates and ups
  const bool blocks = has_blocks(target.kernel);
  const std::uint32_t model_blocks = s.model / scale_block;
  const std::size_t results = std::size_t{s.tokens} * s.topk * s.inter;
  const std::size_t w1_scales = blocks ? rows / scale_block * model_blocks : rows;

  PreparedLaunch launch;
  launch.groups = {s.inter / tile_of(target.kernel).second, static_cast<std::uint32_t>(routing->block_experts.size()),
                   1};
  auto& buffers = launch.buffers;
  buffers.push_back(DeviceBuffer::unwritten(blocks ? results + results / scale_block * 4 : results * 2));
  buffers.push_back(DeviceBuffer::random(number, std::size_t{s.tokens} * s.model, 1));
  buffers.push_back(DeviceBuffer::random(number, rows * s.model, 2));
  buffers.push_back(DeviceBuffer::of(std::vector<std::uint32_t>{routing->valid, s.tokens}));
  buffers.push_back(moe_scales(std::size_t{s.tokens} * (blocks ? model_blocks : 1), s.model, 3));
  buffers.push_back(DeviceBuffer::random(Number::f32, w1_scales, 4));
  buffers.push_back(DeviceBuffer::of(routing->sorted));
  buffers.push_back(DeviceBuffer::of(routing->block_experts));
  buffers.push_back(DeviceBuffer::of(routing->weights));

  auto& arguments = launch.arguments;
  arguments.pointer(buffers[0]).pointer(buffers[1]).pointer(buffers[2]).pointer(buffers[3]);
  arguments.pointer(buffers[4]).pointer(buffers[5]).null().pointer(buffers[6]).pointer(buffers[7]);
  arguments.number(s.model).number(s.inter).number(s.tokens).number(s.experts);
  // Bytes of a row of x, of weights, of a token's results; of an expert, and of its scales.
  arguments.number(s.model).number(s.model).number(s.topk * s.inter * (blocks ? 1 : 2));
  arguments.number(s.model * s.inter * 2).number(static_cast<std::uint32_t>(w1_scales / s.experts * 4));
  arguments.number(s.inter * 4);
  arguments.number(s.topk).number(0U).number(use_gelu ? 1U : 0U);  // k is not split
  if (weighted) arguments.pointer(buffers[8]);
  else arguments.null();

  const Compared compared = {s, number, use_gelu, weighted, blocks, results};
  launch.compare = [=](const std::vector<DeviceBuffer>& memory) { return compare_stage1(compared, *routing, memory); };
  return launch;
}

}  // namespace

std::unique_ptr<Family> moe_stage1() { return std::make_unique<MoeStage1>(); }

}  // namespace rapt::sim::validate
