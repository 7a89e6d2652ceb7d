// Attention over a cache, on each GPU of HIP or CUDA, or on the simulator. The cases are the CPU's; some are long
// enough for several splits.
#include "device_run.hpp"
#include "rapt/rapt.hpp"
#include "support/cached_call.hpp"

namespace test {

namespace {

void check_on(rapt_device device, const CacheSetup& setup) {
  CachedCall call(setup);
  const std::string arch = rapt::describe(device).arch, where = arch + ", " + setup.text();
  if (flushes(arch, setup.text().substr(0, 4))) call.clear_below(kLeastFp16);
  Tensor out = call.make_out(), lse = call.make_lse();
  Copies copies(device);
  const auto place = [&](const rapt_tensor* held, Tensor& from, bool written) {
    if (written) copies.place_output(held, from);
    else copies.place(held, from);
  };
  ASSERT_EQ(call.run(device.type == RAPT_ROCM ? "hip" : "cuda", out, lse, place), RAPT_OK)
      << where << ": " << rapt_last_error();
  rapt::check(rapt_device_synchronize(device));
  copies.fetch();
  expect_sequences(call, out, lse, where);
}

class KvCacheOnGpus : public testing::TestWithParam<CacheSetup> {};

TEST_P(KvCacheOnGpus, IsTheGatheredSequence) {
  CacheSetup setup = GetParam();
  setup.page = 16;
  const std::vector<rapt_device> all = gpus();
  ASSERT_FALSE(all.empty());
  for (const rapt_device device : all)
    for (const int64_t capacity : {48, 608})
      for (rapt_dtype dtype : {kFp32, kBf16, kFp16}) {
        setup.dtype = dtype;
        setup.capacity = capacity;
        check_on(device, setup);
      }
  // Kernels above head_dim 128 append and rotate in their own way.
  if (setup.rotary == Rotary::none || setup.seqlen_new == 0) return;
  setup.head_dim = 256;
  setup.head_dim_v = 232;
  for (const rapt_device device : all) {
    setup.dtype = kBf16;
    check_on(device, setup);
  }
}

INSTANTIATE_TEST_SUITE_P(Setups, KvCacheOnGpus, testing::ValuesIn(kSetups));

}  // namespace

}  // namespace test
