// Modules: code objects, loaded for each device that uses them, and their functions.
#pragma once

#include "sim/hip/abi/types.hpp"
#include "sim/loader/code_object.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rapt::sim::hip {

struct Device;

class Function {
 public:
  Function(std::shared_ptr<CodeObject> object, const Kernel& kernel, int device_)
      : device(device_), object_(std::move(object)), kernel_(kernel) {}
  const int device;
  std::atomic<int> max_dynamic_lds{-1};  // -1: not set

  const CodeObject& object() const { return *object_; }
  const Kernel& kernel() const { return kernel_; }

 private:
  std::shared_ptr<CodeObject> object_;
  const Kernel& kernel_;
};

// A __managed__ variable: memory that host and device share, whose address device code reads from a pointer.
struct ManagedVariable {
  std::string name;
  void* memory;
};

class Module {
 public:
  explicit Module(std::vector<std::byte> bytes) : own_(std::move(bytes)), bytes_(own_) {}
  explicit Module(std::span<const std::byte> bytes) : bytes_(bytes) {}
  ~Module();

  // Loads on first use; fails with LoadError.
  std::shared_ptr<CodeObject> object(Device& device);
  // Null if there is none of that name.
  std::shared_ptr<Function> function(Device& device, const std::string& name);
  const Symbol* variable(Device& device, const std::string& name);
  void add_managed(ManagedVariable variable);

 private:
  std::shared_ptr<CodeObject> load(Device& device);

  std::mutex mutex_;
  std::vector<std::byte> own_;
  std::span<const std::byte> bytes_;
  std::map<int, std::shared_ptr<CodeObject>> objects_;
  std::map<std::pair<int, std::string>, std::shared_ptr<Function>> functions_;
  std::vector<ManagedVariable> managed_;
};

std::shared_ptr<Function> find_function(FunctionHandle handle);
// By the address of the host's stub; see fatbin.cpp.
std::shared_ptr<Function> find_host_function(const void* host, Device& device);

}  // namespace rapt::sim::hip
