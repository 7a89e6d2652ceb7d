// Memory for one call of a host backend.
#pragma once

#include <cstdlib>
#include <memory>

#include "engine/backend.hpp"

namespace rapt {

// The caller's workspace, or this thread's, which is kept between small calls.
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

  static constexpr size_t kKept = size_t{8} << 20, kHugePage = size_t{2} << 20;
  struct Kept {
    Buffer buffer;
    size_t size = 0;
    bool in_use = false;  // an executor may start another call on this thread during one
  };
  static thread_local Kept t_kept;

  char* data_ = nullptr;
  Buffer own_;
  bool keeps_ = false;
};

}  // namespace rapt
