// rapt-sim time: forecasts of a compiled HIP program's kernels, and where their time goes.
#include "sim/tests/support/programs/command.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rapt::sim::test {
namespace {

using Json = nlohmann::json;

// Workgroups of `tickets` draw numbers, in the order in which they come.
constexpr const char* program = R"(
extern "C" __global__ void tickets(unsigned* drawn, float* out) {
  if (__builtin_amdgcn_workitem_id_x() == 0)
    out[__hip_atomic_fetch_add(drawn, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)] = 1;
}
// Its workgroups have private memory, which the host's threads reuse as they come.
extern "C" __global__ void locals(const float* in, float* out) {
  const int t = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  float local[64];
  for (int i = 0; i < 64; ++i) local[i] = in[t + i];
  float sum = 0;
  for (int i = 0; i < 64; ++i) sum += local[(int)in[i] + t % 64];
  out[t] = sum;
}
extern "C" __global__ void rows(const float* in, float* out, int n) {
  const int t = __builtin_amdgcn_workitem_id_x(), b = __builtin_amdgcn_workgroup_id_x();
  float sum = 0;
#pragma clang loop unroll(disable)
  for (int i = t; i < n; i += 256)
#line 500 "<kernel>&.hip"
    sum += __builtin_amdgcn_exp2f(in[b * n + i]);
  out[b * 256 + t] = sum;
}
int main(int argc, char**) {
  const int n = 4096, m = 8;
  float *a, *o;
  unsigned* flag;
  static float zero[n * m];
  hipMalloc((void**)&a, n * m * 4);
  hipMalloc((void**)&o, 256 * m * 4);
  hipMalloc((void**)&flag, 4);
  hipMemcpy(a, zero, sizeof zero, 1);
  hipMemcpy(flag, zero, 4, 1);
  rows<<<m, 256>>>(a, o, n);
  rows<<<m, 256>>>(a, o, n);
  if (argc > 1) tickets<<<20, 64>>>(flag, o);
  if (argc > 1) locals<<<30, 64>>>(a, o);
  hipDeviceSynchronize();
}
)";

const std::string& compiled() {
  static const std::string path = compile_program(program);
  return path;
}

std::uint64_t sum_of_clocks(const Json& list) {
  std::uint64_t sum = 0;
  for (const Json& entry : list) sum += entry["time"]["clocks"].get<std::uint64_t>();
  return sum;
}

