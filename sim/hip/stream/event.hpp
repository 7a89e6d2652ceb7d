// An event: the point of a stream, or of a capture, at which it was recorded last.
#pragma once

#include "sim/hip/stream/stream.hpp"

namespace rapt::sim::hip {

struct Node;

class Event {
 public:
  explicit Event(unsigned flags_) : flags(flags_) {}
  const unsigned flags;

  void set(CompletionPointer completion, int device) {
    const std::lock_guard lock(mutex_);
    completion_ = std::move(completion);
    device_ = device;
    capture_.reset();
    nodes_.clear();
  }
  // If recorded in a capturing stream: the capture that a waiting stream joins.
  void set(const std::shared_ptr<Capture>& capture, std::vector<Node*> nodes) {
    const std::lock_guard lock(mutex_);
    completion_.reset();
    capture_ = capture;
    nodes_ = std::move(nodes);
  }

  CompletionPointer completion() const {
    const std::lock_guard lock(mutex_);
    return completion_;
  }
  int device() const {
    const std::lock_guard lock(mutex_);
    return device_;
  }
  std::shared_ptr<Capture> capture() const {
    const std::lock_guard lock(mutex_);
    return capture_.lock();
  }
  std::vector<Node*> nodes() const {
    const std::lock_guard lock(mutex_);
    return nodes_;
  }

 private:
  mutable std::mutex mutex_;
  CompletionPointer completion_;
  int device_ = 0;
  std::weak_ptr<Capture> capture_;
  std::vector<Node*> nodes_;
};

}  // namespace rapt::sim::hip
