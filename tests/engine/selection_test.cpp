// Every backend with every pass on every kind of device: a plan that names the backend takes it, or it is refused with
// a reason. What a plan takes runs nowhere else.
#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "base/error.hpp"

namespace rapt {
namespace {

constexpr rapt_device kDevices[] = {{RAPT_CPU, 0}, {RAPT_CUDA, 0}, {RAPT_ROCM, 0}};

TEST(Selection, EachPairIsTakenOrRefusedByName) {
  const Problem problem = Problem::parse("b1 hq2 hk1 sq5 sk7 d16 fp32");
  int taken = 0, refused = 0;
  for (const auto& backend : backends())
    for (const rapt_op op : {RAPT_FORWARD, RAPT_BACKWARD})
      for (const rapt_device device : kDevices) {
        SCOPED_TRACE(backend->name + ", op " + std::to_string(op) + ", device " + std::to_string(device.type));
        try {
          const Plan plan = make_plan({problem, op, device, {backend->name}});
          EXPECT_EQ(plan.backend, backend.get());
          EXPECT_EQ(plan.backend->device, device.type);
          ++taken;
        } catch (const Error& e) {
          EXPECT_TRUE(e.status() == RAPT_UNSUPPORTED || e.status() == RAPT_DEVICE_ERROR) << e.what();
          EXPECT_STRNE(e.what(), "");
          ++refused;
        }
      }
  EXPECT_GE(taken, 4) << "math, cpu and one tier of it, both passes";
  EXPECT_GE(refused, taken);
}

// A plan for the backward pass on a GPU is none of the host's backends, whose loops would read device memory.
TEST(Selection, TheBackwardPassOfAGpuNeverRunsOnTheHost) {
  const Problem problem = Problem::parse("b1 hq2 hk1 sq5 sk7 d16 fp16");
  for (const rapt_device device : {rapt_device{RAPT_ROCM, 0}, rapt_device{RAPT_CUDA, 0}})
    for (const char* name : {"auto", "cpu", "math", "hip"}) {
      try {
        const Plan plan = make_plan({problem, RAPT_BACKWARD, device, {name, true}});
        EXPECT_EQ(plan.backend->device, device.type) << name;
      } catch (const Error& e) {
        EXPECT_TRUE(e.status() == RAPT_UNSUPPORTED || e.status() == RAPT_DEVICE_ERROR) << e.what();
      }
    }
}

// explain() marks the backend that make_plan() takes.
TEST(Selection, ExplanationsAgreeWithPlans) {
  for (const char* text : {"b1 hq2 hk1 sq5 sk7 d16 fp32", "b1 hq2 hk1 sq5 sk7 d16 fp64",
                           "b64 hq8 hk8 sq4096 sk4096 d128 fp64", "b1 hq2 hk1 sq5 sk7 d16 bf16 causal alibi drop=0.1"})
    for (const rapt_op op : {RAPT_FORWARD, RAPT_BACKWARD})
      for (const char* name : {"auto", "cpu", "cpu.portable", "math"}) {
        SCOPED_TRACE(std::string(text) + " " + name);
        const Problem problem = Problem::parse(text);
        const Question question{problem, op, {RAPT_CPU, 0}, {name}};
        std::string chosen;
        for (const Candidate& c : explain(question).candidates) {
          EXPECT_FALSE(c.reason.empty()) << c.backend;
          if (c.chosen) chosen += c.backend;
        }
        std::string planned;
        try {
          planned = make_plan(question).backend->name;
        } catch (const Error&) {
        }
        EXPECT_EQ(chosen, planned);
      }
}

}  // namespace
}  // namespace rapt
