#include "gpu/workspace.hpp"

#include <utility>

#include "base/error.hpp"
#include "gpu/arguments.hpp"

namespace rapt::gpu {

Workspace::Workspace(size_t bytes, const Launch& launch, const Device& device)
    : device_(device), stream_(launch.stream) {
  if (bytes == 0) return;
  if (launch.workspace != nullptr) {
    if (launch.workspace_size < bytes)
      throw Error(RAPT_INVALID_ARGUMENT, cat("execution.workspace_size is ", uint64_t{launch.workspace_size},
                                             ", must be at least ", uint64_t{bytes}));
    check_workspace(launch.workspace, device);
    data_ = launch.workspace;
    return;
  }
  Driver& driver = *device.driver;
  if (!driver.allocates_in_stream_order())
    throw Error(RAPT_INVALID_ARGUMENT,
                cat("execution.workspace is not given, the call needs ", uint64_t{bytes}, " bytes on ", device.text(),
                    ", and ", driver.library(), " cannot allocate in stream order: give ", uint64_t{bytes},
                    " bytes of execution.workspace"));
  driver.check(driver.allocate_async(&own_, bytes, stream_), "allocating ", uint64_t{bytes}, " bytes on ",
               device.text());
  data_ = static_cast<char*>(own_);
}

// Runs during another error, which says more than a failure to free.
Workspace::~Workspace() {
  if (own_) static_cast<void>(device_.driver->free_async(own_, stream_));
}

void Workspace::free() {
  if (own_ == nullptr) return;
  const Status status = device_.driver->free_async(std::exchange(own_, nullptr), stream_);
  device_.driver->check(status, "freeing the workspace on ", device_.text());
}

}  // namespace rapt::gpu
