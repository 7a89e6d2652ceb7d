#include "cli/tune/timer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "cli/core/inputs.hpp"
#include "cli/core/results.hpp"

namespace rapt::cli {

namespace {

constexpr double kLeastSample = 200e-6;          // seconds: events are exact to about a microsecond
constexpr int64_t kCaches = int64_t{512} << 20;  // twice the largest last-level cache of a GPU, MI300X's 256 MiB
constexpr int64_t kMostCopies = 128;

}  // namespace

// One copy of the tensors; a call reads all of them.
struct WayTimer::Placed {
  Placement place;
  rapt::Attention attention;
  Tensor out, lse, dout;
  rapt::Gradients gradients;

  Placed(const Attention& inputs, Forward& results, Gradients* of, const Array* dout_array, rapt_device device)
      : place(device),
        attention(inputs.view(place)),
        out(place.unwritten(results.out)),
        lse(place.unwritten(results.lse)) {
    if (attention.varlen) attention.varlen->check_device_seqlens = false;  // reading them back waits for the device
    if (of == nullptr) return;
    dout = place.in(*dout_array);
    gradients = of->view(place);
  }
};

struct WayTimer::State {
  rapt_op op;
  rapt_device device;
  bool deterministic, simulated;
  Attention inputs;
  Forward results;
  std::optional<Gradients> gradients;
  std::optional<Array> dout;
  std::vector<std::unique_ptr<Placed>> copies;
  size_t next = 0;
  DeviceMemory workspace;
  size_t workspace_size = 0;
  std::map<std::string, int> repeats;  // by backend
  Event before, after;

  State(const Problem& problem, rapt_op op, rapt_device device, uint64_t seed)
      : op(op),
        device(device),
        deterministic(problem.c().deterministic != 0),
        simulated(describe(device).simulator != 0),
        inputs(make_inputs(problem, InputKind::normal, seed)),
        results(inputs),
        before(device),
        after(device) {
    if (op == RAPT_BACKWARD) {
      gradients.emplace(inputs);
      dout = results.out.converted(results.out.dtype());
      fill_normal(*dout, seed, kDoutStream);
    }
    const int64_t bytes = std::max<int64_t>(input_bytes(problem) * (op == RAPT_BACKWARD ? 2 : 1), 1);
    const int64_t wanted = simulated ? 1 : std::clamp((kCaches + bytes - 1) / bytes, int64_t{1}, kMostCopies);
    for (int64_t i = 0; i < wanted; ++i) {
      copies.push_back(std::make_unique<Placed>(inputs, results, gradients ? &*gradients : nullptr,
                                                dout ? &*dout : nullptr, device));
      // Backward reads the forward's results.
      if (op == RAPT_BACKWARD) rapt::forward(copies[i]->attention, copies[i]->out, copies[i]->lse, {});
    }
  }

  void reserve(const std::string& backend) {
    const Placed& p = *copies.front();
    const Execution e{.backend = backend, .deterministic = deterministic};
    const size_t bytes = op == RAPT_FORWARD
                             ? forward_workspace_size(p.attention, p.out, e)
                             : backward_workspace_size(p.attention, p.out, p.lse, p.dout, p.gradients, e);
    // A simulated GPU that runs a sample of a launch leaves parts of the workspace unwritten. Later kernels then read
    // zeros in fresh memory, not what another backend left there.
    if (bytes <= workspace_size && !simulated) return;
    synchronize(device);
    workspace = DeviceMemory(device, bytes);
    workspace_size = bytes;
  }

  void call(const std::string& backend) {
    Placed& p = *copies[next];
    next = (next + 1) % copies.size();
    const Execution e{.backend = backend,
                      .deterministic = deterministic,
                      .workspace = workspace_size ? workspace.data() : nullptr,
                      .workspace_size = workspace_size};
    if (op == RAPT_FORWARD) rapt::forward(p.attention, p.out, p.lse, e);
    else rapt::backward(p.attention, p.out, p.lse, p.dout, p.gradients, e);
  }

  double time(const std::string& backend, int calls) {
    before.record();
    for (int i = 0; i < calls; ++i) call(backend);
    after.record();
    return after.since(before) * 1e-3 / calls;
  }
};

WayTimer::WayTimer(const Problem& problem, rapt_op op, rapt_device device, uint64_t seed)
    : state_(std::make_unique<State>(problem, op, device, seed)) {}
WayTimer::~WayTimer() = default;

double WayTimer::sample(const std::string& backend) {
  State& s = *state_;
  auto known = s.repeats.find(backend);
  if (known == s.repeats.end()) {
    s.reserve(backend);
    const double once = s.time(backend, 1);  // loads the kernel
    if (s.simulated) return once;
    const double again = s.time(backend, 1);
    const int calls = static_cast<int>(std::clamp(std::ceil(kLeastSample / std::max(again, 1e-7)), 1.0, 1000.0));
    known = s.repeats.emplace(backend, calls).first;
  }
  return s.time(backend, known->second);
}

}  // namespace rapt::cli