TEST(ToolTime, SaysWhereTheTimeGoes) {
  const std::string json = temporary_folder() + "/time.json", html = temporary_folder() + "/time.html";
  const Outcome o = run_command("time --flops 1e6 --html " + html + " --json " + json + " -- " + compiled());
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(has(o.out, "rows on gfx942:mi300x, simulated by time model ")) << o.out;
  EXPECT_TRUE(has(o.out, "91 % of 23 published times are within 15 %")) << o.out;
  EXPECT_TRUE(has(o.out, "<kernel>&.hip:500")) << o.out;
  EXPECT_TRUE(has(o.out, "v_exp_f32")) << o.out;

  const Json times = Json::parse(shell("cat " + json));
  ASSERT_EQ(times["kernels"].size(), 1U);
  const Json& k = times["kernels"][0];
  EXPECT_EQ(k["launch_count"], 2);
  const double each = k["microseconds"][1].get<double>();
  EXPECT_EQ(k["microseconds"][0], each) << "the same launch";
  char rate[64];
  std::snprintf(rate, sizeof rate, "2 launches, %.2f us each, %.1f TFLOP/s", each, 1e6 / each * 1e-6);
  EXPECT_TRUE(has(o.out, rate)) << o.out;
  EXPECT_NEAR(k["accuracy"]["low"].get<double>() * 1.15, each, 1e-9);
  EXPECT_NEAR(k["accuracy"]["high"].get<double>() * 0.85, each, 1e-9);
  ASSERT_EQ(k["loops"].size(), 1U);
  EXPECT_EQ(k["loops"][0]["entries"], 2 * 1 * 4);  // launches, groups of a die, waves
  EXPECT_EQ(k["loops"][0]["iterations"], 2 * 1 * 4 * 16);
  EXPECT_GT(k["loops"][0]["time"]["causes"]["vector memory"], 0) << "each round waits for its load";
  EXPECT_GT(k["loops"][0]["time"]["causes"]["instruction fetch"], 0) << "and for its head";
  const auto all = k["time"]["clocks"].get<std::uint64_t>();
  for (const char* list : {"lines", "blocks", "instructions"}) EXPECT_EQ(sum_of_clocks(k[list]), all) << list;
  EXPECT_LT(all, k["first_launch"]["clocks"].get<double>() * 2 * 4) << "of two launches' four waves";
  EXPECT_GT(all, k["first_launch"]["clocks"].get<double>() * 2 * 4 * 0.8);

  // The timeline has each wave's instructions, with its stalls.
  ASSERT_EQ(k["timeline"]["waves"].size(), 4U);
  for (const Json& wave : k["timeline"]["waves"]) {
    ASSERT_EQ(wave["issues"].size() % 4, 0U);
    std::uint64_t clock = 0;
    for (std::size_t n = 1; n < wave["issues"].size(); n += 4) clock += wave["issues"][n].get<std::uint64_t>();
    EXPECT_LE(clock, k["first_launch"]["clocks"].get<double>());
    const std::size_t last = wave["issues"][wave["issues"].size() - 4];
    EXPECT_EQ(k["instructions"][last]["text"], "s_endpgm");
  }
  const std::string page = shell("cat " + html);
  EXPECT_TRUE(has(page, "<canvas") && has(page, "&lt;kernel&gt;&amp;.hip:500") && page.ends_with("</body></html>\n"));
  EXPECT_TRUE(has(page, "\\u003ckernel>&.hip:500")) << "no end of the script";
  EXPECT_FALSE(has(page, "<kernel>") || has(page, "http") || has(page, "src="));
}

TEST(ToolTime, IsTheSameBitForBitOnAnyNumberOfThreads) {
  for (const char* sample : {"", "--sample "}) {
    std::string before;
    for (const char* threads : {"1", "2", "2", "7"}) {
      setenv("RAPT_SIM_THREADS", threads, 1);
      const std::string json = temporary_folder() + "/threads.json";
      const Outcome o = run_command("time " + std::string(sample) + "--json " + json + " -- " + compiled() + " more");
      EXPECT_EQ(o.code, 0) << o.err;
      const std::string text = shell("cat " + json);
      EXPECT_EQ(Json::parse(text)["kernels"].size(), 3U);
      EXPECT_TRUE(text == before || before.empty()) << threads << " threads " << sample;
      before = text;
    }
  }
  unsetenv("RAPT_SIM_THREADS");
}

TEST(ToolTime, SaysWhatIsWrong) {
  const Outcome two = run_command("time --flops 5 -- " + compiled() + " more");
  EXPECT_EQ(two.code, 2);
  EXPECT_EQ(
      two.err,
      "rapt-sim: --flops: 3 kernels were launched (rows, tickets, locals); --kernel picks the one that these are of\n");
  EXPECT_EQ(run_command("time --flops 5 --kernel tickets -- " + compiled() + " more").code, 0);
  const Outcome none = run_command("time --kernel cows -- " + compiled());
  EXPECT_EQ(none.err, "rapt-sim: --kernel: 'cows' was not launched; these were: rows\n");
  const Outcome untimed = run_command("time --arch gfx908 -- " + compiled());
  EXPECT_EQ(untimed.code, 1);
  EXPECT_TRUE(has(untimed.err, "no kernel was timed")) << untimed.err;
  for (const char* flops : {"-1", "nan", "inf"})
    EXPECT_EQ(run_command(std::string("time --flops ") + flops + " -- true").code, 2) << flops;
}

}  // namespace
}  // namespace rapt::sim::test
