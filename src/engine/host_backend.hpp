// Shared by the host's backends: workspace, executor, and appending keys to a cache before a forward pass.
#pragma once

#include "engine/backend.hpp"

namespace rapt {

class HostBackend : public Backend {
 public:
  explicit HostBackend(std::string name) : Backend(std::move(name), RAPT_CPU) {}

  size_t workspace_bytes(AnyCall call, const Plan& plan, const Execution& execution) const final;
  void run(AnyCall call, const Plan& plan, const Execution& execution) const final;

 protected:
  virtual size_t own_bytes(AnyCall call, int32_t concurrency) const = 0;
  virtual void compute(AnyCall call, const rapt_executor& executor, char* workspace) const = 0;
};

}  // namespace rapt
