// A sequence has the same bits alone and in a batch, on each GPU of HIP or CUDA, or on the simulator. On NVIDIA the
// batch is so large that a workgroup has all splits of a sequence; alone, another kernel merges the splits.
#include <gtest/gtest.h>

#include <cstring>

#include "device_run.hpp"

namespace test {

namespace {

struct BatchCase {
  std::string problem;  // without the batch
  Kind kind = Kind::normal;
};
std::ostream& operator<<(std::ostream& out, const BatchCase& c) { return out << c.problem; }

// Sequence b of a tensor whose first dimension is the batch.
Tensor sequence(const Tensor& all, int64_t b) {
  std::vector<int64_t> shape = all.shape();
  const int64_t batch = std::exchange(shape[0], 1);
  Tensor one(all.dtype(), shape);
  const size_t bytes = all.memory().size() / static_cast<size_t>(batch);
  std::memcpy(one.c().data, all.memory().data() + static_cast<size_t>(b) * bytes, bytes);
  return one;
}

class Batches : public testing::TestWithParam<BatchCase> {};

TEST_P(Batches, SequencesHaveTheBitsTheyHaveAlone) {
  const std::vector<rapt_device> all = gpus();
  ASSERT_FALSE(all.empty());
  for (const rapt_device device : all) {
    const bool cuda = device.type == RAPT_CUDA;
    const int64_t batch = cuda ? rapt::describe(device).compute_units / 2 : 3;
    const std::string backend = cuda ? "cuda" : "hip";
    const Inputs inputs = make_inputs(Problem("b" + std::to_string(batch) + " " + GetParam().problem), GetParam().kind);
    const Results results = run_on(device, inputs, backend, Layout::compact);
    for (const int64_t b : {int64_t{0}, batch / 2, batch - 1}) {
      Inputs alone = make_inputs(Problem("b1 " + GetParam().problem));
      alone.q = sequence(inputs.q, b);
      alone.k = sequence(inputs.k, b);
      alone.v = sequence(inputs.v, b);
      alone.sink = inputs.sink;
      const bool of_sequences = inputs.alibi_slopes.shape().size() == 2;
      alone.alibi_slopes = of_sequences ? sequence(inputs.alibi_slopes, b) : inputs.alibi_slopes;
      const Results expected = run_on(device, alone, backend, Layout::compact);
      EXPECT_TRUE(same_elements(sequence(results.out, b), expected.out)) << rapt::describe(device).arch << ' ' << b;
      EXPECT_TRUE(same_elements(sequence(results.lse, b), expected.lse)) << rapt::describe(device).arch << ' ' << b;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Batches,
                         testing::Values(BatchCase{"hq8 hk2 sq1 sk700 d128 bf16"},
                                         BatchCase{"hq8 hk2 sq3 sk700 d120 fp16 causal window=500,0 sink"},
                                         BatchCase{"hq8 hk2 sq1 sk600 d64 bf16", Kind::poison_seen},
                                         BatchCase{"hq4 hk2 sq5 sk600 d96 bf16 causal softcap=9 alibi"},
                                         BatchCase{"hq2 hk2 sq1 sk2700 d64 fp16"},  // more splits than a part has
                                         BatchCase{"hq4 hk2 sq1 sk600 d64 fp32"},
                                         BatchCase{"hq4 hk2 sq1 sk600 d256 bf16"}));

}  // namespace

}  // namespace test
