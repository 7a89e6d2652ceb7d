#include "sim/hip/graph/capture.hpp"

#include "sim/hip/stream/event.hpp"
#include "sim/hip/handles.hpp"
#include "sim/hip/runtime.hpp"

#include <algorithm>
#include <unordered_set>

namespace rapt::sim::hip {

namespace {

// Guards the capture fields of all streams, and all captures.
struct Captures {
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> active;
  unsigned long long last_id = 0;
};

Captures& captures() {
  static Captures& all = *new Captures;
  return all;
}

void add_front(std::vector<Node*>& front, const std::vector<Node*>& nodes) {
  for (Node* node : nodes)
    if (std::find(front.begin(), front.end(), node) == front.end()) front.push_back(node);
}

void end(const std::shared_ptr<Capture>& capture) {
  for (const auto& [stream, front] : capture->front) stream->capture.reset();
  std::erase(captures().active, capture);
}

// For a stream that is not capturing: it may join a capture, and the legacy default stream must not wait for a capture.
bool join(Stream& stream, const Work& work) {
  if (const auto* wait = std::get_if<EventWaitWork>(&work)) {
    const auto capture = wait->event->capture();
    if (!capture) return false;
    need(!capture->invalid, Error::stream_capture_invalidated, "the event's capture is invalid");
    stream.capture = capture;
    capture->front[&stream] = wait->event->nodes();
    return true;
  }
  if (&stream != stream.device.null_stream.get()) return false;
  for (const auto& capture : captures().active)
    for (const auto& [other, front] : capture->front)
      if (other->blocking() && &other->device == &stream.device) {
        capture->invalid = true;
        throw Failure(Error::stream_capture_implicit, "the legacy default stream would wait for a capturing one");
      }
  return false;
}

bool allocates(const Graph& graph, const void* pointer) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const auto& node) {
    const auto* work = std::get_if<AllocateWork>(&node->work);
    return work != nullptr && work->pointer == pointer;
  });
}

}  // namespace

bool capture_work(Stream& stream, const Work& work) {
  const std::lock_guard lock(captures().mutex);
  if (!stream.capture) return join(stream, work);
  Capture& capture = *stream.capture;
  need(!capture.invalid, Error::stream_capture_invalidated, "the capture is invalid");
  auto& front = capture.front[&stream];
  if (const auto* record = std::get_if<RecordWork>(&work)) {
    record->event->set(stream.capture, front);
  } else if (const auto* wait = std::get_if<EventWaitWork>(&work)) {
    const auto other = wait->event->capture();
    if (other != stream.capture) capture.invalid = true;
    need(other != nullptr, Error::stream_capture_isolation, "the event was not recorded in the capture");
    need(other == stream.capture, Error::stream_capture_merge, "the event was recorded in another capture");
    add_front(front, wait->event->nodes());
  } else {
    Work node = work;
    if (auto* release = std::get_if<ReleaseWork>(&node)) release->keep = allocates(*capture.graph, release->pointer);
    front = {capture.graph->add(std::move(node), front)};
  }
  return true;
}

void submit_external_record(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event) {
  {
    const std::lock_guard lock(captures().mutex);
    if (stream->capture) {
      auto& front = stream->capture->front[stream.get()];
      front = {stream->capture->graph->add(RecordWork{event}, front)};
      return;
    }
  }
  submit(stream, RecordWork{event});
}

void refuse_capture(Error error) {
  const auto mode = static_cast<CaptureMode>(thread().capture_mode);
  if (mode == CaptureMode::relaxed) return;
  const std::lock_guard lock(captures().mutex);
  for (const auto& capture : captures().active) {
    const bool own = capture->thread == &thread();
    if (capture->mode == CaptureMode::relaxed || (!own && mode == CaptureMode::thread_local_mode)) continue;
    if (own || capture->mode == CaptureMode::global)
      throw Failure(error, "a stream is capturing, and its mode forbids the call");
  }
}

