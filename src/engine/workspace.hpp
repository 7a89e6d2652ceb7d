// Memory for one call of a host backend.
#pragma once

#include <cstdlib>
#include <memory>

#include "engine/backend.hpp"

namespace rapt {

// The caller's workspace. Without one, a small call uses memory that the thread keeps between calls. A large call uses
// memory that the process keeps: the page faults of new memory can take longer than the call.
class Workspace {
 public:
  Workspace(const Execution& execution, size_t bytes);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  char* data() const { return data_; }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  using Buffer = std::unique_ptr<char, Free>;
  static Buffer allocate(size_t bytes);

  static constexpr size_t kKept = size_t{8} << 20;         // of each thread
  static constexpr size_t kMostSpare = size_t{128} << 20;  // of the process
  static constexpr size_t kHugePage = size_t{2} << 20;
  struct Kept {
    Buffer buffer;
    size_t size = 0;
    bool in_use = false;  // an executor may start another call on this thread during one
  };
  static thread_local Kept t_kept;

  struct Spare;
  static Spare& spare();
  static Buffer take_spare(size_t bytes, size_t& size);

  char* data_ = nullptr;
  Buffer own_;
  size_t own_size_ = 0;
  bool keeps_ = false;
};

}  // namespace rapt
