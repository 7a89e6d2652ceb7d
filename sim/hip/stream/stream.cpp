#include "sim/hip/stream/stream.hpp"

#include "sim/hip/graph/capture.hpp"
#include "sim/hip/stream/event.hpp"
#include "sim/hip/graph/graph.hpp"
#include "sim/hip/handles.hpp"
#include "sim/hip/runtime.hpp"

#include <algorithm>

namespace rapt::sim::hip {

void Completion::finish(double time) {
  const std::lock_guard lock(mutex_);
  time_ = time;
  done_ = true;
  changed_.notify_all();
}

void Completion::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_; });
}

bool Completion::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

Stream::Stream(Device& device_, unsigned flags_, int priority_)
    : device(device_), flags(flags_), priority(priority_), id(next_id()) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (worker_.joinable()) worker_.join();
}

CompletionPointer Stream::last() {
  const std::lock_guard lock(mutex_);
  return last_;
}

CompletionPointer Stream::enqueue(Work work, const CompletionPointer& also) {
  // One order for all streams of the device, so that no two pieces of work can wait for one another.
  const std::lock_guard order(device.order);
  Item item{std::move(work), {}, std::make_shared<Completion>()};
  if (also) item.before.push_back(also);
  const auto follow = [&](Stream& other) {
    if (&other == this) return;
    if (auto completion = other.last()) item.before.push_back(std::move(completion));
  };
  if (this == device.null_stream.get()) {
    for (const auto& other : device.streams)
      if (other->blocking()) follow(*other);
  } else if (blocking()) {
    follow(*device.null_stream);
  }

  const std::lock_guard lock(mutex_);
  const auto done = last_ = item.done;
  queue_.push_back(std::move(item));
  if (!worker_.joinable()) worker_ = std::thread([this] { loop(); });
  changed_.notify_all();
  return done;
}

void Stream::loop() {
  while (true) {
    Item item;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      item = std::move(queue_.front());
      queue_.pop_front();
    }
    for (const auto& before : item.before) {
      before->wait();
      clock_ = std::max(clock_, before->time());
    }
    execute(item.work, device, clock_);
    item.done->finish(clock_);
  }
}

void Stream::synchronize() {
  if (const auto completion = last()) completion->wait();
}

bool Stream::idle() {
  const auto completion = last();
  return !completion || completion->done();
}

std::shared_ptr<Stream> find_stream(StreamHandle handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number == stream_per_thread) {
    Device& device = current_device();
    auto& stream = thread().streams[device.id];
    if (!stream) {
      stream = std::make_shared<Stream>(device, 0, 0);
      const std::lock_guard lock(device.order);
      device.streams.insert(stream);
    }
    return stream;
  }
  if (number == 0 || number == stream_legacy) return current_device().null_stream;
  return handles<Stream>().need(handle, Error::invalid_handle, "no such stream");
}

namespace {

// Records, waits and graphs are handled here; other work is queued.
void put(const std::shared_ptr<Stream>& stream, Work work) {
  if (const auto* record = std::get_if<RecordWork>(&work)) {
    const auto event = record->event;
    event->set(stream->enqueue(EmptyWork{}), stream->device.id);
  } else if (const auto* wait = std::get_if<EventWaitWork>(&work)) {
    if (auto completion = wait->event->completion()) stream->enqueue(EmptyWork{}, completion);
  } else if (const auto* graph = std::get_if<GraphWork>(&work)) {
    for (const Node* node : graph->graph->ordered())
      if (node->enabled) put(stream, node->work);
  } else {
    stream->enqueue(std::move(work));
  }
}

}  // namespace

void submit(const std::shared_ptr<Stream>& stream, Work work) {
  stream->device.check();
  if (!capture_work(*stream, work)) put(stream, std::move(work));
}

void submit_and_wait(const std::shared_ptr<Stream>& stream, Work work) {
  stream->device.check();
  refuse_capture(Error::stream_capture_implicit);
  put(stream, std::move(work));
  stream->synchronize();
  stream->device.check();
}

}  // namespace rapt::sim::hip
