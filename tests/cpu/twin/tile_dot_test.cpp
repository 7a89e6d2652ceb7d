// The twin's product of tiles agrees with the manual, and with the machine's bits if it has AMX.
#include <gtest/gtest.h>
#include <rapt/rapt.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace rapt::cpu::machine_tiles {
void add_product(const float* a, const float* b, float* c);
}
namespace rapt::cpu::twin_tiles {
void add_product(const float* a, const float* b, float* c);
}

namespace {

constexpr int kWords = 256;

bool runs(std::string_view wanted) {
  int32_t available = 0;
  for (size_t i = 0; const char* tier = rapt_cpu_tier(i, &available); ++i)
    if (tier == wanted) return available != 0;
  return false;
}

float pair(float low, float high) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(low) >> 16 | (std::bit_cast<uint32_t>(high) & 0xFFFF0000u));
}

// Row 0 of A times column 0 of B, whose pairs are all (1, 1), plus `c`.
float sum_of(std::initializer_list<float> words, float c) {
  alignas(64) float a[kWords] = {}, b[kWords] = {}, sums[kWords] = {c};
  std::copy(words.begin(), words.end(), a);
  for (int k = 0; k < 16; ++k) b[16 * k] = pair(1, 1);
  rapt::cpu::twin_tiles::add_product(a, b, sums);
  return sums[0];
}

TEST(TileDot, SumsLowAndHighHalvesApartAndThenAddsThemToC) {
  if (!runs("avx512_bf16")) GTEST_SKIP() << "the twin needs AVX-512 BF16, which is not here";
  const float big = 0x1p25f;
  EXPECT_EQ(sum_of({pair(big, 1), pair(-big, 1)}, 0), 2);                // one chain of both would lose the ones
  EXPECT_EQ(sum_of({pair(big, 0), pair(1, 0), pair(-big, 0)}, 0), 0);    // a chain is in order of k
  EXPECT_EQ(sum_of({pair(1, 0), pair(0, 1)}, big), big);                 // 2 is half a unit of C's last place: to even
  EXPECT_EQ(sum_of({pair(3, 0), pair(0, 1)}, big), big + 4);             // the sum of both is added at once
  EXPECT_EQ(sum_of({pair(0x1p-130f, 0)}, 0), 0);                         // a denormal operand is zero
  EXPECT_EQ(sum_of({pair(0x1.8p-126f, 0), pair(-0x1p-126f, 0)}, 0), 0);  // and a denormal result
}

TEST(TileDot, OfTheTwinHasTheMachinesBits) {
  if (!runs("amx_bf16")) GTEST_SKIP() << "no AMX here to compare the twin with";
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    // Exponents near each other, over the whole range (denormals, Inf and NaN too), or where products become denormal.
    const uint32_t spread = round % 4 == 0 ? 256 : 16, least = round % 4 == 0 ? 0 : round % 4 == 1 ? 56 : 120;
    const auto bf16 = [&] {
      const uint32_t bits = static_cast<uint32_t>(random());
      return (bits & 0x8000) | ((least + (bits >> 16) % spread) << 7) | (bits & 0x7F);
    };
    alignas(64) float a[kWords], b[kWords], machine[kWords], twin[kWords];
    for (int i = 0; i < kWords; ++i) {
      a[i] = std::bit_cast<float>(bf16() | bf16() << 16);
      b[i] = std::bit_cast<float>(bf16() | bf16() << 16);
      machine[i] = twin[i] = round % 2 == 0 ? 0.f : std::bit_cast<float>(bf16() << 16);
    }
    rapt::cpu::machine_tiles::add_product(a, b, machine);
    rapt::cpu::twin_tiles::add_product(a, b, twin);
    for (int i = 0; i < kWords; ++i) {
      if (std::isnan(machine[i]) && std::isnan(twin[i])) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(machine[i]), std::bit_cast<uint32_t>(twin[i])) << "round " << round;
    }
  }
}

}  // namespace
