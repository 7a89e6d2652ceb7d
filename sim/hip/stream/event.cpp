#include "sim/hip/stream/event.hpp"

#include "sim/hip/graph/capture.hpp"
#include "sim/hip/handles.hpp"
#include "sim/hip/runtime.hpp"

using namespace rapt::sim::hip;

namespace {

constexpr unsigned known_flags = 7U | 0x20000000U | 0x40000000U | 0x80000000U;

std::shared_ptr<Event> find_event(EventHandle event) {
  return handles<Event>().need(event, Error::invalid_handle, "no such event");
}

Error create(const char* function, EventHandle* event, unsigned flags) {
  return api(function, [&] {
    need_pointer(event);
    need((flags & ~known_flags) == 0, Error::invalid_value, "unknown flags");
    need((flags & event_interprocess) == 0, Error::not_supported, "events are not shared between processes");
    *event = handles<Event>().add(std::make_shared<Event>(flags));
    return Error::success;
  });
}

Error record(const char* function, EventHandle event, StreamHandle stream) {
  return api(function, [&] {
    const auto found = find_event(event);
    submit(find_stream(stream), RecordWork{found});
    return Error::success;
  });
}

void refuse_captured(const Event& event) {
  need(event.capture() == nullptr, Error::captured_event, "the event was recorded in a capturing stream");
}

// An event's end by the model's clock.
double time_of(const Event& event) {
  need((event.flags & event_disable_timing) == 0, Error::invalid_handle, "the event takes no time");
  refuse_captured(event);
  const auto completion = event.completion();
  need(completion != nullptr, Error::invalid_handle, "the event was never recorded");
  need(completion->done(), Error::not_ready, "the event is not yet reached");
  return completion->time();
}

}  // namespace

RAPT_HIP Error hipEventCreate(EventHandle* event) { return create(__func__, event, 0); }
RAPT_HIP Error hipEventCreateWithFlags(EventHandle* event, unsigned flags) { return create(__func__, event, flags); }

RAPT_HIP Error hipEventDestroy(EventHandle event) {
  return api(__func__, [&] {
    need(event != nullptr, Error::invalid_handle, "null event");
    need(handles<Event>().remove(event) != nullptr, Error::context_is_destroyed, "the event is destroyed");
    return Error::success;
  });
}

RAPT_HIP Error hipEventRecord(EventHandle event, StreamHandle stream) { return record(__func__, event, stream); }
RAPT_HIP Error hipEventRecord_spt(EventHandle event, StreamHandle stream) {
  return record(__func__, event, own(stream));
}
RAPT_HIP Error hipEventRecordWithFlags(EventHandle event, StreamHandle stream, unsigned flags) {
  if (flags == 0) return record(__func__, event, stream);
  return api(__func__, [&] {
    need(flags == event_external, Error::invalid_value, "unknown flags");
    submit_external_record(find_stream(stream), find_event(event));
    return Error::success;
  });
}

RAPT_HIP Error hipEventQuery(EventHandle event) {
  return api(__func__, [&] {
    const auto found = find_event(event);
    refuse_captured(*found);
    const auto completion = found->completion();
    if (!completion) return Error::success;
    if (!completion->done()) return Error::not_ready;
    return Runtime::get().device(found->device()).failure.load();
  });
}

RAPT_HIP Error hipEventSynchronize(EventHandle event) {
  return api(__func__, [&] {
    const auto found = find_event(event);
    refuse_captured(*found);
    const auto completion = found->completion();
    if (!completion) return Error::success;
    completion->wait();
    return Runtime::get().device(found->device()).failure.load();
  });
}

RAPT_HIP Error hipEventElapsedTime(float* milliseconds, EventHandle start, EventHandle stop) {
  return api(__func__, [&] {
    need_pointer(milliseconds);
    const auto first = find_event(start), second = find_event(stop);
    need(!first->completion() || !second->completion() || first->device() == second->device(), Error::invalid_handle,
         "events of two devices");
    *milliseconds = static_cast<float>((time_of(*second) - time_of(*first)) / 1e6);
    return Error::success;
  });
}
