// Code objects by file and kernels by symbol, and launches bound to them.
#pragma once

#include "sim/validate/family.hpp"

#include <map>
#include <mutex>

namespace rapt::sim::validate {

// A launch that the simulator can run: its code and its operands stay in memory as long as it exists.
class BoundLaunch {
 public:
  BoundLaunch(std::shared_ptr<const CodeObject> object, const Kernel& kernel, PreparedLaunch prepared)
      : object_(std::move(object)), kernel_(kernel), prepared_(std::move(prepared)) {}

  Launch launch() const;
  std::size_t cleared_bytes() const { return prepared_.cleared_bytes; }
  Comparison compare() const { return prepared_.compare(prepared_.buffers); }

 private:
  std::shared_ptr<const CodeObject> object_;
  const Kernel& kernel_;
  PreparedLaunch prepared_;
};

// Several threads may use one at the same time.
class Objects {
 public:
  explicit Objects(std::string folder) : folder_(std::move(folder)) {}

  // Prepares the row's kernel for this shape. InputError if the code object cannot be loaded, has no such kernel, or
  // its metadata disagrees with what the family passes.
  BoundLaunch bind(const Measurement& row, const Shape& shape);

 private:
  std::shared_ptr<const CodeObject> object(const Measurement& row);

  std::string folder_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const CodeObject>> loaded_;  // by file
};

}  // namespace rapt::sim::validate
