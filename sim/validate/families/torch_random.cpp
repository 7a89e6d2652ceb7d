#include "sim/validate/families/torch_random.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace rapt::sim::validate {
namespace {

constexpr std::uint64_t block = 256, numbers_per_draw = 4, most_numbers = 1ULL << 30;

using Four = std::array<std::uint32_t, 4>;

// The key is the seed, 0.
Four philox(Four counter) {
  std::array<std::uint32_t, 2> key{};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0], second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::array<float, 2> box_muller(std::uint32_t a, std::uint32_t b) {
  constexpr float unit = 0x1p-32F, turn = 0x1p-32F * 6.28318531F;
  const float u = unit + static_cast<float>(a) * unit, angle = turn + static_cast<float>(b) * turn;
  const float radius = std::sqrt(-2 * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

}  // namespace

std::uint64_t TorchRandom::threads(std::uint64_t count) const {
  return block * std::min((count + block - 1) / block, most_blocks_);
}

std::uint64_t TorchRandom::draws(std::uint64_t count) const {
  return (count - 1) / (threads(count) * numbers_per_draw) + 1;
}

// The draws of a tensor that is drawn in parts because 32 bits cannot count its bytes: it is halved until they can.
std::uint64_t TorchRandom::draws_of_parts(std::uint64_t count) const {
  if (count <= most_numbers) return draws(count);
  return draws_of_parts(count / 2) + draws_of_parts(count - count / 2);
}

// The whole moves the streams on before its parts do.
void TorchRandom::skip(std::uint64_t count) {
  drawn_ += draws(count);
  if (count > most_numbers) drawn_ += draws_of_parts(count);
}

std::vector<float> TorchRandom::normal(std::uint64_t count) {
  std::vector<float> numbers(count);
  const std::uint64_t all = threads(count), rounds = draws(count);
  for (std::uint64_t round = 0; round < rounds; ++round)
    for (std::uint64_t thread = 0; thread < all; ++thread) {
      const std::uint64_t at = drawn_ + round;
      const Four bits = philox({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at >> 32),
                                static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(thread >> 32)});
      const auto first = box_muller(bits[0], bits[1]), second = box_muller(bits[2], bits[3]);
      const std::array<float, numbers_per_draw> drawn{first[0], first[1], second[0], second[1]};
      for (std::uint64_t n = 0; n < numbers_per_draw; ++n)
        if (const std::uint64_t to = (round * numbers_per_draw + n) * all + thread; to < count) numbers[to] = drawn[n];
    }
  drawn_ += rounds;
  return numbers;
}

}  // namespace rapt::sim::validate
