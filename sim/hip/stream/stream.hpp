// A stream: a queue of work and the thread that does it, in order.
#pragma once

#include "sim/hip/runtime.hpp"
#include "sim/hip/stream/work.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace rapt::sim::hip {

struct Device;
class Capture;

// The end of one piece of work.
class Completion {
 public:
  void finish(double time);
  void wait();
  bool done() const;
  double time() const { return time_; }  // by the clock model, once done

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  double time_ = 0;
};
using CompletionPointer = std::shared_ptr<Completion>;

class Stream {
 public:
  Stream(Device& device, unsigned flags, int priority);
  ~Stream();  // after its work

  Device& device;
  const unsigned flags;
  const int priority;
  const std::uint64_t id;
  std::shared_ptr<Capture> capture;  // null: not capturing. Changed under the mutex of captures.

  // The work starts after all work before it, and after `also` unless that is null. The legacy default stream and the
  // blocking streams of a device wait for one another.
  CompletionPointer enqueue(Work work, const CompletionPointer& also = nullptr);
  void synchronize();
  bool idle();
  bool blocking() const { return (flags & stream_non_blocking) == 0; }

 private:
  struct Item {
    Work work;
    std::vector<CompletionPointer> before;
    CompletionPointer done;
  };

  void loop();
  CompletionPointer last();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  CompletionPointer last_;  // of the newest item; null before the first
  bool ending_ = false;
  double clock_ = 0;
  std::thread worker_;  // begun with the first item
};

// The stream that a handle means on the current device: null and 1 the legacy default one, 2 the thread's own.
std::shared_ptr<Stream> find_stream(StreamHandle handle);
// For the functions whose names end in _spt, null is the thread's own as well.
inline StreamHandle own(StreamHandle handle) {
  return handle == nullptr ? reinterpret_cast<StreamHandle>(stream_per_thread) : handle;
}
// Puts the work into the stream or, if it is capturing, into the graph.
void submit(const std::shared_ptr<Stream>& stream, Work work);
// The same for calls that return once the work is done.
void submit_and_wait(const std::shared_ptr<Stream>& stream, Work work);

// A HIP function that puts the work of `make` into a stream.
enum class Return : bool { at_once, when_done };
template <std::invocable Make>
Error stream_call(const char* function, Return when, StreamHandle handle, Make&& make) {
  return api(function, [&] {
    const auto stream = find_stream(handle);
    if (when == Return::when_done) submit_and_wait(stream, make());
    else submit(stream, make());
    return Error::success;
  });
}

}  // namespace rapt::sim::hip
