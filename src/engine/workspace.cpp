#include "engine/workspace.hpp"

#include <sys/mman.h>

#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rapt {

thread_local Workspace::Kept Workspace::t_kept;

// Large buffers use huge pages if Linux gives them on request: fewer page faults.
Workspace::Buffer Workspace::allocate(size_t bytes) {
  const size_t unit = bytes > kKept ? kHugePage : 64, whole = (bytes + unit - 1) / unit * unit;
  Buffer buffer(static_cast<char*>(std::aligned_alloc(unit, whole)));
  if (!buffer)
    throw Error(RAPT_OUT_OF_MEMORY, cat("cannot allocate ", static_cast<uint64_t>(bytes), " bytes of workspace"));
  if (unit == kHugePage) madvise(buffer.get(), whole, MADV_HUGEPAGE);  // refused: ordinary pages
  return buffer;
}

struct Workspace::Spare {
  std::mutex mutex;  // only tried: a call that does not get it allocates or frees
  Buffer buffer;
  size_t size = 0;
};

Workspace::Spare& Workspace::spare() {
  static Spare* const instance = new Spare();  // never destroyed: calls may come from destructors that run at exit
  return *instance;
}

Workspace::Buffer Workspace::take_spare(size_t bytes, size_t& size) {
  const std::unique_lock lock(spare().mutex, std::try_to_lock);
  if (!lock || spare().size < bytes) return nullptr;
  size = std::exchange(spare().size, 0);
  return std::move(spare().buffer);
}

Workspace::Workspace(const Execution& execution, size_t bytes) {
  if (execution.workspace != nullptr) {
    if (execution.workspace_size < bytes)
      throw Error(RAPT_INVALID_ARGUMENT,
                  cat("execution.workspace_size is ", static_cast<uint64_t>(execution.workspace_size),
                      ", must be at least ", static_cast<uint64_t>(bytes)));
    data_ = execution.workspace;
  } else if (bytes > kKept || t_kept.in_use) {
    if (bytes > kKept) own_ = take_spare(bytes, own_size_);
    if (!own_) {
      own_ = allocate(bytes);
      own_size_ = bytes;
    }
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
  if (own_size_ <= kKept || own_size_ > kMostSpare) return;
  const std::unique_lock lock(spare().mutex, std::try_to_lock);
  if (!lock || spare().size >= own_size_) return;
  spare().buffer = std::move(own_);
  spare().size = own_size_;
}

}  // namespace rapt
