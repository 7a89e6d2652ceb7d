#include "sim/tests/support/programs/attention.hpp"

#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <random>

namespace rapt::sim::test {
namespace {

bool has_products(Arch arch) { return arch != Arch::gfx906; }
bool takes_bf16(Arch arch) { return is_cdna(arch) && has_products(arch); }

std::string kernel_source(Arch arch) {
  const std::string folder = RAPT_SIM_SOURCE_FOLDER "/tests/kernels";
  std::string all;
  const char* const kernel = !has_products(arch) ? "/attention_dot.hip"
                             : is_cdna(arch)     ? "/attention_cdna.hip"
                                                 : "/attention_rdna.hip";
  for (const char* file : {"/vector_types.h", kernel}) {
    std::ifstream in(folder + file);
    all.append(std::istreambuf_iterator<char>(in), {});
  }
  return all;
}

float decode(Arch arch, std::uint16_t bits) {
  if (takes_bf16(arch)) return std::bit_cast<float>(std::uint32_t{bits} << 16);
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}

std::uint16_t encode(Arch arch, float value) {
  if (takes_bf16(arch)) return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}

std::vector<float> random_values(Arch arch, std::size_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = decode(arch, encode(arch, normal(random)));
  return values;
}

// gfx11's first product leaves keys in another order: even ones, then odd ones. The second product takes them so; this
// kernel expects V's rows in that order, and its output has it within each 16 of head_dim.
unsigned gfx11_order(unsigned place) { return place < 8 ? 2 * place : 2 * (place - 8) + 1; }

std::vector<std::uint16_t> encoded(Arch arch, const std::vector<float>& values, bool permuted_rows) {
  constexpr unsigned d = Attention::head_dim;
  std::vector<std::uint16_t> bits(values.size());
  for (std::size_t row = 0; row < values.size() / d; ++row) {
    const std::size_t from = permuted_rows ? row / 16 * 16 + gfx11_order(row % 16) : row;
    for (unsigned c = 0; c < d; ++c) bits[row * d + c] = encode(arch, values[from * d + c]);
  }
  return bits;
}

std::vector<float> inputs(Arch arch, unsigned seqlen, unsigned heads, unsigned seed) {
  std::mt19937 random(seed);
  return random_values(arch, std::size_t{seqlen} * heads * Attention::head_dim, random);
}

}  // namespace

Attention::Attention(Arch arch, unsigned seqlen, unsigned heads, unsigned seed, const std::string& flags,
                     const std::string& compiler)
    : arch_(arch),
      seqlen_(seqlen),
      heads_(heads),
      q_(inputs(arch, seqlen, heads, seed)),
      k_(inputs(arch, seqlen, heads, seed + 1)),
      v_(inputs(arch, seqlen, heads, seed + 2)),
      module_(arch, kernel_source(arch), flags, compiler),
      dq_(encoded(arch, q_, false)),
      dk_(encoded(arch, k_, false)),
      dv_(encoded(arch, v_, contains(gfx11, arch))),
      out_(q_.size()),
      lse_(std::size_t{seqlen} * heads) {}

LaunchResult Attention::run() {
  const unsigned waves = 8, queries = waves * (is_cdna(arch_) ? 32 : 16), lanes = is_cdna(arch_) ? 64 : 32;
  const float scale = 1.4426950409F / std::sqrt(float{head_dim});
  return module_.launch("fwd", {seqlen_ / queries, heads_, 1}, {waves * lanes, 1, 1}, 0, dq_.data(), dk_.data(),
                        dv_.data(), out_.data(), lse_.data(), static_cast<int>(seqlen_), scale);
}

Attention::Error Attention::error() const {
  constexpr unsigned d = head_dim;
  Error worst{0, 0};
  const double scale = 1.4426950409F / std::sqrt(float{head_dim});
  for (unsigned h = 0; h < heads_; ++h)
    for (unsigned i = 0; i < seqlen_; i += 7) {
      const std::size_t head = std::size_t{h} * seqlen_ * d;
      std::vector<double> p(seqlen_);
      double top = -1e300, sum = 0;
      for (unsigned j = 0; j < seqlen_; ++j) {
        for (unsigned c = 0; c < d; ++c) p[j] += double{q_[head + i * d + c]} * k_[head + j * d + c];
        p[j] *= scale;
        top = std::max(top, p[j]);
      }
      for (double& x : p) sum += x = std::exp2(x - top);
      worst.lse = std::max(worst.lse, std::fabs(lse_[std::size_t{h} * seqlen_ + i] - (top + std::log2(sum))));
      for (unsigned c = 0; c < d; ++c) {
        double o = 0;
        for (unsigned j = 0; j < seqlen_; ++j) o += p[j] * v_[head + j * d + c];
        const unsigned place = contains(gfx11, arch_) ? c / 16 * 16 + (c % 2) * 8 + c % 16 / 2 : c;
        worst.out = std::max(worst.out, std::fabs(decode(arch_, out_[head + i * d + place]) - o / sum));
      }
    }
  return worst;
}

}  // namespace rapt::sim::test
