// The rows that the tuner writes: their cells, and the words that make the winner run.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "cli/tune/kernels.hpp"

namespace rapt::cli {
namespace {

// Rows that make Triton run a pass: one for each kernel, and one that leaves the pass to them where backward_fused
// could run.
TEST(TuneRows, APairBesideBackwardFused) {
  const rapt_dtype bf16{RAPT_BFLOAT, 16, 1};
  const auto kernel = [&](const char* stage, const char* shape) {
    return TunedKernel{std::string(stage) + ".d64.bf16.plain." + shape, stage, "plain", bf16, 64, 7};
  };
  const TunedKernel fused = kernel("backward_fused", "k64w4"), dq = kernel("backward_dq", "k32w4"),
                    dkv = kernel("backward_dkv", "k32w4"), dq_triton = kernel("backward_dq", "tq64k64w4"),
                    dkv_triton = kernel("backward_dkv", "tq64k32w4"), wider = kernel("backward_dkv", "tq64k64w4");
  const DeviceKernels kernels({}, 100, {fused, dq, dkv, dq_triton, dkv_triton, wider});
  const auto rows = [&](const Ways& ways, size_t winner) {
    std::string text;
    for (const TuneRow& row :
         kernels.rows(Problem::parse("b1 hq8 hk8 sq512 sk512 d64 bf16"), RAPT_BACKWARD, ways, winner))
      text += row.stage + " " + row.use + "\n";
    return text;
  };
  const Ways ways{
      {{"cuda", fused, {dq}}, {"cuda", dq_triton, {dkv_triton}}, {"cuda", wider, {dq_triton}}, {"cuda", dkv, {dq}}},
      false};
  const std::string leaves = "backward_fused " + dq_triton.text() + "\n";
  EXPECT_EQ(rows(ways, 0), "backward_fused \n");
  EXPECT_EQ(rows(ways, 1), leaves + "backward_dq " + dq_triton.text() + "\nbackward_dkv " + dkv_triton.text() + "\n");
  EXPECT_EQ(rows(ways, 2), leaves + "backward_dkv " + wider.text() + "\nbackward_dq " + dq_triton.text() + "\n");
  EXPECT_EQ(rows(ways, 3), "backward_fused apart\nbackward_dkv " + dkv.text() + "\n");
  const Ways apart{{{"cuda", dkv, {dq}}, {"cuda", wider, {dq_triton}}, {"cuda", fused, {dq}}}, false};
  EXPECT_EQ(rows(apart, 1), leaves + "backward_dkv " + wider.text() + "\nbackward_dq " + dq_triton.text() + "\n");
  EXPECT_EQ(rows(apart, 2), "backward_fused " + fused.text() + "\n");
  const Ways deterministic{{{"cuda", dkv, {dq}}, {"cuda", wider, {dq_triton}}}, false};
  EXPECT_EQ(rows(deterministic, 1), "backward_dkv " + wider.text() + "\nbackward_dq " + dq_triton.text() + "\n");
}

// A default has a larger tile where only Triton has kernels of the smaller tile: the cell is the smaller tile's.
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
