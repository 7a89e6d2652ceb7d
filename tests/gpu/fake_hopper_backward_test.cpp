// Hopper's backward passes over the fake driver. A case is a separate process.
#include <algorithm>

#include "fake_driver_case.hpp"
#include "kernels/hopper/arguments.h"

namespace rapt::gpu {
namespace {

class FakeHopper : public Fake {
 protected:
  FakeHopper() {
    write_archive(archive::hopper_backward_archive(), "sm_90.rapt");
    cuda.arch = "sm_90";
  }
};

TensorLayout layout_of(const rapt_abi_tensor_map& map) {
  TensorLayout layout;
  std::memcpy(static_cast<void*>(&layout), &map, sizeof layout);
  return layout;
}

// A problem of the backward pass, without dv.
class FakeHopperBackward : public FakeHopper {
 protected:
  static constexpr int64_t kRows = 300, kKeys = 200, kHeads = 6, kKeyHeads = 2, kBatch = 2;

  rapt::api::Tensor tensor(size_t number, int64_t rows, int64_t heads, int64_t dim) const {
    char* const data = static_cast<char*>(memory_.data()) + number * (kMemory / 8);
    return {data, rapt::kBf16, {batch_, rows, heads, dim}, {}, kCuda};
  }
  int64_t batch_ = kBatch;

  void run(int64_t dim, rapt_causal causal, const rapt::api::Execution& execution = {}) const {
    const auto of_q = [&](size_t number) { return tensor(number, kRows, kHeads, dim); };
    const auto of_k = [&](size_t number) { return tensor(number, kKeys, kKeyHeads, dim); };
    const rapt::api::Tensor lse(tensor(7, 1, 1, 1).c().data, rapt::kFp32, {batch_, kHeads, kRows}, {}, kCuda);
    rapt::api::Attention a{.q = of_q(0), .k = of_k(1), .v = of_k(2)};
    a.causal = causal;
    rapt::api::backward(a, of_q(3), lse, of_q(4), {.dq = of_q(5), .dk = of_k(6)}, execution);
  }
  // What a launch was passed.
  rapt_hopper_backward_args launched(size_t i, const char* symbol, uint32_t workgroups) const {
    rapt_hopper_backward_args arguments = {};
    if (i >= cuda.launches.size()) return arguments;
    const FakeDriver::Launched& launch = cuda.launches[i];
    EXPECT_EQ(launch.symbol, symbol);
    EXPECT_EQ(launch.shape.grid, Extent{workgroups});
    const Operation* const operation = find_operation(launch.symbol.substr(0, launch.symbol.find("_hopper_d") + 7));
    EXPECT_EQ(launch.arguments.size(), operation->argument_size);
    std::memcpy(static_cast<void*>(&arguments), launch.arguments.data(), sizeof arguments);
    EXPECT_EQ(arguments.backward.statistics.head, 384);  // rows are padded to whole steps
    EXPECT_EQ(arguments.backward.statistics.batch, 384 * kHeads);
    EXPECT_EQ(arguments.backward.dk.data, tensor(6, 1, 1, 1).c().data);
    EXPECT_EQ(arguments.backward.dv.data, nullptr);
    return arguments;
  }