void refuse_capturing(const Stream& stream) {
  const std::lock_guard lock(captures().mutex);
  need(!stream.capture, Error::stream_capture_unsupported, "the stream is capturing");
}

void forget_capture(Stream& stream) {
  const std::lock_guard lock(captures().mutex);
  if (!stream.capture) return;
  const auto capture = stream.capture;
  capture->invalid = true;
  if (capture->origin == &stream) {
    end(capture);
    return;
  }
  capture->front.erase(&stream);
  stream.capture.reset();
}

namespace {

// Every stream that joined must have been waited for by the origin.
bool joined(const Capture& capture) {
  std::unordered_set<const Node*> reached;
  std::vector<const Node*> open;
  const auto visit = [&](const std::vector<Node*>& nodes) {
    for (const Node* node : nodes)
      if (reached.insert(node).second) open.push_back(node);
  };
  visit(capture.front.at(capture.origin));
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    visit(node->before);
  }
  return std::all_of(capture.front.begin(), capture.front.end(), [&](const auto& entry) {
    return std::all_of(entry.second.begin(), entry.second.end(),
                       [&](const Node* node) { return reached.count(node) != 0; });
  });
}

Error begin_capture(const char* function, StreamHandle handle, CaptureMode mode) {
  return api(function, [&] {
    const auto stream = find_stream(handle);
    need(mode >= CaptureMode::global && mode <= CaptureMode::relaxed, Error::invalid_value, "unknown mode");
    need(stream != stream->device.null_stream, Error::stream_capture_unsupported,
         "the legacy default stream cannot capture");
    const std::lock_guard lock(captures().mutex);
    need(!stream->capture, Error::illegal_state, "the stream is capturing");
    auto capture = std::make_shared<Capture>();
    capture->graph = std::make_shared<Graph>();
    capture->origin = stream.get();
    capture->mode = mode;
    capture->thread = &thread();
    capture->id = ++captures().last_id;
    capture->front[stream.get()] = {};
    stream->capture = capture;
    captures().active.push_back(std::move(capture));
    return Error::success;
  });
}

Error end_capture(const char* function, StreamHandle handle, GraphHandle* graph) {
  return api(function, [&] {
    need_pointer(graph);
    *graph = nullptr;
    const auto stream = find_stream(handle);
    const std::lock_guard lock(captures().mutex);
    const auto capture = stream->capture;
    need(capture != nullptr, Error::illegal_state, "the stream is not capturing");
    need(capture->origin == stream.get(), Error::stream_capture_unmatched, "the capture began in another stream");
    need(capture->mode == CaptureMode::relaxed || capture->thread == &thread(), Error::stream_capture_wrong_thread,
         "the capture began in another thread");
    const bool complete = joined(*capture);
    end(capture);
    need(!capture->invalid, Error::stream_capture_invalidated, "the capture is invalid");
    need(complete, Error::stream_capture_unjoined, "a stream that joined the capture was not waited for");
    *graph = handles<Graph>().add(capture->graph);
    return Error::success;
  });
}

CaptureStatus status_of(const Stream& stream) {
  if (!stream.capture) return CaptureStatus::none;
  return stream.capture->invalid ? CaptureStatus::invalidated : CaptureStatus::active;
}

Error capture_info(const char* function, StreamHandle handle, CaptureStatus* status, unsigned long long* id,
                   GraphHandle* graph, NodeHandle** nodes, std::size_t* count) {
  return api(function, [&] {
    need_pointer(status);
    const auto stream = find_stream(handle);
    const std::lock_guard lock(captures().mutex);
    *status = status_of(*stream);
    if (*status != CaptureStatus::active) return Error::success;
    Capture& capture = *stream->capture;
    auto& front = capture.front[stream.get()];
    if (id != nullptr) *id = capture.id;
    if (graph != nullptr) *graph = capture.graph.get();
    if (nodes != nullptr) *nodes = reinterpret_cast<NodeHandle*>(front.data());
    if (count != nullptr) *count = front.size();
    return Error::success;
  });
}

