#include "engine/workspace.hpp"

#include <sys/mman.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rapt {

thread_local Workspace::Kept Workspace::t_kept;

// Large ones in huge pages where Linux gives them on request: they are new to the process in each call, and the faults
// of 4 KiB pages took longer than a backward pass on 16 cores.
Workspace::Buffer Workspace::allocate(size_t bytes) {
  const size_t unit = bytes > kKept ? kHugePage : 64, whole = (bytes + unit - 1) / unit * unit;
  Buffer buffer(static_cast<char*>(std::aligned_alloc(unit, whole)));
  if (!buffer)
    throw Error(RAPT_OUT_OF_MEMORY, cat("cannot allocate ", static_cast<uint64_t>(bytes), " bytes of workspace"));
  if (unit == kHugePage) madvise(buffer.get(), whole, MADV_HUGEPAGE);  // refused: ordinary pages
  return buffer;
}

Workspace::Workspace(const Execution& execution, size_t bytes) {
  if (execution.workspace != nullptr) {
    if (execution.workspace_size < bytes)
      throw Error(RAPT_INVALID_ARGUMENT,
                  cat("execution.workspace_size is ", static_cast<uint64_t>(execution.workspace_size),
                      ", must be at least ", static_cast<uint64_t>(bytes)));
    data_ = execution.workspace;
  } else if (bytes > kKept || t_kept.in_use) {
    own_ = allocate(bytes);
    data_ = own_.get();
  } else {
    if (t_kept.size < bytes) {
      t_kept.buffer = nullptr;
      t_kept.size = 0;
      t_kept.buffer = allocate(bytes);
      t_kept.size = bytes;
    }
    t_kept.in_use = keeps_ = true;
    data_ = t_kept.buffer.get();
  }
}

Workspace::~Workspace() {
  if (keeps_) t_kept.in_use = false;
}

}  // namespace rapt
