// A backend computes attention on devices of one kind. backends.cpp lists them; each has a file. To add one, derive
// from Backend (or HostBackend) and refuse in plan() what it cannot run. Its pure virtual functions are what a backend
// must have.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "problem/call.hpp"
#include "rapt/candidate.hpp"

namespace rapt {

// A call of either direction. A forward call is changed: new keys and lengths get other addresses.
using AnyCall = std::variant<ForwardCall*, const BackwardCall*>;
inline const Call& common(AnyCall call) {
  return *std::visit([](auto* c) -> const Call* { return c; }, call);
}
inline rapt_op op_of(AnyCall call) { return call.index() == 0 ? RAPT_FORWARD : RAPT_BACKWARD; }

// The fields of rapt_execution that selection uses.
struct BackendRequest {
  std::string_view backend = "auto";
  bool allow_math = false;
};

// rapt_execution as the engine uses it.
struct Execution {
  BackendRequest request;
  bool deterministic = false;
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
  BackendRequest request;
  bool automatic() const { return request.backend == "auto"; }
};

class Backend;

// What runs a call: a backend, and what the backend itself chose, which only it reads.
struct Plan {
  const Backend* backend = nullptr;
  std::shared_ptr<const void> chosen = nullptr;
};

// A backend's answer in words.
struct Answer {
  std::string kernel;                    // runs it, or would run it; "" if there is none
  std::string reason;                    // why the backend took the problem
  std::vector<Candidate> variants = {};  // the kernels that can be asked for by name
};

class Backend {
 public:
  Backend(std::string name, rapt_device_type device) : name_(std::move(name)), device_(device) {}
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const std::string& name() const { return name_; }
  rapt_device_type device() const { return device_; }

  // True if a request names this backend or one of its variants.
  virtual bool answers_to(std::string_view name) const { return name == name_; }
  // Sets `chosen` and returns "", or returns why it does not take the problem, which is on a device of its kind.
  virtual std::string plan(const Question& question, std::shared_ptr<const void>& chosen) const = 0;
  // What plan() answered: `refusal` is "" if it took the problem. Only explain() asks.
  virtual Answer answer(const Question& question, const Plan& plan, std::string_view refusal) const = 0;

  virtual size_t workspace_bytes(AnyCall call, const Plan& plan, const Execution& execution) const = 0;
  virtual void run(AnyCall call, const Plan& plan, const Execution& execution) const = 0;

 private:
  std::string name_;
  rapt_device_type device_;
};

// All backends, in the order in which "auto" tries them: first the CPU's tiers, best first.
const std::vector<std::unique_ptr<const Backend>>& backends();

// The backends, defined in a file each and listed in backends.cpp.
void add_cpu_backends(std::vector<std::unique_ptr<const Backend>>& list);
void add_math_backend(std::vector<std::unique_ptr<const Backend>>& list);
void add_gpu_backends(std::vector<std::unique_ptr<const Backend>>& list);

}  // namespace rapt