Error is_capturing(const char* function, StreamHandle handle, CaptureStatus* status) {
  return api(function, [&] {
    need_pointer(status);
    const auto stream = find_stream(handle);
    const std::lock_guard lock(captures().mutex);
    *status = status_of(*stream);
    return Error::success;
  });
}

}  // namespace

}  // namespace rapt::sim::hip

using namespace rapt::sim::hip;

RAPT_HIP Error hipStreamBeginCapture(StreamHandle s, CaptureMode mode) { return begin_capture(__func__, s, mode); }
RAPT_HIP Error hipStreamBeginCapture_spt(StreamHandle s, CaptureMode mode) {
  return begin_capture(__func__, own(s), mode);
}
RAPT_HIP Error hipStreamEndCapture(StreamHandle s, GraphHandle* graph) { return end_capture(__func__, s, graph); }
RAPT_HIP Error hipStreamEndCapture_spt(StreamHandle s, GraphHandle* graph) {
  return end_capture(__func__, own(s), graph);
}
RAPT_HIP Error hipStreamIsCapturing(StreamHandle s, CaptureStatus* status) { return is_capturing(__func__, s, status); }
RAPT_HIP Error hipStreamIsCapturing_spt(StreamHandle s, CaptureStatus* status) {
  return is_capturing(__func__, own(s), status);
}
RAPT_HIP Error hipStreamGetCaptureInfo(StreamHandle s, CaptureStatus* status, unsigned long long* id) {
  return capture_info(__func__, s, status, id, nullptr, nullptr, nullptr);
}
RAPT_HIP Error hipStreamGetCaptureInfo_spt(StreamHandle s, CaptureStatus* status, unsigned long long* id) {
  return capture_info(__func__, own(s), status, id, nullptr, nullptr, nullptr);
}
RAPT_HIP Error hipStreamGetCaptureInfo_v2(StreamHandle s, CaptureStatus* status, unsigned long long* id,
                                          GraphHandle* graph, NodeHandle** nodes, std::size_t* count) {
  return capture_info(__func__, s, status, id, graph, nodes, count);
}
RAPT_HIP Error hipStreamGetCaptureInfo_v2_spt(StreamHandle s, CaptureStatus* status, unsigned long long* id,
                                              GraphHandle* graph, NodeHandle** nodes, std::size_t* count) {
  return capture_info(__func__, own(s), status, id, graph, nodes, count);
}

RAPT_HIP Error hipStreamUpdateCaptureDependencies(StreamHandle handle, NodeHandle* nodes, std::size_t count,
                                                  unsigned flags) {
  return api(__func__, [&] {
    need(flags <= 1, Error::invalid_value, "unknown flags");
    need(nodes != nullptr || count == 0, Error::invalid_value, "null pointer");
    const auto stream = find_stream(handle);
    const std::lock_guard lock(captures().mutex);
    need(status_of(*stream) == CaptureStatus::active, Error::illegal_state, "the stream is not capturing");
    Capture& capture = *stream->capture;
    std::vector<Node*> list;
    for (std::size_t i = 0; i < count; i++) {
      Node& node = find_node(nodes[i]);
      need(node.graph == capture.graph.get(), Error::invalid_value, "a node of another graph");
      list.push_back(&node);
    }
    auto& front = capture.front[stream.get()];
    if (flags == 1) front.clear();
    add_front(front, list);
    return Error::success;
  });
}

RAPT_HIP Error hipThreadExchangeStreamCaptureMode(int* mode) {
  return api(__func__, [&] {
    need_pointer(mode);
    need(*mode >= 0 && *mode <= 2, Error::invalid_value, "unknown mode");
    std::swap(*mode, thread().capture_mode);
    return Error::success;
  });
}
