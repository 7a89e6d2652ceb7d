// Stream capture and graphs through each of the three HIP libraries. Host functions and copies show the order.
#include <gtest/gtest.h>

#include "sim/tests/support/programs/hip_library.hpp"

#include <utility>

namespace rapt::sim::test {
namespace {

using namespace hip;

[[maybe_unused]] const int configured = setenv("RAPT_SIM_ARCH", "gfx942", 1);

class HipGraph : public OnEachLibrary {
 protected:
  using Host = void(void*);

  // A host function that appends the digit to the log.
  struct Mark {
    std::string* log;
    char digit;
    static void add(void* data) {
      auto* mark = static_cast<Mark*>(data);
      mark->log->push_back(mark->digit);
    }
  };

  void* stream(unsigned flags = 0) {
    void* made = nullptr;
    EXPECT_EQ(hip("hipStreamCreateWithFlags", &made, flags), 0);
    return made;
  }
  void* event() {
    void* made = nullptr;
    EXPECT_EQ(hip("hipEventCreate", &made), 0);
    return made;
  }
  int mark(void* on, Mark& m) { return hip("hipLaunchHostFunc", on, &Mark::add, static_cast<void*>(&m)); }
  void* instantiate(void* graph) {
    void* executable = nullptr;
    EXPECT_EQ(hip("hipGraphInstantiate", &executable, graph, static_cast<void**>(nullptr), static_cast<char*>(nullptr),
                  std::size_t{0}),
              0);
    return executable;
  }
  std::size_t node_count(void* graph) {
    std::size_t count = 0;
    EXPECT_EQ(hip("hipGraphGetNodes", graph, static_cast<void**>(nullptr), &count), 0);
    return count;
  }

