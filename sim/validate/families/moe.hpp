// What the kernels for mixtures of experts share: tokens sorted by expert, in blocks that one workgroup takes.
#pragma once

#include "sim/validate/family.hpp"

namespace rapt::sim::validate {

struct MoeSize {
  std::uint32_t tokens, model, inter, experts, topk;
  std::uint32_t block;  // tokens of one expert that a workgroup takes together
};
// From token, model_dim, inter_dim, expert, topk and block_m; the block must be the kernel's, inter_dim whole tiles.
MoeSize moe_size(const Target& target, const Shape& shape);
Shape small_moe(const Target& target, const Shape& shape);
// The expected number of experts that get tokens if all are equally likely.
double experts_in_use(const MoeSize& size);

// Each token's experts as AMD's tuner draws them on a GPU with this number of compute units (torch_random.hpp), and
// what aiter's moe_sorting makes of them.
struct MoeRouting {
  MoeRouting(const MoeSize& size, unsigned compute_units);
  struct Choice {
    std::uint32_t expert;
    float weight;
  };
  std::vector<Choice> choices;              // [token, topk]
  std::vector<std::uint32_t> sorted;        // by expert: token, and in the top byte which of its choices
  std::vector<float> weights;               // of `sorted`
  std::vector<std::int32_t> block_experts;  // of each block of `sorted`, -1 behind the last
  std::uint32_t valid = 0;                  // entries of `sorted` that are in blocks of an expert
};

// Scales that keep sums over `length` products near 1.
DeviceBuffer moe_scales(std::size_t count, std::uint32_t length, std::uint64_t seed);

// Block-scaled kernels have a scale for each 128 columns of a token, and for each 128 x 128 of a weight: which one.
inline constexpr std::uint32_t scale_block = 128;
inline std::size_t block_scale_of_x(const MoeSize& size, std::size_t token, std::size_t k) {
  return k / scale_block * size.tokens + token;
}
inline std::size_t block_scale_of_weight(std::size_t row, std::size_t k, std::uint32_t columns) {
  return row / scale_block * (columns / scale_block) + k / scale_block;
}

bool uses_gelu(const Shape& shape);  // rather than silu, as `act` says

// Operands in double, scales applied.
class MoeReference {
 public:
  using Element = std::function<double(std::size_t row, std::size_t column)>;
  // x: [tokens, model]; w1: [experts, 2 * inter, model], where each expert has its gates before its ups.
  MoeReference(const MoeSize& size, bool gelu, const Element& x, const Element& w1);
  // act(f * x . gate) * (f * x . up), by column of inter, and what the activation may be wrong by: |f * x . up|.
  struct Hidden {
    double value, up;
  };
  std::vector<Hidden> hidden(std::size_t token, std::uint32_t expert, double factor) const;

 private:
  MoeSize size_;
  bool gelu_;
  std::vector<double> x_, w1_;
};

}  // namespace rapt::sim::validate
