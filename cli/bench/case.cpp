#include "cli/bench/case.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/core/machine.hpp"
#include "cli/core/results.hpp"
#include "cli/inputs/dtype.hpp"
#include "cli/tune/kernels.hpp"

namespace rapt::cli {

namespace {

constexpr double kUnknownRate = 1e18;   // FLOP/s of a GPU before its first case, which always runs
constexpr double kTelling = 1e6;        // the least FLOP of a case whose rate predicts the next case's
constexpr int64_t kDecodeQueries = 16;  // up to here, a KV larger than the caches makes memory the limit

// Bytes of K and V that one forward call must read from memory; 0 if they fit in a cache or are read many times.
double memory_work(const rapt_problem& p, rapt_op op) {
  const int64_t bytes = p.batch * p.seqlen_k * p.heads_k * (p.head_dim + p.head_dim_v) * bytes_of(p.dtype);
  const bool decode = op == RAPT_FORWARD && p.seqlen_q <= kDecodeQueries && bytes > machine().last_level_cache;
  return decode ? static_cast<double>(bytes) : 0;
}

std::vector<std::string> every_kernel(const Problem& problem, rapt_op op, rapt_device device) {
  std::vector<std::string> names;
  for (const Way& way : DeviceKernels(device).ways(problem, op).all) names.push_back(way.backend);
  return names;
}

// The backends to compare, each once by its general name, not once per instruction tier.
std::vector<std::string> default_backends(const Problem& problem, rapt_device device) {
  if (on_gpu(device)) return {gpu_backend(device)};
  std::vector<std::string> names;
  for (const Candidate& c : explain(problem).candidates)
    if (!c.kernel.empty() && c.backend.find('.') == std::string::npos) names.push_back(c.backend);
  return names;
}

Execution how(const std::string& backend, const Team& team, bool deterministic = false) {
  return {.backend = backend, .deterministic = deterministic, .allow_math = true, .executor = team.executor()};
}

// The model that forecasts the device's times; "" where times are measured. `left_out`: why there are neither.
std::string time_model(rapt_device device, std::string& left_out) {
  if (!on_gpu(device)) return "";
  const rapt_device_info info = describe(device);
  if (info.simulator && *info.time_model == 0)
    left_out =
        "a simulated GPU without a time model: RAPT_SIM_TIME=1 asks for forecasts, RAPT_SIM_TIME=sample for quick ones";
  return info.time_model;
}

const char* op_name(rapt_op op) { return op == RAPT_FORWARD ? "fwd" : "bwd"; }

}  // namespace

struct BenchRunner::Tensors {
  bool deterministic;
  int32_t wanted;  // gradients
  Attention inputs;
  Forward results;
  Placement place;
  rapt::Attention attention;
  Tensor out, lse;
  std::optional<Array> dout;
  std::optional<Gradients> gradients;
  Tensor placed_dout;
  rapt::Gradients placed_gradients;

  Tensors(const Problem& problem, const BenchPlan& plan)
      : deterministic(problem.c().deterministic != 0),
        wanted(problem.c().gradients != 0 ? problem.c().gradients
                                          : RAPT_GRADIENT_Q | RAPT_GRADIENT_K | RAPT_GRADIENT_V),
        inputs(make_inputs(problem, InputKind::normal, plan.seed, plan.layout)),
        results(inputs),
        place(plan.device),
        attention(inputs.view(place)),
        out(place.unwritten(results.out)),  // not NaN: a simulated GPU may run a sample of the forward pass
        lse(place.unwritten(results.lse)) {
    if (attention.varlen)
      attention.varlen->check_device_seqlens = false;  // they are valid, and reading them back waits for the device
  }

  // The forward results that backward needs.
  void prepare_backward(const std::string& backend, const Team& team) {
    dout = results.out.converted(results.out.dtype());
    fill_normal(*dout, 1, 99);
    gradients.emplace(inputs);
    placed_dout = place.in(*dout);
    placed_gradients = gradients->view(place, wanted);
    const std::string of_forward = on_gpu(place.device()) ? gpu_backend(place.device()) : backend;
    rapt::forward(attention, out, lse, how(of_forward, team));
  }
};

// One backend's call of one op, with a preallocated workspace, as from a framework's allocator.
struct BenchRunner::Entry {
  BenchRow* row;
  rapt_device device;
  rapt::Attention attention;
  Tensor out, lse, dout;
  rapt::Gradients gradients;
  Execution execution;
  Array workspace;
  std::optional<DeviceMemory> device_workspace;
  Contender contender;