  std::string log;
  Mark a{&log, 'a'}, b{&log, 'b'}, c{&log, 'c'}, d{&log, 'd'};
};

TEST_P(HipGraph, CapturesForkAndJoin) {
  void *first = stream(), *second = stream(), *fork = event(), *join = event(), *graph = nullptr;
  int status = -1;
  EXPECT_EQ(hip("hipStreamBeginCapture", first, 0), 0);
  EXPECT_EQ(hip("hipStreamIsCapturing", first, &status), 0);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(mark(first, a), 0);
  EXPECT_EQ(hip("hipEventRecord", fork, first), 0);
  EXPECT_EQ(hip("hipStreamWaitEvent", second, fork, 0U), 0);
  EXPECT_EQ(hip("hipStreamIsCapturing", second, &status), 0);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(mark(second, b), 0);
  EXPECT_EQ(mark(first, c), 0);
  EXPECT_EQ(hip("hipEventRecord", join, second), 0);
  EXPECT_EQ(hip("hipStreamWaitEvent", first, join, 0U), 0);
  EXPECT_EQ(mark(first, d), 0);
  EXPECT_EQ(hip("hipEventQuery", join), 907);
  EXPECT_EQ(hip("hipStreamSynchronize", first), 900);
  EXPECT_EQ(hip("hipStreamEndCapture", first, &graph), 0);
  EXPECT_EQ(hip("hipStreamIsCapturing", second, &status), 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(log, "");  // nothing ran
  EXPECT_EQ(node_count(graph), 4U);
  std::size_t edges = 0;
  EXPECT_EQ(hip("hipGraphGetEdges", graph, static_cast<void**>(nullptr), static_cast<void**>(nullptr), &edges), 0);
  EXPECT_EQ(edges, 4U);

  void* executable = instantiate(graph);
  for (int i = 0; i < 3; i++) {
    log.clear();
    EXPECT_EQ(hip("hipGraphLaunch", executable, first), 0);
    EXPECT_EQ(hip("hipStreamSynchronize", first), 0);
    ASSERT_EQ(log.size(), 4U);
    EXPECT_EQ(log.front(), 'a');
    EXPECT_EQ(log.back(), 'd');
  }
  EXPECT_EQ(hip("hipGraphExecDestroy", executable), 0);
  EXPECT_EQ(hip("hipGraphLaunch", executable, first), 1);
  EXPECT_EQ(hip("hipGraphDestroy", graph), 0);
  EXPECT_EQ(hip("hipGraphDestroy", graph), 1);
  for (void* e : {fork, join}) hip("hipEventDestroy", e);
  for (void* s : {first, second}) hip("hipStreamDestroy", s);
}

TEST_P(HipGraph, BadCapturesEndWithHipsErrors) {
  void *first = stream(), *second = stream(), *fork = event(), *graph = nullptr;
  EXPECT_EQ(hip("hipStreamEndCapture", first, &graph), 401);
  EXPECT_EQ(hip("hipStreamBeginCapture", static_cast<void*>(nullptr), 0), 900);

  hip("hipStreamBeginCapture", first, 2);
  EXPECT_EQ(hip("hipStreamBeginCapture", first, 2), 401);
  mark(first, a);
  hip("hipEventRecord", fork, first);
  hip("hipStreamWaitEvent", second, fork, 0U);
  mark(second, b);
  EXPECT_EQ(hip("hipStreamEndCapture", second, &graph), 903);
  EXPECT_EQ(hip("hipStreamEndCapture", first, &graph), 904);
  EXPECT_EQ(graph, nullptr);

  // The default stream would wait for the capturing one.
  hip("hipStreamBeginCapture", first, 2);
  EXPECT_EQ(mark(nullptr, a), 906);
  EXPECT_EQ(mark(first, a), 901);
  EXPECT_EQ(hip("hipStreamEndCapture", first, &graph), 901);

  // Calls that wait or allocate are forbidden during a capture in the global mode.
  hip("hipStreamBeginCapture", first, 0);
  void* pointer = nullptr;
  EXPECT_EQ(hip("hipMalloc", &pointer, std::size_t{16}), 900);
  EXPECT_EQ(hip("hipDeviceSynchronize"), 900);
  int mode = 2;
  EXPECT_EQ(hip("hipThreadExchangeStreamCaptureMode", &mode), 0);
  EXPECT_EQ(hip("hipMalloc", &pointer, std::size_t{16}), 0);
  EXPECT_EQ(hip("hipFree", pointer), 0);
  EXPECT_EQ(hip("hipThreadExchangeStreamCaptureMode", &mode), 0);
  EXPECT_EQ(hip("hipStreamEndCapture", first, &graph), 0);
  EXPECT_EQ(node_count(graph), 0U);
  hip("hipGraphDestroy", graph);

  // An event from outside the capture.
  hip("hipEventRecord", fork, second);
  hip("hipStreamBeginCapture", first, 2);
  EXPECT_EQ(hip("hipStreamWaitEvent", first, fork, 0U), 905);
  EXPECT_EQ(hip("hipStreamEndCapture", first, &graph), 901);
  hip("hipEventDestroy", fork);
  for (void* s : {first, second}) hip("hipStreamDestroy", s);
}

// fill -> empty -> copy, and a host function: `memory` gets 7 in each element, `out` the copy of it.
class HipGraphByHand : public HipGraph {
 protected:
  void SetUp() override {
    HipGraph::SetUp();
    memory = allocate<unsigned>(16);
    parameters = {memory, 4, 1, 64, 7, 16};
    EXPECT_EQ(hip("hipGraphCreate", &graph, 0U), 0);
    EXPECT_EQ(hip("hipGraphAddMemsetNode", &fill, graph, none, std::size_t{0}, &parameters), 0);
    EXPECT_EQ(hip("hipGraphAddEmptyNode", &empty, graph, &fill, std::size_t{1}), 0);
    EXPECT_EQ(hip("hipGraphAddMemcpyNode1D", &copy, graph, &empty, std::size_t{1}, static_cast<void*>(out.data()),
                  static_cast<const void*>(memory), std::size_t{64}, 2),
              0);
    HostParameters h{&Mark::add, &a};
    EXPECT_EQ(hip("hipGraphAddHostNode", &host, graph, none, std::size_t{0}, &h), 0);
    EXPECT_EQ(hip("hipGraphAddDependencies", graph, &copy, &host, std::size_t{1}), 0);
    on = stream();
  }
  void TearDown() override {
    if (graph) hip("hipGraphDestroy", graph);
    hip("hipStreamDestroy", on);
    hip("hipFree", memory);
    HipGraph::TearDown();
  }
  // What `out` then begins with.
  unsigned launched(void* executable) {
    out.assign(16, 0);
    EXPECT_EQ(hip("hipGraphLaunch", executable, on), 0);
    EXPECT_EQ(hip("hipStreamSynchronize", on), 0);
    return out[3];
  }

  void** const none = nullptr;
  unsigned* memory = nullptr;
  std::vector<unsigned> out = std::vector<unsigned>(16);
  FillParameters parameters{};
  void *graph = nullptr, *fill = nullptr, *copy = nullptr, *host = nullptr, *empty = nullptr, *on = nullptr;
};

TEST_P(HipGraphByHand, RunsInOrderAndTellsItsNodes) {
  int type = -1;
  EXPECT_EQ(hip("hipGraphNodeGetType", fill, &type), 0);
  EXPECT_EQ(type, hip.major == 5 ? 3 : 2);
  FillParameters got{};
  EXPECT_EQ(hip("hipGraphMemsetNodeGetParams", fill, &got), 0);
  EXPECT_EQ(got.value, 7U);
  EXPECT_EQ(got.width, 16U);
  std::size_t roots = 0;
  EXPECT_EQ(hip("hipGraphGetRootNodes", graph, none, &roots), 0);
  EXPECT_EQ(roots, 1U);
  void* executable = instantiate(graph);
  EXPECT_EQ(launched(executable), 7U);
  EXPECT_EQ(out, std::vector<unsigned>(16, 7));
  EXPECT_EQ(log, "a");
  hip("hipGraphExecDestroy", executable);
  hip("hipGraphDestroy", std::exchange(graph, nullptr));
  EXPECT_EQ(hip("hipGraphNodeGetType", fill, &type), 1);  // destroyed with its graph
}

// Other parameters for the executable graph only; then a node left out; then a whole update.
TEST_P(HipGraphByHand, ExecutableGraphIsUpdated) {
  void* executable = instantiate(graph);
  parameters.value = 9;
  EXPECT_EQ(hip("hipGraphExecMemsetNodeSetParams", executable, fill, &parameters), 0);
  EXPECT_EQ(launched(executable), 9U);
  EXPECT_EQ(hip("hipGraphNodeSetEnabled", executable, copy, 0U), 0);
  EXPECT_EQ(launched(executable), 0U);
  EXPECT_EQ(hip("hipGraphNodeSetEnabled", executable, copy, 1U), 0);
  parameters.value = 11;
  EXPECT_EQ(hip("hipGraphMemsetNodeSetParams", fill, &parameters), 0);
  void* error_node = nullptr;
  int result = -1;
  EXPECT_EQ(hip("hipGraphExecUpdate", executable, graph, &error_node, &result), 0);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(launched(executable), 11U);
  EXPECT_EQ(hip("hipGraphDestroyNode", host), 0);
  EXPECT_EQ(hip("hipGraphExecUpdate", executable, graph, &error_node, &result), 910);
  hip("hipGraphExecDestroy", executable);
}

TEST_P(HipGraphByHand, RefusesCyclesAndWrongNodes) {
  EXPECT_EQ(hip("hipGraphAddDependencies", graph, &copy, &fill, std::size_t{1}), 0);
  void* nothing = nullptr;
  EXPECT_EQ(hip("hipGraphInstantiateWithFlags", &nothing, graph, 0ULL), 1);  // a cycle
  parameters.width = 17;
  EXPECT_EQ(hip("hipGraphAddMemsetNode", &fill, graph, none, std::size_t{0}, &parameters), 1);
  FillParameters got{};
  EXPECT_EQ(hip("hipGraphMemsetNodeGetParams", static_cast<void*>(&parameters), &got), 1);
}

TEST_P(HipGraph, HoldKernelsWhoseArgumentsCanBeChanged) {
  static const auto object = compile(Arch::gfx942, R"(
    extern "C" __global__ void put(int* out, int value) { out[TID] = value; })");
  void *module = nullptr, *function = nullptr, *graph = nullptr, *node = nullptr, *on = stream();
  ASSERT_EQ(hip("hipModuleLoadData", &module, static_cast<const void*>(object.data())), 0);
  ASSERT_EQ(hip("hipModuleGetFunction", &function, module, "put"), 0);
  int *out = allocate<int>(64), value = 3, result = 0;
  void* arguments[] = {&out, &value};

  hip("hipStreamBeginCapture", on, 0);
  EXPECT_EQ(hip("hipModuleLaunchKernel", function, 1U, 1U, 1U, 64U, 1U, 1U, 0U, on, static_cast<void**>(arguments),
                static_cast<void**>(nullptr)),
            0);
  EXPECT_EQ(hip("hipStreamEndCapture", on, &graph), 0);
  std::size_t count = 1;
  EXPECT_EQ(hip("hipGraphGetNodes", graph, &node, &count), 0);
  value = 100;  // the arguments were copied
  void* executable = instantiate(graph);
  hip("hipGraphLaunch", executable, on);
  hip("hipStreamSynchronize", on);
  hip("hipMemcpy", &result, out + 63, std::size_t{4}, 2);
  EXPECT_EQ(result, 3);

  KernelNodeParameters p{};
  EXPECT_EQ(hip("hipGraphKernelNodeGetParams", node, &p), 0);
  EXPECT_EQ(p.block.x, 64U);
  EXPECT_EQ(*static_cast<int*>(p.arguments[1]), 3);
  p.arguments = arguments;
  EXPECT_EQ(hip("hipGraphExecKernelNodeSetParams", executable, node, &p), 0);
  hip("hipGraphLaunch", executable, on);
  hip("hipStreamSynchronize", on);
  hip("hipMemcpy", &result, out + 63, std::size_t{4}, 2);
  EXPECT_EQ(result, 100);
  hip("hipGraphExecDestroy", executable);
  hip("hipGraphDestroy", graph);
  hip("hipStreamDestroy", on);
  hip("hipFree", out);
  hip("hipModuleUnload", module);
}

INSTANTIATE_TEST_SUITE_P(, HipGraph, testing::Values(5, 6, 7), library_name);
INSTANTIATE_TEST_SUITE_P(, HipGraphByHand, testing::Values(5, 6, 7), library_name);

}  // namespace
}  // namespace rapt::sim::test
