// Numbers that every layer relies on: the 16-bit types, and dropout's generator.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/common/philox.h"
#include "base/float16.hpp"
#include "cli/inputs/dtype.hpp"

namespace {

template <class T>
class Float16 : public testing::Test {};
using Types = testing::Types<rapt::Fp16, rapt::Bf16>;
TYPED_TEST_SUITE(Float16, Types);

// The command's conversions share nothing with the library's.
template <class T>
T expected(float value) {
  return T::of_bits(std::is_same_v<T, rapt::Fp16> ? rapt::cli::fp16_from(value) : rapt::cli::bf16_from(value));
}

TYPED_TEST(Float16, EveryValueConvertsToFloatAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const TypeParam x = TypeParam::of_bits(static_cast<uint16_t>(bits));
    const double exact =
        std::is_same_v<TypeParam, rapt::Fp16> ? rapt::cli::fp16_to(x.bits) : rapt::cli::bf16_to(x.bits);
    const float value = static_cast<float>(x);
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(value) && std::isnan(static_cast<float>(TypeParam(value)))) << bits;
    } else {
      EXPECT_EQ(value, exact) << bits;
      EXPECT_EQ(TypeParam(value).bits, bits);
    }
  }
}

// Each value, the midpoint to the next one, and their neighbours.
TYPED_TEST(Float16, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 65535; ++bits) {
    const float low = static_cast<float>(TypeParam::of_bits(static_cast<uint16_t>(bits)));
    const float high = static_cast<float>(TypeParam::of_bits(static_cast<uint16_t>(bits + 1)));
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const float half = low / 2 + high / 2;
    for (float x : {half, std::nextafter(half, low), std::nextafter(half, high)})
      EXPECT_EQ(TypeParam(x).bits, expected<TypeParam>(x).bits) << x;
  }
}

TYPED_TEST(Float16, ConvertsAnyFloat) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(x)) continue;
    EXPECT_EQ(TypeParam(x).bits, expected<TypeParam>(x).bits) << x;
  }
  for (float x :
       {65519.99f, 65520.f, 1e38f, -65520.f, 3.4e38f, std::numeric_limits<float>::infinity(), -0.f, 0x1p-149f})
    EXPECT_EQ(TypeParam(x).bits, expected<TypeParam>(x).bits) << x;
}

// Known answers of the Random123 distribution for philox4x32-10.
TEST(Philox, KnownAnswers) {
  struct Answer {
    uint32_t counter[4];
    uint64_t key;
    uint32_t result[4];
  };
  constexpr Answer kAnswers[] = {
      {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, ~0ull, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       0x299f31d0a4093822,
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Answer& a : kAnswers) {
    const rapt_philox_bits bits = rapt_philox(a.key, a.counter[0], a.counter[1], a.counter[2], a.counter[3]);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(bits.word[i], a.result[i]);
  }
}

TEST(Philox, FieldsAreTheSixteenBitPartsLeastSignificantFirst) {
  const rapt_philox_bits bits = {{0x00010000, 0x00030002, 0x00050004, 0x00070006}};
  for (uint32_t row = 0; row < 4; ++row)
    for (uint32_t col = 0; col < 8; ++col) EXPECT_EQ(rapt_philox_field(bits, row, col), 4 * (row % 2) + col % 4);
}

TEST(Philox, ThresholdRounds) {
  EXPECT_EQ(rapt_keep_threshold(0), 65536u);
  EXPECT_EQ(rapt_keep_threshold(0.5), 32768u);
  EXPECT_EQ(rapt_keep_threshold(0.1), 58982u);
  EXPECT_EQ(rapt_keep_threshold(1 - 1e-9), 0u);
}

}  // namespace