  Entry(Tensors& t, BenchRow* row, const Team& team)
      : row(row),
        device(t.place.device()),
        attention(t.attention),
        out(t.out),
        lse(t.lse),
        execution(how(row->backend, team, t.deterministic)) {
    contender.on_gpu = on_gpu(device);
    if (contender.on_gpu) contender.finish = [this] { synchronize(device); };
    if (row->op == RAPT_FORWARD) {
      contender.call = [this] { rapt::forward(attention, out, lse, execution); };
    } else {
      dout = t.placed_dout;
      gradients = t.placed_gradients;
      contender.call = [this] { rapt::backward(attention, out, lse, dout, gradients, execution); };
    }
  }

  size_t workspace_bytes() const {
    return row->op == RAPT_FORWARD ? forward_workspace_size(attention, out, execution)
                                   : backward_workspace_size(attention, out, lse, dout, gradients, execution);
  }

  // One call, by the device's events: a forecast does not vary.
  void forecast() {
    Event before(device), after(device);
    const double start = seconds_now();
    before.record();
    contender.call();
    after.record();
    const double ms = after.since(before);
    contender.warm_up_seconds = seconds_now() - start;
    contender.result = {.samples = 1, .ms = ms, .ms_p20 = ms};
  }

  // Allocates the workspace and makes the first calls; the process's growth is the row's extra memory.
  // Returns why the row must be left out, or "".
  std::string prepare(const SamplingRule& rule) {
    try {
      execution.workspace_size = workspace_bytes();
      const auto bytes = static_cast<int64_t>(execution.workspace_size);
      if (const int64_t available = available_memory(); bytes > available)
        return fmt::format("needs {} of workspace, {} are available", bytes_text(bytes), bytes_text(available));
      if (contender.on_gpu) {
        execution.workspace = device_workspace.emplace(device, execution.workspace_size).data();
      } else {
        workspace = Array(kUint8, {bytes});
        execution.workspace = workspace.data();
      }
      row->extra_bytes = bytes;
      if (!row->simulated.empty()) return forecast(), "";
      const bool weigh = reset_peak_memory();
      const int64_t before = resident_memory();
      warm_up(contender, rule);
      if (weigh) row->extra_bytes += std::max<int64_t>(0, peak_memory() - before);
      return "";
    } catch (const Error& e) {
      row->failed = e.status() != RAPT_UNSUPPORTED;
      return e.what();
    }
  }
};

BenchRunner::BenchRunner(const BenchPlan& plan, const Team& team, Progress& progress)
    : plan_(plan), team_(team), progress_(progress), end_(seconds_now() + plan.budget) {}

double BenchRunner::left() const { return end_ - seconds_now(); }

Sampler& BenchRunner::sampler(rapt_dtype dtype) {
  auto& slot = samplers_[dtype.code * 256 + dtype.bits];
  if (!slot) slot = std::make_unique<Sampler>(team_, dtype);
  return *slot;
}

std::vector<std::string> BenchRunner::backends_of(const Problem& problem, rapt_op op) const {
  if (!plan_.backends.empty()) return plan_.backends;
  return plan_.every_kernel ? every_kernel(problem, op, plan_.device) : default_backends(problem, plan_.device);
}

std::vector<BenchRow> BenchRunner::rows_of(const BenchCase& which, const Problem& problem) const {
  const rapt_problem sizes = problem.c();
  std::vector<BenchRow> rows;
  for (const rapt_op op : plan_.ops) {
    if (op == RAPT_BACKWARD && which.forward_only) continue;
    for (const std::string& backend : backends_of(problem, op)) {
      BenchRow row;
      row.which = which;
      row.op = op;
      row.device = device_name(plan_.device);
      row.backend = backend;
      row.dtype = dtype_name(sizes.dtype);
      row.causal = sizes.causal != RAPT_NOT_CAUSAL;
      row.threads = team_.size();
      row.work = {flops(problem, op), memory_work(sizes, op)};
      row.simulated = time_model(plan_.device, row.left_out);
      try {
        const Explanation e = explain(problem, op, how(backend, team_), plan_.device);
        const auto named = std::find_if(e.candidates.begin(), e.candidates.end(),
                                        [&](const Candidate& c) { return c.backend == backend; });
        if (const Candidate* chosen = e.chosen()) row.kernel = chosen->kernel;
        else if (row.left_out.empty())
          row.left_out = named == e.candidates.end() ? "no backend takes it" : named->reason;
      } catch (const Error& e) {
        if (e.status() != RAPT_UNSUPPORTED) throw;
        row.left_out = e.what();
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

double BenchRunner::rate_guess(const std::string& backend, rapt_op op) {
  const auto seen = rates_.find({backend, op});
  if (seen != rates_.end()) return seen->second;
  if (on_gpu(plan_.device)) return kUnknownRate;
  constexpr double kGuess = 0.5, kGuessMath = 0.02;  // of the peak, until one case has been measured
  const double peak = samplers_.begin()->second->peak_flops_now();
  return peak * (backend == "math" ? kGuessMath : kGuess);
}

// math is slow and only a comparison: part of the budget is reserved for the other backends.
void BenchRunner::reserve_for_the_rest(const BenchCase& current) {
  constexpr double kMost = 0.25;
  reserved_ = 0;
  if (plan_.backends == std::vector<std::string>{"math"}) return;
  bool later = false;
  for (const BenchCase& c : plan_.cases) {
    if (later)
      for (const rapt_op op : plan_.ops) {
        const double needed =
            estimated_seconds(flops(Problem::parse(c.problem), op) / rate_guess("cpu", op), plan_.rule);
        if (reserved_ + needed < kMost * left()) reserved_ += needed;
      }
    later |= &c == &current;
  }
}

std::string BenchRunner::over_budget(const BenchRow& row) {
  const double needed = estimated_seconds(row.work.flops / rate_guess(row.backend, row.op), plan_.rule);
  const double usable = std::max(0.0, left() - (row.backend == "math" ? reserved_ : 0));
  if (needed <= usable) return "";
  return fmt::format("needs about {:.1f} s, {:.1f} s of the budget are left for it", needed, usable);
}

void BenchRunner::run_op(Tensors& tensors, std::vector<BenchRow*> rows) {
  std::vector<std::unique_ptr<Entry>> entries;
  std::vector<Contender*> contenders;
  for (BenchRow* row : rows) {
    row->left_out = over_budget(*row);
    if (!row->left_out.empty()) continue;
    progress_.show(fmt::format("{} {} {} {}, {:.0f} s left", row->which.label(), row->which.problem, row->backend,
                               op_name(row->op), left()));
    auto entry = std::make_unique<Entry>(tensors, row, team_);
    row->left_out = entry->prepare(plan_.rule);
    if (!row->left_out.empty()) continue;
    if (row->work.flops >= kTelling)
      rates_[{row->backend, row->op}] = row->work.flops / entry->contender.warm_up_seconds;
    if (row->simulated.empty()) contenders.push_back(&entry->contender);
    entries.push_back(std::move(entry));
  }
  if (!contenders.empty()) sampler(tensors.inputs.q.dtype()).measure(contenders, rows.front()->work, plan_.rule);
  for (const auto& entry : entries) entry->row->measured = entry->contender.result;
}

std::vector<BenchRow> BenchRunner::run(const BenchCase& which) {
  const Problem problem = Problem::parse(which.problem);
  sampler(problem.c().dtype);
  std::vector<BenchRow> rows = rows_of(which, problem);
  if (plan_.budget < kNoBudget) reserve_for_the_rest(which);
  const bool both = plan_.ops.back() == RAPT_BACKWARD;
  const int64_t needed = input_bytes(problem) * (both ? 2 : 1), available = available_memory();
  std::optional<Tensors> tensors;
  for (const rapt_op op : plan_.ops) {
    std::vector<BenchRow*> wanted;
    for (BenchRow& row : rows) {
      if (row.op != op || !row.left_out.empty()) continue;
      if (needed > available)
        row.left_out = fmt::format("its tensors take {}, {} are available", bytes_text(needed), bytes_text(available));
      else if (row.left_out = over_budget(row); row.left_out.empty()) wanted.push_back(&row);
    }
    if (wanted.empty()) continue;
    if (!tensors) tensors.emplace(problem, plan_);
    if (op == RAPT_BACKWARD) tensors->prepare_backward(wanted.front()->backend, team_);
    run_op(*tensors, wanted);
  }
  return rows;
}

}  // namespace rapt::cli
