// Other code of a process does not notice that calls use AMX's tiles. Tiles are released after each task, the thread's
// own configuration is restored, and signal handlers may use tiles themselves.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <cstring>
#include <optional>
#include <string_view>

#include "support/executor.hpp"
#include "support/run.hpp"

namespace test {

namespace {

const char* const kProblems[] = {"b1 hq4 hk2 sq200 sk300 d64 bf16 causal", "b1 hq8 hk1 sq1 sk3000 d64 bf16"};

bool has_tiles() {
  int32_t available = 0;
  for (size_t i = 0; const char* tier = rapt_cpu_tier(i, &available); ++i)
    if (std::string_view(tier) == "amx_bf16") return available != 0;
  return false;
}

struct alignas(64) Configuration {
  uint8_t bytes[64] = {};
  bool operator==(const Configuration& other) const { return std::memcmp(bytes, other.bytes, sizeof bytes) == 0; }
};

// Two registers of `rows` rows of 32 bytes.
Configuration configuration(uint8_t rows) {
  Configuration c;
  c.bytes[0] = 1;  // palette
  for (int i = 0; i < 2; ++i) {
    c.bytes[16 + 2 * i] = 32;
    c.bytes[48 + i] = rows;
  }
  return c;
}

void configure(const Configuration& c) { asm volatile("ldtilecfg %0" ::"m"(c)); }
void release() { asm volatile("tilerelease" ::: "memory"); }
Configuration configured() {
  Configuration c;
  asm volatile("sttilecfg %0" : "=m"(c));
  return c;
}

// XINUSE: the processor's list of states that are not in their initial configuration.
bool tiles_in_use() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  constexpr uint32_t kTileConfiguration = 1u << 17, kTileData = 1u << 18;
  return (low & (kTileConfiguration | kTileData)) != 0;
}

// Runs tasks on the calling thread and looks at the tiles after each.
class Watching {
 public:
  Watching() : executor_(init<rapt_executor>()) {
    executor_.concurrency = 3;
    executor_.context = this;
    executor_.parallel_for = [](void* self, int64_t count, rapt_task task, void* argument) {
      for (int64_t i = 0; i < count; ++i) {
        task(argument, i);
        static_cast<Watching*>(self)->in_use_ += tiles_in_use();
        ++static_cast<Watching*>(self)->tasks_;
      }
    };
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  const rapt_executor* c() const { return &executor_; }
  int tasks() const { return tasks_; }
  int in_use() const { return in_use_; }

 private:
  rapt_executor executor_;
  int tasks_ = 0, in_use_ = 0;
};

void expect_same(const Results& a, const Results& b) {
  const auto x = a.named(), y = b.named();
  for (size_t t = 0; t < x.size(); ++t) EXPECT_TRUE(same_elements(*x[t].second, *y[t].second)) << x[t].first;
}

class TileState : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!has_tiles()) GTEST_SKIP() << "no AMX here";
    inputs_.emplace(make_inputs(Problem(GetParam())));
  }
  Results results(const rapt_executor* executor) {
    return run(*inputs_, {.backend = "cpu.amx_bf16", .executor = executor});
  }

  std::optional<Inputs> inputs_;
};

TEST_P(TileState, IsInitialAfterEachTask) {
  configure(configuration(8));
  EXPECT_TRUE(tiles_in_use()) << "the test can see tiles in use";
  release();
  Watching watching;
  results(watching.c());
  EXPECT_GT(watching.tasks(), 3);
  EXPECT_EQ(watching.in_use(), 0);
  EXPECT_EQ(configured(), Configuration());
}

TEST_P(TileState, OfTheCallersOwnComesBack) {
  Threads one(1);
  const Results expected = results(one.c());
  const Configuration own = configuration(5);
  configure(own);
  const Results beside = results(one.c());
  EXPECT_EQ(configured(), own);
  release();
  expect_same(expected, beside);
}

volatile sig_atomic_t g_signals = 0;

TEST_P(TileState, IsNotDisturbedBySignalHandlersWithTilesOfTheirOwn) {
  Threads one(1);
  const Results expected = results(one.c());
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {
    configure(configuration(3));
    asm volatile("tilezero %tmm0");
    release();
    g_signals = g_signals + 1;
  };
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  const itimerval often = {{0, 100}, {0, 100}}, never = {};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  for (int i = 0; i < 100; ++i) expect_same(expected, results(one.c()));
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_GT(g_signals, 10);
}

INSTANTIATE_TEST_SUITE_P(Problems, TileState, testing::ValuesIn(kProblems));

}  // namespace

}  // namespace test
