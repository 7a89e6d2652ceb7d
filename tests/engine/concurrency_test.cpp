// Many threads calling at once: each gets its own results and its own error message. Run under ThreadSanitizer too.
#include <gtest/gtest.h>
#include <sched.h>

#include <string>
#include <thread>
#include <vector>

#include "support/executor.hpp"
#include "support/run.hpp"

namespace test {

namespace {

constexpr int kThreads = 6, kCalls = 5;

template <class Body>
void in_threads(const Body& body) {
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

bool same(const Results& a, const Results& b) {
  const auto x = a.named(), y = b.named();
  for (size_t t = 0; t < x.size(); ++t)
    if (!same_elements(*x[t].second, *y[t].second)) return false;
  return true;
}

// The same problems on every thread, so that plans and pool are shared from the first call on.
void check_against_one_thread(const rapt_executor* executor) {
  const char* const texts[] = {
      "b2 hq4 hk2 sq70 sk70 d64 fp32 causal",
      "b1 hq4 hk4 sq64 sk130 d64 bf16 bias=b1h1 drop=0.1",
      "b1 hq2 hk1 sq3 sk5 d8 fp16 sink",
      "b1 hq8 hk2 sq1 sk900 d64 fp32",
  };
  std::vector<Inputs> inputs;
  std::vector<Results> expected;
  for (const char* text : texts) {
    inputs.push_back(make_inputs(Problem(text)));
    expected.push_back(run(inputs.back(), {.backend = "cpu"}));
  }
  std::vector<int> wrong(kThreads, 0);
  in_threads([&](int t) {
    for (int call = 0; call < kCalls; ++call) {
      const size_t which = static_cast<size_t>(t + call) % inputs.size();
      const How how = {.backend = "cpu", .executor = executor};
      if (!same(run(inputs[which], how), expected[which])) ++wrong[static_cast<size_t>(t)];
    }
  });
  for (int t = 0; t < kThreads; ++t) EXPECT_EQ(wrong[static_cast<size_t>(t)], 0) << "thread " << t;
}

TEST(Concurrency, CallsOnTheDefaultPool) { check_against_one_thread(nullptr); }

TEST(Concurrency, CallsOnOneSharedPool) {
  rapt_executor* pool = nullptr;
  ASSERT_EQ(rapt_pool_create(2, &pool), RAPT_OK);
  check_against_one_thread(pool);
  rapt_pool_destroy(pool);
}

TEST(Concurrency, CallsOnACallersExecutor) {
  Threads threads(3);
  check_against_one_thread(threads.c());
}

TEST(Concurrency, PoolsComeAndGo) {
  in_threads([](int t) {
    for (int i = 0; i < kCalls; ++i) {
      rapt_executor* pool = nullptr;
      ASSERT_EQ(rapt_pool_create(1 + (t + i) % 3, &pool), RAPT_OK);
      run(make_inputs(Problem("b1 hq4 hk2 sq64 sk64 d32 fp32")), {.backend = "cpu", .executor = pool});
      rapt_pool_destroy(pool);
    }
  });
}

TEST(Concurrency, ErrorsBelongToTheirThread) {
  std::vector<std::string> messages(kThreads);
  in_threads([&](int t) {
    for (int i = 0; i < 100; ++i) {
      auto problem = init<rapt_problem>();
      const std::string text = "b1 hq1 hk1 sq1 sk1 d" + std::to_string(600 + t) + " fp32";
      rapt_problem_parse(text.c_str(), &problem, nullptr, 0);
      messages[static_cast<size_t>(t)] = rapt_last_error();
    }
  });
  for (int t = 0; t < kThreads; ++t)
    EXPECT_NE(messages[static_cast<size_t>(t)].find("head_dim is " + std::to_string(600 + t)), std::string::npos);
}

// Another library may bind threads to processors, also during a call: here every task moves its thread to another
// processor.
TEST(Affinity, OfThreadsMayChangeBetweenTasks) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (const char* text : {"b1 hq4 hk2 sq300 sk300 d64 bf16 causal", "b1 hq8 hk1 sq1 sk2000 d64 bf16"}) {
    const Inputs inputs = make_inputs(Problem(text));
    const Results expected = run(inputs, {.backend = "cpu"});
    auto moving = init<rapt_executor>();
    moving.concurrency = 5;
    moving.context = &allowed;
    moving.parallel_for = [](void* context, int64_t count, rapt_task task, void* argument) {
      const auto& processors = *static_cast<cpu_set_t*>(context);
      int at = 0;
      for (int64_t i = 0; i < count; ++i) {
        do at = (at + 1) % CPU_SETSIZE;
        while (!CPU_ISSET(at, &processors));
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(at, &one);
        sched_setaffinity(0, sizeof one, &one);
        task(argument, i);
      }
    };
    const Results moved = run(inputs, {.backend = "cpu", .executor = &moving});
    sched_setaffinity(0, sizeof allowed, &allowed);
    EXPECT_TRUE(same(expected, moved)) << text;
  }
}

}  // namespace

}  // namespace test
