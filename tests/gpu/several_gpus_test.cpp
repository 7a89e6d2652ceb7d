// Several GPUs in one process, each called from its own thread, give the same bits as one GPU.
#include <gtest/gtest.h>

#include <thread>

#include "device_run.hpp"

namespace test {

namespace {

// The first two GPUs of one architecture.
std::vector<rapt_device> alike() {
  const std::vector<rapt_device> all = gpus();
  for (const rapt_device first : all) {
    std::vector<rapt_device> found;
    for (const rapt_device device : all)
      if (std::string_view(rapt::describe(device).target) == rapt::describe(first).target) found.push_back(device);
    if (found.size() > 1) return found;
  }
  return {};
}

struct Both {
  Results forward, backward;
};

Both run(rapt_device device, const Inputs& inputs) {
  const std::string backend = device.type == RAPT_CUDA ? "cuda" : "hip";
  Both both = {.forward = run_on(device, inputs, backend, Layout::compact), .backward = {}};
  both.backward = run_backward_on(device, inputs, both.forward, backend, Layout::compact);
  return both;
}

TEST(SeveralGpus, HaveTheBitsOfOne) {
  const std::vector<rapt_device> devices = alike();
  if (devices.empty()) GTEST_SKIP() << "there are no two GPUs of one architecture";
  // A plain problem, one with options, and one with split keys whose parts are merged.
  std::vector<Inputs> problems;
  for (const char* problem : {"b2 hq4 hk2 sq70 sk90 d64 bf16 causal", "b1 hq2 hk1 sq40 sk50 d128 fp16 softcap=9 sink",
                              "b1 hq2 hk2 sq1 sk600 d64 bf16"})
    problems.push_back(make_inputs(Problem(problem)));
  std::vector<Both> expected;
  expected.reserve(problems.size());
  for (const Inputs& inputs : problems) expected.push_back(run(devices[0], inputs));
  std::vector<std::thread> threads;
  threads.reserve(devices.size());
  for (const rapt_device device : devices)
    threads.emplace_back([&, device] {
      for (int round = 0; round < (rapt::describe(device).simulator != 0 ? 2 : 50); ++round)
        for (size_t i = 0; i < problems.size(); ++i) {
          const Both both = run(device, problems[i]);
          const std::string where = "device " + std::to_string(device.id) + ", round " + std::to_string(round) + ": " +
                                    problems[i].problem.text;
          EXPECT_TRUE(same_elements(both.forward.out, expected[i].forward.out)) << where;
          EXPECT_TRUE(same_elements(both.forward.lse, expected[i].forward.lse)) << where;
          EXPECT_TRUE(same_elements(both.backward.dk, expected[i].backward.dk)) << where;
          EXPECT_TRUE(same_elements(both.backward.dv, expected[i].backward.dv)) << where;
          if (i != 1) continue;  // a plain pass may add to dq in any order
          EXPECT_TRUE(same_elements(both.backward.dq, expected[i].backward.dq)) << where;
        }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

}  // namespace test
