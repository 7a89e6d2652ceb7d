// The live handles that the program was given. A handle is its object's address; freed and foreign ones are detected.
#pragma once

#include "sim/hip/error.hpp"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace rapt::sim::hip {

template <typename T>
class Handles {
 public:
  void* add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    void* handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }

  std::shared_ptr<T> find(void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

  std::shared_ptr<T> need(void* handle, Error error, const char* message) {
    auto object = find(handle);
    hip::need(object != nullptr, error, message);
    return object;
  }

  // Returns the object, which is no longer live afterwards.
  std::shared_ptr<T> remove(void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    auto object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, std::shared_ptr<T>> objects_;
};

// Never destroyed, because programs may free objects until the very end.
template <typename T>
Handles<T>& handles() {
  static auto& all = *new Handles<T>;
  return all;
}

}  // namespace rapt::sim::hip
