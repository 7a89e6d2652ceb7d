// The kernels that AMD ships, launched as its library does. Their code objects are not ours: with RAPT_AITER_OBJECTS, a
// checkout of ROCm/aiter, each kernel of data/amd_kernels.csv runs a small problem, whose results must be right.
#include "sim/validate/check.hpp"
#include "sim/validate/families/gemm.hpp"
#include "sim/validate/families/moe.hpp"
#include "sim/validate/input/input_error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace rapt::sim::validate {
namespace {

const std::string bf16_options = " bias=False out=bfloat16 pre=False";

std::string refusal(const std::string& kernel, const std::string& shape) {
  try {
    family_of(kernel).prepare({Arch::gfx950, 256, kernel}, Shape(shape));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::uint64_t argument(const PreparedLaunch& launch, std::size_t slot) {
  std::uint64_t value = 0;
  std::memcpy(&value, &launch.arguments.bytes()[16 * slot], sizeof value);
  return value;
}

TEST(Numbers, MeanWhatTheirFormatsSay) {
  const auto value = [](Number number, std::initializer_list<unsigned> bytes, std::size_t index = 0) {
    std::vector<std::byte> data;
    for (const unsigned b : bytes) data.push_back(std::byte(b));
    return value_at(number, data.data(), index);
  };
  EXPECT_EQ(value(Number::bf16, {0, 0, 0x80, 0xbf}, 1), -1.0);
  EXPECT_EQ(value(Number::fp8, {0x38}), 1.0);
  EXPECT_EQ(value(Number::fp8, {0xfe}), -448.0);
  EXPECT_EQ(value(Number::fp8_fnuz, {0x40}), 1.0);
  EXPECT_EQ(value(Number::fp8_fnuz, {0x7f}), 240.0);
  EXPECT_EQ(value(Number::fp8_fnuz, {0x01}), 0x1p-10);
  EXPECT_TRUE(std::isnan(value(Number::fp8_fnuz, {0x80})));
  EXPECT_EQ(value(Number::int8, {0x81}), -127.0);
  EXPECT_EQ(value(Number::fp4, {0xf2}, 0), 1.0);
  EXPECT_EQ(value(Number::fp4, {0xf2}, 1), -6.0);
  EXPECT_EQ(value(Number::e8m0, {130}), 8.0);
}

TEST(Numbers, RandomValuesAreFiniteAndRepeat) {
  for (const Number number :
       {Number::f32, Number::bf16, Number::fp8, Number::fp8_fnuz, Number::int8, Number::fp4, Number::e8m0}) {
    const auto a = DeviceBuffer::random(number, 10000, 1), b = DeviceBuffer::random(number, 10000, 1);
    double sizes = 0;
    for (std::size_t n = 0; n < 10000; ++n) {
      ASSERT_EQ(a.value(number, n), b.value(number, n));
      sizes += std::abs(a.value(number, n));
    }
    EXPECT_GT(sizes / 10000, 0.2);
    EXPECT_LT(sizes / 10000, 100);
  }
}

// The largest measured problem has 6 GiB of operands; only what is touched may cost anything.
TEST(Prepare, LargeOperandsAreLazy) {
  const std::string kernel = "_ZN5aiter24bf16gemm_bf16_tn_256x256E";
  const auto launch =
      family_of(kernel).prepare({Arch::gfx950, 256, kernel}, Shape("M=32768 N=53248 K=16384 splitK=1" + bf16_options));
  EXPECT_EQ(launch.groups, (std::array<std::uint32_t, 3>{208, 128, 1}));
  const DeviceBuffer &a = launch.buffers[1], &b = launch.buffers[2];
  const std::size_t last = std::size_t{53248} * 16384 - 1;
  EXPECT_LE(std::abs(b.value(Number::bf16, last)), 1);
  EXPECT_NE(a.value(Number::bf16, 1), b.value(Number::bf16, 1));
  EXPECT_EQ(a.value(Number::bf16, 5), a.value(Number::bf16, 5 + (2 << 20))) << "blocks of 4 MiB";
}

TEST(Prepare, PassesWhatTheLauncherPasses) {
  const std::string kernel = "_ZN5aiter39bf16gemm_fp32bf16_tn_96x64_splitk_cleanE";
  const auto launch =
      family_of(kernel).prepare({Arch::gfx942, 80, kernel}, Shape("M=384 N=256 K=6144 splitK=5" + bf16_options));
  EXPECT_EQ(launch.groups, (std::array<std::uint32_t, 3>{4, 4, 5}));
  ASSERT_EQ(launch.arguments.bytes().size(), 352U);
  EXPECT_EQ(argument(launch, 2), launch.buffers[1].address());
  EXPECT_EQ(argument(launch, 14), 384U);
  EXPECT_EQ(argument(launch, 17), 5U);
  EXPECT_EQ(argument(launch, 21), launch.buffers[3].address());
  EXPECT_EQ(launch.buffers[3].value(Number::int8, 4095), 0);
}

// Block-scaled first stages have results in fp8, and behind them a scale for each 128.
TEST(Prepare, FirstStagesOfBlocksScaleTheirResults) {
  const std::string shape = "token=8 model_dim=1024 inter_dim=256 expert=4 topk=2 block_m=16 act=Silu";
  const auto launch = [&](const std::string& kind) {
    const std::string name = "fmoe_stage1_bf16_" + kind + "_g1u1_16x128_4tg_pf3";
    const std::string kernel = "_ZN5aiter" + std::to_string(name.size()) + name + "E";
    return family_of(kernel).prepare({Arch::gfx942, 304, kernel}, Shape(shape));
  };
  const auto blocks = launch("pertokenFp8_blockscale"), rows = launch("pertokenFp8");
  // Unwritten memory is NaNs, also where the last scale will be.
  EXPECT_TRUE(std::isnan(blocks.buffers[0].value(Number::f32, 8 * 2 * 256 / 4 + 8 * 2 * 2 - 1)));
  EXPECT_EQ(argument(blocks, 15), 2U * 256);        // bytes of a token's results
  EXPECT_EQ(argument(blocks, 17), 2U * 2 * 8 * 4);  // of an expert's scales
  EXPECT_EQ(argument(rows, 17), 2U * 256 * 4);
}

TEST(Prepare, SortsTokensByExpert) {
  const MoeSize size{10, 128, 256, 4, 2, 3};
  const MoeRouting routing(size, 304);
  ASSERT_EQ(routing.choices.size(), 20U);
  EXPECT_EQ(routing.valid % 3, 0U);
  EXPECT_EQ(routing.block_experts.size(), 10U);  // of at most 20 + 4 * 3 - 2 entries
  EXPECT_EQ(routing.sorted.size(), 30U);
  std::set<std::uint32_t> seen;
  for (std::size_t n = 0; n < routing.sorted.size(); ++n) {
    const std::uint32_t token = routing.sorted[n] & 0xffffff, slot = routing.sorted[n] >> 24;
    const std::int32_t expert = routing.block_experts[n / 3];
    EXPECT_EQ(expert >= 0, n < routing.valid);
    if (token == 10) {
      EXPECT_EQ(slot, 2U);
      continue;
    }
    EXPECT_TRUE(seen.insert(routing.sorted[n]).second);
    EXPECT_EQ(routing.choices[token * 2 + slot].expert, static_cast<std::uint32_t>(expert));
    EXPECT_EQ(routing.choices[token * 2 + slot].weight, routing.weights[n]);
  }
  EXPECT_EQ(seen.size(), 20U);
  for (std::size_t token = 0; token < 10; ++token)
    EXPECT_NE(routing.choices[2 * token].expert, routing.choices[2 * token + 1].expert);
}

// What PyTorch 2.11 chose on an H100, which has 132 multiprocessors: the scores of its torch.randn after x and both
// weights. The second sizes' first weight has more than 2^30 numbers.
TEST(Prepare, RoutesAsTorchDoes) {
  const auto experts = [](const MoeSize& size) {
    std::vector<std::uint32_t> chosen;
    for (const auto& choice : MoeRouting(size, 132).choices) chosen.push_back(choice.expert);
    return chosen;
  };
  EXPECT_EQ(experts({3, 4096, 512, 256, 8, 32}),
            (std::vector<std::uint32_t>{157, 214, 53, 84,  66, 70,  245, 228, 93,  184, 51,  227,
                                        49,  119, 16, 253, 15, 221, 56,  151, 187, 110, 185, 42}));
  EXPECT_EQ(experts({2, 7168, 1024, 256, 8, 32}),
            (std::vector<std::uint32_t>{102, 232, 16, 185, 27, 191, 84, 76, 154, 247, 18, 57, 53, 43, 80, 159}));
}

TEST(Reference, FindsWrongResults) {
  const GemmSize size{3, 4, 64, 1, 64};
  const auto a = [](std::size_t m, std::size_t k) { return double(m + k % 3); };
  const auto b = [](std::size_t n, std::size_t k) { return double(k % 5) - double(n); };
  const auto exact = [&](std::size_t m, std::size_t n) {
    double sum = 0;
    for (std::size_t k = 0; k < 64; ++k) sum += a(m, k) * b(n, k);
    return sum;
  };
  const GemmReference reference(size, a, b);
  EXPECT_EQ(reference.compare(exact, bf16_rounding).wrong, 0U);
  EXPECT_EQ(reference.compare(exact, bf16_rounding).compared, 12U);
  const auto rounded = [&](std::size_t m, std::size_t n) { return exact(m, n) * (1 + 0x1p-9); };
  EXPECT_EQ(reference.compare(rounded, bf16_rounding).wrong, 0U);
  const auto swapped = [&](std::size_t m, std::size_t n) { return exact(m, n == 1 ? 2 : n == 2 ? 1 : n); };
  EXPECT_EQ(reference.compare(swapped, bf16_rounding).wrong, 6U);
  const auto missing = [&](std::size_t m, std::size_t n) { return m == 2 && n == 3 ? std::nan("") : exact(m, n); };
  const Comparison found = reference.compare(missing, bf16_rounding);
  EXPECT_EQ(found.wrong, 1U);
  EXPECT_EQ(found.first_wrong.substr(0, 7), "c[2, 3]");
}

TEST(Prepare, CountsWork) {
  const std::string kernel = "_ZN5aiter43fp8gemm_bf16_blockscale_BpreShuffle_128x128E";
  const Work work = family_of(kernel).work({Arch::gfx942, 80, kernel}, Shape("M=256 N=512 K=1024 splitK=1"));
  EXPECT_EQ(work.flops, 2.0 * 256 * 512 * 1024);
  EXPECT_EQ(work.bytes, (256 + 512) * 1024 + 2 * 256 * 512 + 4 * (256 * 8 + 4 * 8 + 512));
  EXPECT_EQ(work.type, MatrixType::fp8);
}

TEST(Prepare, RefusesWhatTheLauncherRefuses) {
  const std::string split = "_ZN5aiter39bf16gemm_fp32bf16_tn_96x64_splitk_cleanE",
                    whole = "_ZN5aiter24bf16gemm_bf16_tn_256x256E",
                    fp8 = "_ZN5aiter43fp8gemm_bf16_blockscale_BpreShuffle_128x128E";
  EXPECT_NE(refusal(split, "M=1 N=64 K=64 splitK=1" + bf16_options).find("splitK must be at least 2"),
            std::string::npos);
  EXPECT_NE(refusal(whole, "M=1 N=256 K=256 splitK=2" + bf16_options).find("splitK must be 1"), std::string::npos);
  EXPECT_NE(refusal(whole, "M=1 N=300 K=256 splitK=1" + bf16_options).find("N must be a multiple of 256"),
            std::string::npos);
  EXPECT_NE(refusal(whole, "M=1 N=256 K=256 splitK=1 bias=True out=bfloat16 pre=False").find("bias must be False"),
            std::string::npos);
  EXPECT_NE(refusal(fp8, "M=1 N=128 K=1024 splitK=7").find("K has no 7 parts"), std::string::npos);
  EXPECT_NE(refusal("_ZN5aiter7anotherE", "M=1").find("no family has the kernel 'another'"), std::string::npos);
}

TEST(Arguments, MustAgreeWithTheKernelsMetadata) {
  Kernel kernel;
  kernel.name = "k";
  kernel.descriptor = {};
  kernel.descriptor.kernarg_size = 32;
  kernel.arguments = {{ArgumentKind::global_buffer, 0, 8}, {ArgumentKind::by_value, 16, 4}};
  Arguments arguments;
  arguments.null().number(1U);
  EXPECT_NO_THROW(arguments.check(kernel, 32));
  EXPECT_THROW(arguments.check(kernel, 48), InputError);
  kernel.arguments[1].offset = 12;
  EXPECT_THROW(arguments.check(kernel, 32), InputError);
}

TEST(Kernels, ComputeWhatTheyShould) {
  const char* folder = std::getenv("RAPT_AITER_OBJECTS");
  if (!folder || !*folder) GTEST_SKIP() << "RAPT_AITER_OBJECTS is not set to a checkout of ROCm/aiter";
  Objects objects(folder);
  for (const Measurement& row : read_measurements(RAPT_SIM_SOURCE_FOLDER "/tests/data/amd_kernels.csv")) {
    const Check result = check(objects, row);
    EXPECT_TRUE(result.good()) << row.part() << ' ' << result.kernel << ' ' << result.shape << ": " << result.failure
                               << result.result.first_wrong;
  }
}

}  // namespace
}  // namespace rapt::sim::validate
