// Events over the C boundary.
#include "api/guard.hpp"
#include "gpu/event.hpp"
#include "problem/tensor.hpp"

struct rapt_event : rapt::gpu::TimedEvent {
  using TimedEvent::TimedEvent;
};

using namespace rapt;

extern "C" {

rapt_status rapt_event_create(rapt_device device, rapt_event** event) {
  return guarded([&] {
    require(event, "event");
    *event = nullptr;
    if (device.type != RAPT_ROCM && device.type != RAPT_CUDA)
      throw Error(RAPT_UNSUPPORTED,
                  cat("device is ", device_text(device), ", must be hip or cuda: others have no events"));
    *event = new rapt_event(device);
  });
}

rapt_status rapt_event_destroy(rapt_event* event) {
  return guarded([&] { delete event; });
}

rapt_status rapt_event_record(rapt_event* event) {
  return guarded([&] {
    require(event, "event");
    event->record();
  });
}

rapt_status rapt_event_elapsed(const rapt_event* from, const rapt_event* to, double* milliseconds) {
  return guarded([&] {
    require(from, "from");
    require(to, "to");
    require(milliseconds, "milliseconds");
    *milliseconds = to->since(*from);
  });
}
}
