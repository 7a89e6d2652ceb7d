// A backend computes attention on devices of one kind. backends.cpp lists them; each has a file. To add one, derive
// from Backend and refuse in plan() what it cannot run, or from HostBackend and refusal(). Its pure virtual functions
// are what a backend must have.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "problem/call.hpp"
#include "rapt/candidate.hpp"

namespace rapt {

// A call of either direction. Running it changes it: new keys and lengths get other addresses.
using AnyCall = std::variant<ForwardCall*, BackwardCall*>;
inline const Call& common(AnyCall call) {
  return *std::visit([](const Call* c) { return c; }, call);
}
inline rapt_op op_of(AnyCall call) { return call.index() == 0 ? RAPT_FORWARD : RAPT_BACKWARD; }

// rapt_execution as the engine uses it.
struct Execution {
  std::string_view backend = "auto";
  bool allow_math = false, deterministic = false;
  const rapt_executor* executor = nullptr;
  void* stream = nullptr;
  char* workspace = nullptr;
  size_t workspace_size = 0;
};

// The input of selection.
struct Question {
  const Problem& problem;
  rapt_op op;
  rapt_device device;
  const Execution& execution;

  bool automatic() const { return execution.backend == "auto"; }
};

class Backend;

// What runs a call: a backend, and what the backend itself chose, which only it reads.
struct Plan {
  const Backend* backend = nullptr;
  std::shared_ptr<const void> chosen = nullptr;
};

class Backend {
 public:
  Backend(std::string its_name, rapt_device_type its_device) : name(std::move(its_name)), device(its_device) {}
  virtual ~Backend() = default;

  const std::string name;
  const rapt_device_type device;  // of the tensors

  // True if a request names this backend or one of its variants.
  virtual bool answers_to(std::string_view asked) const { return asked == name; }
  // Sets `chosen` and returns "", or returns why it does not take the problem, which is on a device of its kind.
  virtual std::string plan(const Question& question, std::shared_ptr<const void>& chosen) const = 0;
  // What plan() answers, in words: the backend's line, and a line for each kernel that can be asked for by name. The
  // line of what runs is chosen.
  virtual std::vector<Candidate> explain(const Question& question) const = 0;

  virtual size_t workspace_bytes(AnyCall call, const Plan& plan, const Execution& execution) const = 0;
  virtual void run(AnyCall call, const Plan& plan, const Execution& execution) const = 0;
};

// What the host's backends share: workspace, executor, and appending keys to a cache before a forward pass.
class HostBackend : public Backend {
 public:
  explicit HostBackend(std::string name) : Backend(std::move(name), RAPT_CPU) {}

  std::string plan(const Question& question, std::shared_ptr<const void>&) const final { return refusal(question); }
  size_t workspace_bytes(AnyCall call, const Plan& plan, const Execution& execution) const final;
  void run(AnyCall call, const Plan& plan, const Execution& execution) const final;

 protected:
  virtual std::string refusal(const Question& question) const = 0;  // why it does not take the problem; "" if it does
  virtual size_t own_bytes(AnyCall call, int32_t concurrency) const = 0;
  virtual void compute(AnyCall call, const rapt_executor& executor, char* workspace) const = 0;
};

// All backends, in the order in which "auto" tries them: first the CPU's tiers, best first.
const std::vector<std::unique_ptr<const Backend>>& backends();

// The backends, defined in a file each and listed in backends.cpp.
void add_cpu_backends(std::vector<std::unique_ptr<const Backend>>& list);
void add_math_backend(std::vector<std::unique_ptr<const Backend>>& list);
void add_gpu_backends(std::vector<std::unique_ptr<const Backend>>& list);

}  // namespace rapt
