// Common to backends on the host: workspace, executor, and appending keys to a cache before a forward pass.
#pragma once

#include "engine/backend.hpp"

namespace rapt {

class HostBackend : public Backend {
 public:
  explicit HostBackend(std::string name) : Backend(std::move(name), RAPT_CPU) {}

  size_t workspace_bytes(const ForwardCall& call, const Plan& plan, const Execution& execution) const final;
  size_t workspace_bytes(const BackwardCall& call, const Plan& plan, const Execution& execution) const final;
  void run(ForwardCall& call, const Plan& plan, const Execution& execution) const final;
  void run(const BackwardCall& call, const Plan& plan, const Execution& execution) const final;

 protected:
  virtual size_t own_bytes(const ForwardCall& call, int32_t concurrency) const = 0;
  virtual size_t own_bytes(const BackwardCall& call, int32_t concurrency) const = 0;
  virtual void compute(const ForwardCall& call, const rapt_executor& executor, char* workspace) const = 0;
  virtual void compute(const BackwardCall& call, const rapt_executor& executor, char* workspace) const = 0;
};

}  // namespace rapt