 private:
  static constexpr size_t kMemory = size_t{8} * 2 * kBatch * kRows * kHeads * 256;
  rapt::api::DeviceMemory memory_{kCuda, kMemory};
};

TEST_F(FakeHopperBackward, NothingToCompute) {
  batch_ = 0;
  for (const int64_t dim : {128, 256}) run(dim, RAPT_NOT_CAUSAL);
  EXPECT_TRUE(cuda.launches.empty());
}

TEST_F(FakeHopperBackward, WithSumsOfDq) {
  run(128, RAPT_NOT_CAUSAL);
  ASSERT_EQ(cuda.launches.size(), 3U);
  for (const auto& [i, symbol, workgroups] : {std::tuple(0U, "backward_statistics_hopper_d128_bf16_plain_k64w12", 10U),
                                              std::tuple(1U, "backward_hopper_d128_bf16_plain_k64w12", 8U),
                                              std::tuple(2U, "backward_dq_round_hopper_d128_bf16_plain_k64w4", 60U)}) {
    const rapt_hopper_backward_args arguments = launched(i, symbol, workgroups);
    EXPECT_EQ(arguments.backward.dq_sum.dims, 128);
    EXPECT_GE(reinterpret_cast<char*>(arguments.counters),
              reinterpret_cast<char*>(arguments.backward.statistics.data) + kBatch * kHeads * 384 * 8);
    EXPECT_EQ(arguments.heads_at_once, 5) << "of two tiles: one for each of 10 multiprocessors";
    EXPECT_EQ(arguments.in_order, 0);
    EXPECT_EQ(arguments.added, arguments.counters + 2);
    EXPECT_EQ(arguments.count, 2 + kBatch * kHeads * 384 / 32) << "two for each 64 rows";
    EXPECT_EQ(layout_of(arguments.q).box_rows, 64);
    EXPECT_EQ(layout_of(arguments.v).box_rows, 128);
    EXPECT_EQ(layout_of(arguments.dout_rows).box_rows, 64);
  }
}

// Where tiles differ, the last section has two tiles for each multiprocessor, or all.
TEST_F(FakeHopperBackward, HeadsOfTheLastSection) {
  run(128, RAPT_CAUSAL);
  ASSERT_EQ(cuda.launches.size(), 3U);
  rapt_hopper_backward_scores_args arguments;
  ASSERT_EQ(cuda.launches[1].arguments.size(), sizeof arguments);
  std::memcpy(static_cast<void*>(&arguments), cuda.launches[1].arguments.data(), sizeof arguments);
  EXPECT_EQ(arguments.all.heads_at_once, 1);
  EXPECT_EQ(arguments.last_heads, kBatch * kKeyHeads);
}

TEST_F(FakeHopperBackward, InAFixedOrder) {
  run(128, RAPT_CAUSAL, {.deterministic = true});
  ASSERT_EQ(cuda.launches.size(), 3U);
  EXPECT_EQ(launched(1, "backward_hopper_d128_bf16_plain_k64w12", 8).in_order, 1);
}

TEST_F(FakeHopperBackward, PackedSequencesWithSumsOfDq) {
  constexpr int64_t kTotalQ = 500, kTotalK = 201, kDim = 128;
  const int32_t of_queries[] = {0, 300, 490}, of_keys[] = {0, 200, 201};
  const auto packed = [&](size_t number, int64_t rows, int64_t heads) {
    return rapt::api::Tensor(tensor(number, 1, 1, 1).c().data, rapt::kBf16, {rows, heads, kDim}, {}, kCuda);
  };
  const auto of_q = [&](size_t number) { return packed(number, kTotalQ, kHeads); };
  const auto of_k = [&](size_t number) { return packed(number, kTotalK, kKeyHeads); };
  const rapt::api::Tensor lse(tensor(7, 1, 1, 1).c().data, rapt::kFp32, {kHeads, kTotalQ}, {}, kCuda);
  rapt::api::Attention a{.q = of_q(0), .k = of_k(1), .v = of_k(2)};
  a.varlen = {.cu_seqlens_q = rapt::api::Tensor(of_queries, rapt::kInt32, {3}),
              .cu_seqlens_k = rapt::api::Tensor(of_keys, rapt::kInt32, {3})};
  rapt::api::backward(a, of_q(3), lse, of_q(4), {.dq = of_q(5), .dk = of_k(6)});
  ASSERT_EQ(cuda.launches.size(), 3U);
  EXPECT_EQ(std::ranges::count(cuda.calls, "clear_async"), 0);  // a kernel clears rows behind the last sequence
  rapt_hopper_backward_args arguments;
  std::memcpy(static_cast<void*>(&arguments), cuda.launches[0].arguments.data(), sizeof arguments);
  EXPECT_EQ(arguments.backward.dq.data, tensor(5, 1, 1, 1).c().data);
  ASSERT_GE(cuda.launches[1].arguments.size(), sizeof arguments);
  std::memcpy(static_cast<void*>(&arguments), cuda.launches[1].arguments.data(), sizeof arguments);
  EXPECT_EQ(arguments.backward.statistics.head, kTotalQ);
  EXPECT_EQ(arguments.backward.statistics.batch, 0);
  constexpr int64_t kPadded = (kTotalQ / 128 + kBatch) * 128;  // rows of a head, beside a copy without gaps
  EXPECT_GE(reinterpret_cast<char*>(arguments.counters),
            reinterpret_cast<char*>(arguments.backward.statistics.data) + kHeads * (kTotalQ + kPadded) * 8);
  for (const auto& [map, rows] : {std::pair{&arguments.q, kTotalQ}, {&arguments.k, kTotalK}}) {
    EXPECT_EQ(layout_of(*map).batch, 1);
    EXPECT_EQ(layout_of(*map).rows, rows);
  }
}

TEST_F(FakeHopperBackward, Apart) {
  run(256, RAPT_CAUSAL);
  ASSERT_EQ(cuda.launches.size(), 2U);
  const rapt_hopper_backward_args of_q = launched(0, "backward_dq_hopper_d256_bf16_plain_k64w12", 10);
  const rapt_hopper_backward_args of_k = launched(1, "backward_dkv_hopper_d256_bf16_plain_k64w12", 10);
  EXPECT_EQ(of_q.turns.tiles, 3);
  EXPECT_EQ(of_q.turns.heads, kBatch * kHeads);
  EXPECT_EQ(of_k.turns.tiles, 4);
  EXPECT_EQ(of_k.turns.heads, kBatch * kKeyHeads);
  for (const rapt_hopper_backward_args& arguments : {of_q, of_k}) {
    EXPECT_EQ(arguments.turns.dealing, RAPT_DEAL_SNAKE);
    EXPECT_EQ(arguments.backward.dq_sum.data, nullptr);
    for (const rapt_abi_tensor_map* map : {&arguments.q, &arguments.k, &arguments.v, &arguments.out, &arguments.dout})
      EXPECT_EQ(layout_of(*map).box_rows, 64);
  }
}

}  // namespace
}  // namespace rapt::gpu
