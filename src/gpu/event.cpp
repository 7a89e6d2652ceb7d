#include "gpu/event.hpp"

#include "base/error.hpp"
#include "gpu/device.hpp"

namespace rapt::gpu {

TimedEvent::TimedEvent(rapt_device id) : id_(id), driver_(*device(id).driver) {
  const DeviceScope scope(driver_, id_.id);
  driver_.check(driver_.create_event(&event_), "creating an event on ", device_text(id_));
}

TimedEvent::~TimedEvent() { static_cast<void>(driver_.destroy_event(event_)); }

void TimedEvent::record() {
  const DeviceScope scope(driver_, id_.id);
  driver_.check(driver_.record_event(event_, nullptr), "recording an event on ", device_text(id_));
}

double TimedEvent::since(const TimedEvent& from) const {
  if (from.id_.type != id_.type || from.id_.id != id_.id)
    throw Error(RAPT_INVALID_ARGUMENT, cat("from is an event of ", device_text(from.id_), ", to one of ",
                                           device_text(id_), ": must be the same"));
  const DeviceScope scope(driver_, id_.id);
  float milliseconds = 0;
  driver_.check(driver_.synchronize_event(event_), "waiting for an event of ", device_text(id_));
  driver_.check(driver_.elapsed(from.event_, event_, milliseconds), "the time between two events of ",
                device_text(id_));
  return static_cast<double>(milliseconds);
}

}  // namespace rapt::gpu
