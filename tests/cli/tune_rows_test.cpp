// The cells of the rows that the tuner writes.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "cli/tune/kernels.hpp"

namespace rapt::cli {
namespace {

// Equal bits have cells of their own where a kernel adds up in any order.
TEST(TuneRows, DeterministicWhereItMatters) {
  const rapt_dtype bf16{RAPT_BFLOAT, 16, 1};
  const TunedKernel fused{"fused", "backward_fused", "plain", bf16, 64, 7},
      dkv{"dkv", "backward_dkv", "plain", bf16, 64, 7};
  const auto answer = [&](const std::vector<TunedKernel>& list, const std::string& options, rapt_op op) {
    return DeviceKernels({}, 100, list)
        .cell(Problem::parse("b1 hq8 hk8 sq512 sk512 d64 bf16" + options), op, {{{"hip", dkv}}, false})
        .deterministic;
  };
  EXPECT_EQ(answer({fused, dkv}, "", RAPT_BACKWARD), "no");
  EXPECT_EQ(answer({fused, dkv}, " det", RAPT_BACKWARD), "yes");
  EXPECT_EQ(answer({dkv}, " det", RAPT_BACKWARD), "");
  EXPECT_EQ(answer({fused, dkv}, "", RAPT_FORWARD), "");
}

// A default of a larger tile, because the smaller one has kernels by Triton alone: the cell is the smaller one's.
TEST(TuneRows, HeadDimsOfTheSmallestTile) {
  const rapt_dtype fp16{RAPT_FLOAT, 16, 1};
  const auto kernel = [&](const std::string& name, int head_dim) {
    return TunedKernel{name, "backward_dkv", "general", fp16, head_dim, 7};
  };
  const TunedKernel wide = kernel("wide", 512), triton = kernel("triton", 256), small = kernel("small", 128);
  const DeviceKernels kernels({}, 100, {wide, triton, small});
  const auto head_dims = [&](const std::string& dims) {
    const TuneRow cell = kernels.cell(Problem::parse("b1 hq8 hk8 sq512 sk512 " + dims + " fp16"), RAPT_BACKWARD,
                                      {{{"hip", wide}}, true});
    return std::pair(cell.head_dim_least, cell.head_dim_most);
  };
  EXPECT_EQ(head_dims("d256"), std::pair(129, 256));
  EXPECT_EQ(head_dims("d200 dv129"), std::pair(129, 256));
  EXPECT_EQ(head_dims("d8 dv257"), std::pair(257, 512));
}

}  // namespace
}  // namespace rapt::cli
