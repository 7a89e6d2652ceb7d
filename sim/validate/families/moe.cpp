#include "sim/validate/families/moe.hpp"

#include "sim/machine/operands/types.hpp"
#include "sim/validate/families/torch_random.hpp"
#include "sim/validate/input/input_error.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

namespace rapt::sim::validate {

MoeSize moe_size(const Target& target, const Shape& shape) {
  const MoeSize size{shape.number("token"),  shape.number("model_dim"), shape.number("inter_dim"),
                     shape.number("expert"), shape.number("topk"),      shape.number("block_m")};
  const auto [tile_m, tile_n] = tile_of(target.kernel);
  const auto need = [&](bool good, const std::string& what) {
    if (!good)
      throw InputError("shape '" + shape.text() + "': " + what + " for " + std::string(plain_name(target.kernel)));
  };
  need(size.block == tile_m, "block_m must be " + std::to_string(tile_m));
  need(size.inter % tile_n == 0, "inter_dim must be a multiple of " + std::to_string(tile_n));
  need(size.model % 128 == 0, "model_dim must be a multiple of 128");
  need(size.topk <= size.experts && size.topk < 256, "topk must be at most expert, and below 256");
  need(size.tokens < 1U << 24, "token must be below 2^24");
  return size;
}

Shape small_moe(const Target& target, const Shape& shape) {
  const MoeSize size = moe_size(target, shape);
  Shape small = shape;
  small.set("token", 37);
  small.set("model_dim", std::min(size.model, 1024U));
  small.set("inter_dim", std::min(size.inter, 2 * tile_of(target.kernel).second));
  small.set("expert", 5);
  small.set("topk", 3);
  return small;
}

double experts_in_use(const MoeSize& size) {
  return size.experts * (1 - std::pow(1 - static_cast<double>(size.topk) / size.experts, size.tokens));
}

namespace {

float to_bf16(float x) { return std::bit_cast<float>(valu::float_to_bf16(x, valu::Round::nearest) << 16); }

// The experts of each token by falling score. The tuner draws x, both weights and then the scores, all in bf16.
std::vector<std::uint32_t> chosen_experts(const MoeSize& size, unsigned compute_units) {
  TorchRandom random(compute_units);
  const std::uint64_t weights = std::uint64_t{size.experts} * size.model * size.inter;
  random.skip(std::uint64_t{size.tokens} * size.model);
  random.skip(2 * weights);
  random.skip(weights);
  std::vector<float> scores = random.normal(std::uint64_t{size.tokens} * size.experts);
  for (float& score : scores) score = to_bf16(score);

  std::vector<std::uint32_t> chosen, experts(size.experts);
  for (std::uint32_t token = 0; token < size.tokens; ++token) {
    const float* const row = &scores[std::size_t{token} * size.experts];
    std::iota(experts.begin(), experts.end(), 0U);
    const auto better = [row](std::uint32_t a, std::uint32_t b) { return row[a] != row[b] ? row[a] > row[b] : a < b; };
    std::partial_sort(experts.begin(), experts.begin() + size.topk, experts.end(), better);
    chosen.insert(chosen.end(), experts.begin(), experts.begin() + size.topk);
  }
  return chosen;
}

}  // namespace

MoeRouting::MoeRouting(const MoeSize& size, unsigned compute_units) {
  std::mt19937_64 random(5);
  std::vector<std::vector<std::uint32_t>> tokens_of(size.experts);
  for (const std::uint32_t expert : chosen_experts(size, compute_units)) {
    const auto token = static_cast<std::uint32_t>(choices.size() / size.topk);
    const auto slot = static_cast<std::uint32_t>(choices.size() % size.topk);
    choices.push_back({expert, static_cast<float>(1 + random() % 64) / static_cast<float>(32 * size.topk)});
    tokens_of[expert].push_back(token | slot << 24);
  }

  const std::size_t most = std::size_t{size.tokens} * size.topk + std::size_t{size.experts} * size.block - size.topk;
  const std::uint32_t none = size.tokens | size.topk << 24;
  for (std::uint32_t e = 0; e < size.experts; ++e) {
    for (const std::uint32_t entry : tokens_of[e]) {
      sorted.push_back(entry);
      weights.push_back(choices[std::size_t{entry & 0xffffff} * size.topk + (entry >> 24)].weight);
    }
    while (sorted.size() % size.block != 0) sorted.push_back(none), weights.push_back(0);
    block_experts.resize(sorted.size() / size.block, static_cast<std::int32_t>(e));
  }
  valid = static_cast<std::uint32_t>(sorted.size());
  block_experts.resize((most + size.block - 1) / size.block, -1);
  sorted.resize(block_experts.size() * size.block, none);
  weights.resize(sorted.size(), 0);
}

DeviceBuffer moe_scales(std::size_t count, std::uint32_t length, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> scales(count);
  const float size = 1 / std::sqrt(static_cast<float>(length));
  for (float& scale : scales) scale = size * (0.25F + static_cast<float>(random() % 1024) / 1365);
  return DeviceBuffer::of(scales);
}

bool uses_gelu(const Shape& shape) {
  const std::string& act = shape.word("act");
  if (act != "Silu" && act != "Gelu") throw InputError("shape '" + shape.text() + "': act must be Silu or Gelu");
  return act == "Gelu";
}

MoeReference::MoeReference(const MoeSize& size, bool gelu, const Element& x, const Element& w1)
    : size_(size), gelu_(gelu) {
  const auto read = [&](std::vector<double>& to, std::size_t rows, const Element& element) {
    to.reserve(rows * size.model);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t k = 0; k < size.model; ++k) to.push_back(element(row, k));
  };
  read(x_, size.tokens, x);
  read(w1_, std::size_t{size.experts} * 2 * size.inter, w1);
}

std::vector<MoeReference::Hidden> MoeReference::hidden(std::size_t token, std::uint32_t expert, double factor) const {
  const auto product = [&](std::size_t row) {
    const double* x = &x_[token * size_.model];
    const double* w = &w1_[(std::size_t{expert} * 2 * size_.inter + row) * size_.model];
    double sum = 0;
    for (std::size_t k = 0; k < size_.model; ++k) sum += x[k] * w[k];
    return factor * sum;
  };
  std::vector<Hidden> values;
  for (std::size_t n = 0; n < size_.inter; ++n) {
    const double gate = product(n), up = product(size_.inter + n);
    const double activated = gelu_ ? 0.5 * gate * (1 + std::erf(gate / std::sqrt(2.0))) : gate / (1 + std::exp(-gate));
    values.push_back({activated * up, up});
  }
  return values;
}

}  // namespace rapt::sim::validate
