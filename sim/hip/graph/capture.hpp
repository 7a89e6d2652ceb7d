// Stream capture: work that becomes nodes of a graph instead of being done.
#pragma once

#include "sim/hip/graph/graph.hpp"
#include "sim/hip/stream/stream.hpp"

namespace rapt::sim::hip {

class Capture {
 public:
  std::shared_ptr<Graph> graph;
  Stream* origin = nullptr;
  CaptureMode mode = CaptureMode::global;
  void* thread = nullptr;  // that began it
  unsigned long long id = 0;
  bool invalid = false;
  // The nodes that the next one of each stream depends on.
  std::map<Stream*, std::vector<Node*>> front;
};

// True if the stream is capturing: the work has become a node.
bool capture_work(Stream& stream, const Work& work);
// The same for hipEventRecordWithFlags(.., hipEventRecordExternal), which becomes a separate node.
void submit_external_record(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event);
// Fails if a capture's mode forbids calls that wait or that allocate.
void refuse_capture(Error error = Error::stream_capture_unsupported);
// Fails if the stream is capturing.
void refuse_capturing(const Stream& stream);
// The stream is destroyed: its capture becomes invalid.
void forget_capture(Stream& stream);

}  // namespace rapt::sim::hip
